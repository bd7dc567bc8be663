#include "process/record/anchors.h"

#include <gtest/gtest.h>

namespace xsp::process {
namespace {

constexpr int64_t kMs = 1'000'000;

// Uses samples of a counter with two ticks per nanosecond. Each test moves them as it needs.
class AnchorTrackerTest : public testing::Test {
 protected:
  AnchorTrackerTest() { tracker_.begin(at(0), 2'000'000'000); }
  static Anchor at(int64_t ns) {
    return {1'000'000 + 2 * static_cast<uint64_t>(ns), 5000 + ns, 1'700'000'000'000'000'000 + ns};
  }
  AnchorTracker tracker_;
};

TEST_F(AnchorTrackerTest, OneASecondGoesIntoTheStream) {
  int due = 0;
  for (int64_t ms = 4; ms <= 5000; ms += 4) {
    const AnchorTracker::Verdict verdict = tracker_.add(at(ms * kMs));
    EXPECT_FALSE(verdict.is_jump);
    due += verdict.is_due ? 1 : 0;
  }
  EXPECT_EQ(due, 5);
}

TEST_F(AnchorTrackerTest, SteeringIsNoJump) {
  Anchor anchor = at(0);
  for (int i = 0; i < 1000; ++i) {
    anchor.monotonic_ns += 4 * kMs;
    anchor.realtime_ns += 4 * kMs;
    anchor.ticks += 2 * 4 * kMs * 1000 / 1001;  // a counter that lags by 1000 ppm
    EXPECT_FALSE(tracker_.add(anchor).is_jump);
  }
}

TEST_F(AnchorTrackerTest, EveryClockThatJumpsIsNoticedOnce) {
  int64_t ns = 0;
  Anchor moved = {0, 0, 0};
  const auto next = [&] {
    ns += 4 * kMs;
    Anchor anchor = at(ns);
    anchor.ticks += moved.ticks;
    anchor.realtime_ns += moved.realtime_ns;
    return tracker_.add(anchor);
  };
  EXPECT_FALSE(next().is_jump);
  for (const int64_t step : {+5000 * kMs, -7000 * kMs, 3 * kMs}) {
    moved.realtime_ns += step;
    EXPECT_TRUE(next().is_jump);
    EXPECT_FALSE(next().is_jump);
  }
  for (const int64_t step : {+5000 * kMs, -6000 * kMs}) {  // the counter, back and forth
    moved.ticks += static_cast<uint64_t>(step);
    const AnchorTracker::Verdict verdict = next();
    EXPECT_TRUE(verdict.is_jump);
    EXPECT_TRUE(verdict.is_due);
    EXPECT_FALSE(next().is_jump);
  }
}

}  // namespace
}  // namespace xsp::process
