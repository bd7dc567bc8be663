#include "process/load/processor_clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace xsp::process {
namespace {

// Half of many calls agree, however busy the machine is, because a call is short.
TEST(ProcessorClock, IsOneThatProcessorsHaveAndRepeatsItself) {
  std::vector<int64_t> clocks;
  for (int i = 0; i < 201; ++i) clocks.push_back(processor_clock_mhz());
  std::sort(clocks.begin(), clocks.end());
  if (clocks.back() < 0) GTEST_SKIP() << "not known on this architecture";
  EXPECT_GE(clocks[100], 400);
  EXPECT_LE(clocks[100], 7000);
  EXPECT_LT(4 * clocks[150], 5 * clocks[50]) << clocks[50] << " to " << clocks[150];
}

}  // namespace
}  // namespace xsp::process
