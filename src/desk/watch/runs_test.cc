#include "desk/watch/runs.h"

#include <gtest/gtest.h>

#include <vector>

namespace xsp::watch {
namespace {

// Returns the given steps, followed by steps of about 10 ms, each slightly different.
std::vector<double> steps_after(std::vector<double> first_ns, int count) {
  for (int i = 0; i < count; ++i) first_ns.push_back(10e6 + (i * 7919) % 101 * 1e3);
  return first_ns;
}

TEST(WarmupSteps, SlowFirstStepsAreWarmUp) {
  EXPECT_EQ(warmup_steps(steps_after({900e6}, 30)), 1u);
  EXPECT_EQ(warmup_steps(steps_after({900e6, 40e6, 30e6}, 60)), 3u);
  // There are few steps, but the first one is clearly different.
  EXPECT_EQ(warmup_steps(steps_after({900e6}, 3)), 1u);
}

TEST(WarmupSteps, OneThatIsSlowBehindAFastOneToo) {
  EXPECT_EQ(warmup_steps(steps_after({900e6, 10e6, 700e6}, 100)), 3u);
}

TEST(WarmupSteps, ASlowBeginningWithoutAnyPeakToo) {
  const size_t warm = warmup_steps(steps_after(std::vector<double>(20, 13e6), 100));
  EXPECT_GE(warm, 20u);
  EXPECT_LE(warm, 25u);  // found in groups of five
}

TEST(WarmupSteps, SteadyOnesHaveNone) {
  EXPECT_EQ(warmup_steps(steps_after({}, 50)), 0u);
  EXPECT_EQ(warmup_steps(std::vector<double>(20, 5e6)), 0u);
  EXPECT_EQ(warmup_steps(steps_after({9e6}, 30)), 0u);  // a fast first step is not warm-up either
}

TEST(WarmupSteps, TooFewTellNothing) {
  EXPECT_EQ(warmup_steps({}), 0u);
  const std::vector<double> two = {900e6, 1e6};
  EXPECT_EQ(warmup_steps(two), 0u);
}

}  // namespace
}  // namespace xsp::watch
