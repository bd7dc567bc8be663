#include "collectors/cpu/hardware.h"

#include <gtest/gtest.h>

#include <cmath>

namespace xsp::cpu {
namespace {

TEST(Hardware, ACounterThatWasAlwaysActiveIsNotScaled) {
  EXPECT_DOUBLE_EQ(counted_between({1000, 50, 50}, {1700, 90, 90}), 700);
  EXPECT_DOUBLE_EQ(counted_between({1000, 80, 50}, {1700, 120, 90}), 700)
      << "it was not active before the interval only";
}

TEST(Hardware, TheIntervalsOwnShareScales) {
  EXPECT_DOUBLE_EQ(counted_between({9'000'000, 80, 20}, {9'000'300, 120, 30}), 1200);
}

TEST(Hardware, NothingWasMeasuredWhileItWasNotActive) {
  EXPECT_TRUE(std::isnan(counted_between({1000, 50, 40}, {1000, 90, 40})));
}

TEST(Hardware, AReadingThatFailedMeasuresNothing) {
  EXPECT_TRUE(std::isnan(counted_between({}, {1700, 90, 90})));
  EXPECT_TRUE(std::isnan(counted_between({1000, 50, 50}, {})));
}

// A process loads for 20 s with four events in a nanosecond. Then it infers for 1 ms at a time with
// one, while its counter is active in each second slice of 4 ms.
TEST(Hardware, AMultiplexedCounterOfShortInferencesIsNeverWrong) {
  constexpr uint64_t kStepNs = 100'000;
  constexpr uint64_t kSliceNs = 4'000'000;
  Reading now;
  const auto pass = [&](uint64_t ns, uint64_t rate) {
    for (uint64_t end = now.enabled_ns + ns; now.enabled_ns < end; now.enabled_ns += kStepNs) {
      if (now.enabled_ns / kSliceNs % 2 != 0) continue;
      now.running_ns += kStepNs;
      now.value += rate * kStepNs;
    }
  };
  pass(20'001'300'000, 4);
  size_t measured = 0;
  for (int i = 0; i < 1000; ++i) {
    const Reading before = now;
    pass(1'000'000, 1);
    const double count = counted_between(before, now);
    if (std::isnan(count)) continue;
    EXPECT_DOUBLE_EQ(count, 1e6);
    ++measured;
  }
  EXPECT_GT(measured, 500u);
}

}  // namespace
}  // namespace xsp::cpu
