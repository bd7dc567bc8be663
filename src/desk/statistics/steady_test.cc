#include "desk/statistics/steady.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace xsp::statistics {
namespace {

TEST(Statistics, QuantilesInterpolateBetweenOrderStatistics) {
  const std::vector<double> values = {40, 10, 30, 20};
  EXPECT_DOUBLE_EQ(median(values), 25);
  EXPECT_DOUBLE_EQ(quantile_of_sorted(std::vector<double>{10, 20, 30, 40}, 0.9), 37);
  EXPECT_DOUBLE_EQ(quantile_of_sorted(std::vector<double>{10, 20, 30, 40}, 1.0), 40);
  EXPECT_DOUBLE_EQ(median(std::vector<double>{7}), 7);
  EXPECT_DOUBLE_EQ(median(std::vector<double>{9, 1, 5}), 5);
}

TEST(Statistics, MserOfAStepIsTheStep) {
  std::vector<double> values(40, 1.0);
  for (size_t i = 0; i < 8; ++i) values[i] = 5.0;
  EXPECT_EQ(mser_truncation(values, 1), 8u);
  EXPECT_EQ(mser_truncation(values, 4), 8u);
  EXPECT_EQ(mser_truncation(values, 5), 10u);  // the group that holds the step's end is also left
                                               // out
  EXPECT_EQ(mser_truncation(std::vector<double>(40, 1.0), 1), 0u);
}

// Computed by hand for 9 1 2 1 2 1: the squares' sum over (n - d)^2 is 47.33/36 = 1.315 at d = 0
// and 1.2/25 = 0.048 at d = 1.
TEST(Statistics, MserMatchesPaper) {
  EXPECT_EQ(mser_truncation(std::vector<double>{9, 1, 2, 1, 2, 1}, 1), 1u);
}

TEST(Statistics, WarmUpThatDecaysIsFoundAndNotMuchMore) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> noise(0, 0.01);
  double sum = 0;
  const int experiments = 200;
  for (int e = 0; e < experiments; ++e) {
    std::vector<double> values(200);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = 1 + 2 * std::exp(-static_cast<double>(i) / 5) + noise(random);
    }
    const auto start = steady_from(values);
    ASSERT_TRUE(start);
    // The decay has 10 % left at 15, and 1.3 % at 25, which is about the noise.
    EXPECT_GE(*start, 15u);
    sum += static_cast<double>(*start);
  }
  EXPECT_LT(sum / experiments, 60);
}

TEST(Statistics, ASeriesThatStillFallsIsNotSteady) {
  std::vector<double> values;
  for (int i = 0; i < 30; ++i) values.push_back(100 - i);
  EXPECT_FALSE(steady_from(values));
  EXPECT_FALSE(steady_from(std::vector<double>{3, 2, 1}));  // too short to tell
}

}  // namespace
}  // namespace xsp::statistics
