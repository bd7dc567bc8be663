#include "process/watch/blocks.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace xsp::process {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr uint32_t kSets[] = {0, 4, 12, 44};

// Runs steps of those lengths. Holds the levels and the round of each step.
struct Ran {
  std::vector<uint32_t> levels;
  std::vector<uint32_t> rounds;
};
Ran run_steps(Blocks* blocks, const std::vector<int64_t>& lengths_ns, uint32_t possible = ~0u) {
  Ran ran;
  int64_t now_ns = 0;
  for (size_t i = 0; i < lengths_ns.size(); ++i) {
    blocks->add_step(i, now_ns, possible);
    ran.levels.push_back(blocks->levels());
    ran.rounds.push_back(blocks->round());
    now_ns += lengths_ns[i];
  }
  return ran;
}

Ran run_steps(Blocks* blocks, size_t count, int64_t length_ns, uint32_t possible = ~0u) {
  return run_steps(blocks, std::vector<int64_t>(count, length_ns), possible);
}

TEST(Blocks, SetsTakeTurnsOnceStepsAreAlike) {
  Blocks blocks;
  blocks.begin(3, kSets);
  // The first step compiles, the third tunes.
  std::vector<int64_t> lengths(50, 20 * kMs);
  lengths[0] = 300 * kMs;
  lengths[2] = 100 * kMs;
  const Ran ran = run_steps(&blocks, lengths);
  // Steps 3 to 6 are the first four that take about the same time.
  for (size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(ran.levels[i], 12u) << i;
    EXPECT_EQ(ran.rounds[i], 0u) << i;
  }
  // With so few steps a block has three: every set has had several blocks.
  for (size_t i = 7; i < 50; ++i) {
    EXPECT_EQ(ran.levels[i], kSets[(i - 7) / 3 % 3]) << i;
    EXPECT_EQ(ran.rounds[i], (i - 7) / 9 + 1) << i;
  }
}

TEST(Blocks, OneStepInSoManyIsRecorded) {
  Blocks blocks;
  const uint32_t sets[] = {0, 44};
  blocks.begin(2, sets, 20);
  const Ran ran = run_steps(&blocks, 6000, 10 * kMs);
  size_t recorded = 0;
  for (size_t i = 1000; i < 6000; ++i) recorded += ran.levels[i] == 44 ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(recorded) / 5000, 1.0 / 20, 0.02);
  // Only whole blocks of consecutive steps are recorded: a step that ends with the next one needs
  // that, too.
  for (size_t i = 1000; i + 1 < 5990; ++i) {
    if (ran.levels[i] != 44 && ran.levels[i + 1] == 44) {
      for (uint64_t k = 1; k <= Blocks::kBlockStepsMin; ++k) EXPECT_EQ(ran.levels[i + k], 44u);
    }
  }
}

TEST(Blocks, GrowWithTheProgramsAgeUpToABound) {
  Blocks blocks;
  blocks.begin(2, kSets);
  const Ran ran = run_steps(&blocks, 3000, 10 * kMs);
  EXPECT_EQ(blocks.block_steps(), 20u);               // 200 ms
  std::map<uint32_t, std::map<uint32_t, int>> steps;  // steps of each round and set
  for (size_t i = 0; i < ran.levels.size(); ++i) ++steps[ran.rounds[i]][ran.levels[i]];
  EXPECT_EQ(steps[1][0], 3);
  steps.erase(0);
  steps.erase(blocks.round());
  for (const auto& [round, sets] : steps) EXPECT_EQ(sets.at(0), sets.at(4)) << round;
}

TEST(Blocks, HaveSeveralStepsHoweverLongTheyAre) {
  Blocks blocks;
  blocks.begin(2, kSets);
  const Ran ran = run_steps(&blocks, 14, 2000 * kMs);
  const std::vector<uint32_t> wanted = {4, 4, 4, 4, 4, 0, 0, 0, 4, 4, 4, 0, 0, 0};
  EXPECT_EQ(ran.levels, wanted);
}

TEST(Blocks, AndNotTooManyHoweverShort) {
  Blocks blocks;
  blocks.begin(2, kSets);
  run_steps(&blocks, 100000, 1000);
  EXPECT_LE(blocks.block_steps(), Blocks::kBlockStepsMax);
  EXPECT_GE(blocks.block_steps(), 400u);
}

TEST(Blocks, StepsThatNeverAreAlikeDoNotWarmUpForEver) {
  Blocks blocks;
  blocks.begin(2, kSets);
  std::vector<int64_t> lengths;
  for (int i = 0; i < 60; ++i) lengths.push_back((i % 2 == 0 ? 10 : 40) * kMs);
  const Ran ran = run_steps(&blocks, lengths);
  EXPECT_EQ(ran.rounds[9], 0u);
  EXPECT_EQ(ran.rounds[10], 1u);
}

TEST(Blocks, SetsThatDifferInWhatNobodyRecordsAreOne) {
  Blocks blocks;
  blocks.begin(4, kSets);
  const Ran ran = run_steps(&blocks, 17, 20 * kMs, 15);
  const std::vector<uint32_t> wanted = {44, 44, 44, 44, 44, 0, 0, 0, 4, 4, 4, 12, 12, 12, 0, 0, 0};
  EXPECT_EQ(ran.levels, wanted);
}

TEST(Blocks, OneSetTakesNoTurns) {
  Blocks blocks;
  blocks.begin(1, kSets + 2);
  for (const uint32_t levels : run_steps(&blocks, 100, 50 * kMs).levels) EXPECT_EQ(levels, 12u);
}

TEST(Blocks, OtherStepsWarmUpAnew) {
  Blocks blocks;
  blocks.begin(2, kSets);
  run_steps(&blocks, 6, 50 * kMs);
  ASSERT_EQ(blocks.levels(), 0u);
  blocks.restart();
  EXPECT_EQ(blocks.levels(), 4u);
  EXPECT_EQ(blocks.block_steps(), 0u);
}

}  // namespace
}  // namespace xsp::process
