#include "desk/machine/gpu_neighbours.h"

#include <gtest/gtest.h>

namespace xsp::machine {
namespace {

std::string name_of(int process) { return "p" + std::to_string(process); }

TEST(NeighbourLoad, IsTheMeanOverWhatIsAskedWhileAWatchedProcessIsThere) {
  NeighbourLoad load;
  load.add({{7, 90}, {8, 0}}, {1, 2});  // no watched process is on this GPU
  load.add({{1, 30}, {7, 50}, {9, 20}}, {1, 2});
  load.add({{1, 95}, {8, 0}}, {1, 2});
  const auto facts = load.facts(name_of);
  EXPECT_EQ(facts.at("gpu.other_load_pct"), "35.00");
  EXPECT_EQ(facts.at("gpu.other_programs"), "p7, p9");
}

TEST(NeighbourLoad, NobodyIsNotTheSameAsNothingKnown) {
  NeighbourLoad load;
  EXPECT_TRUE(load.facts(name_of).empty());
  load.add({{1, 100}, {8, 0}}, {1});
  const auto facts = load.facts(name_of);
  EXPECT_EQ(facts.at("gpu.other_load_pct"), "0.00");
  EXPECT_FALSE(facts.contains("gpu.other_programs"));
}

// NVML may use the process numbers of another container: then all processes seem to be others.
TEST(NeighbourLoad, NothingIsKnownWhereNoWatchedProcessIsSeen) {
  NeighbourLoad load;
  load.add({{70001, 99}}, {1});
  EXPECT_TRUE(load.facts(name_of).empty());
}

}  // namespace
}  // namespace xsp::machine
