#include "shared/trace/timeline.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace xsp::trace {
namespace {

constexpr int64_t kUnix = 1'700'000'000'000'000'000;

int64_t at(const Timeline& timeline, uint64_t ticks, size_t epoch = 0) {
  return timeline.unix_ns(ticks, epoch);
}

TEST(Timeline, OneAnchorAndTheNominalRate) {
  const Timeline timeline({1000, 50, kUnix}, 2'000'000'000);
  EXPECT_EQ(at(timeline, 1000), kUnix);
  EXPECT_EQ(at(timeline, 3000), kUnix + 1000);
  EXPECT_EQ(at(timeline, 0), kUnix - 500);
  EXPECT_EQ(timeline.first_ns(), kUnix);
  EXPECT_EQ(timeline.last_ns(), kUnix);
}

TEST(Timeline, IsPiecewiseBetweenAnchors) {
  Timeline timeline({0, 0, kUnix}, 1'000'000'000);
  ASSERT_TRUE(timeline.add({1'000'000'000, 2'000'000'000, kUnix}));
  ASSERT_TRUE(timeline.add({2'000'000'000, 2'500'000'000, kUnix}));
  EXPECT_EQ(at(timeline, 500'000'000), kUnix + 1'000'000'000);
  EXPECT_EQ(at(timeline, 1'500'000'000), kUnix + 2'250'000'000);
  EXPECT_EQ(at(timeline, 3'000'000'000), kUnix + 3'000'000'000) << "the last rate goes on";
  EXPECT_EQ(timeline.last_ns(), kUnix + 2'500'000'000);
}

TEST(Timeline, NeverGoesBackWhereTicksDoNot) {
  std::mt19937_64 random(5);
  Timeline timeline({1000, 0, kUnix}, 3'000'000'000);
  uint64_t ticks = 1000;
  int64_t monotonic_ns = 0;
  for (int i = 0; i < 200; ++i) {
    ticks += random() % 5'000'000;
    monotonic_ns += static_cast<int64_t>(random() % 2'000'000);
    timeline.add({ticks, monotonic_ns, kUnix});
  }
  int64_t before = std::numeric_limits<int64_t>::min();
  Timeline::Stretch stretch;
  for (uint64_t t = 0; t < ticks + 1'000'000; t += 997) {
    if (!stretch.holds(t)) stretch = timeline.stretch(t, 0);
    ASSERT_EQ(stretch.unix_ns(t), at(timeline, t));
    const int64_t now = stretch.unix_ns(t);
    ASSERT_GE(now, before);
    before = now;
  }
}

TEST(Timeline, AStepOfTheSystemsClockMovesNoSpan) {
  Timeline timeline({0, 0, kUnix}, 1'000'000'000);
  ASSERT_TRUE(timeline.add({1'000'000'000, 1'000'000'000, kUnix - 3'600'000'000'000}));
  EXPECT_EQ(at(timeline, 1'000'000'000), kUnix + 1'000'000'000);
}

TEST(Timeline, TicksThatGoBackBeginAnEpoch) {
  Timeline timeline({5'000'000'000, 0, kUnix}, 1'000'000'000);
  ASSERT_TRUE(timeline.add({6'000'000'000, 1'000'000'000, kUnix}));
  EXPECT_EQ(timeline.epoch(), 0u);
  ASSERT_TRUE(timeline.add({1000, 1'010'000'000, kUnix}));
  EXPECT_EQ(timeline.epoch(), 1u);
  EXPECT_EQ(at(timeline, 2000, 1), kUnix + 1'010'001'000);
  EXPECT_EQ(at(timeline, 5'500'000'000, 0), kUnix + 500'000'000);
  // The span was emitted before the jump, and is in a chunk after it.
  Timeline later({70'000'000'000'000, 0, kUnix}, 1'000'000'000);
  ASSERT_TRUE(later.add({1000, 1'000'000, kUnix}));
  EXPECT_EQ(at(later, 70'000'000'000'500, 1), kUnix + 500);
}

TEST(Timeline, RefusesAnchorsThatContradict) {
  Timeline timeline({1000, 1000, kUnix}, 1'000'000'000);
  EXPECT_FALSE(timeline.add({2000, 999, kUnix})) << "the monotonic clock is monotonic";
  EXPECT_FALSE(timeline.add({1000, 2000, kUnix}));
  EXPECT_FALSE(timeline.add({2000, std::numeric_limits<int64_t>::max(), kUnix}));
  EXPECT_TRUE(timeline.add({1000, 1000, kUnix})) << "nothing new";
  EXPECT_EQ(at(timeline, 2000), kUnix + 1000);
}

TEST(Timeline, AbsurdNumbersStayNumbers) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  Timeline timeline({UINT64_MAX, kMin, kMax}, 0);
  timeline.add({0, 0, kMin});
  timeline.add({1, int64_t{1} << 60, kMin});
  for (const uint64_t ticks : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 63, UINT64_MAX}) {
    for (size_t epoch = 0; epoch <= timeline.epoch(); ++epoch) at(timeline, ticks, epoch);
  }
}

}  // namespace
}  // namespace xsp::trace
