#include "desk/divergence/difference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace xsp::divergence {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Difference of(const std::vector<double>& a, const std::vector<double>& b, int64_t last) {
  Difference difference;
  difference.add(a, b, last);
  return difference;
}

TEST(Difference, HasTheFiguresThatItsNamesSay) {
  // Computed with NumPy.
  const Difference d = of({3, -4, 0, 1e-9}, {3.3, -4, 0.4, 2e-9}, 2);
  EXPECT_EQ(d.elements(), 4);
  EXPECT_DOUBLE_EQ(d.max_absolute(), 0.4);
  EXPECT_NEAR(d.max_relative(), 0.1, 1e-12);  // 1e-9 is noise beside 4, and 0 has none
  EXPECT_NEAR(d.rms_relative(), 0.1, 1e-12);  // sqrt(0.09 + 0.16) / 5
  EXPECT_NEAR(d.cosine(), 0.995969697183578, 1e-12);
  EXPECT_EQ(d.answers(), 2);
  EXPECT_EQ(d.equal_best(), 1);
}

TEST(Difference, TensorsAddUp) {
  Difference parts = of({1, 2}, {1, 3}, 2);
  parts.add(std::vector<double>{5, 4}, std::vector<double>{5, 4}, 2);
  const Difference whole = of({1, 2, 5, 4}, {1, 3, 5, 4}, 2);
  EXPECT_EQ(parts.rms_relative(), whole.rms_relative());
  EXPECT_EQ(parts.cosine(), whole.cosine());
  EXPECT_EQ(parts.equal_best(), 2);
}

TEST(Difference, EqualTensorsDoNotDiffer) {
  const Difference zero = of({0, 0}, {0, 0}, 1);
  EXPECT_EQ(zero.rms_relative(), 0);
  EXPECT_EQ(zero.cosine(), 1);
  EXPECT_EQ(zero.answers(), 0);
  EXPECT_EQ(of({1e200, 1}, {1e200, 1}, 1).rms_relative(), 0);
  EXPECT_EQ(of({0}, {1}, 1).rms_relative(), kInfinity);
}

TEST(Difference, WhatIsNoNumberIsCountedAndNotAddedUp) {
  const Difference d =
      of({1, kNan, kInfinity, kNan, kInfinity}, {1, 2, kInfinity, kNan, -kInfinity}, 1);
  EXPECT_EQ(d.not_numbers(), 2);
  EXPECT_EQ(d.rms_relative(), 0);
}

}  // namespace
}  // namespace xsp::divergence
