#include "evaluate/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace xsp::evaluate {
namespace {

TEST(Statistics, QuantilesInterpolateBetweenOrderStatistics) {
  const std::vector<double> values = {40, 10, 30, 20};
  EXPECT_DOUBLE_EQ(median(values), 25);
  EXPECT_DOUBLE_EQ(quantile_of_sorted(std::vector<double>{10, 20, 30, 40}, 0.9), 37);
  EXPECT_DOUBLE_EQ(quantile_of_sorted(std::vector<double>{10, 20, 30, 40}, 1.0), 40);
  EXPECT_DOUBLE_EQ(median(std::vector<double>{7}), 7);
  EXPECT_DOUBLE_EQ(median(std::vector<double>{9, 1, 5}), 5);
}

TEST(Statistics, TrimmedMeanDropsAFifthAtEachEnd) {
  // Ten values: two are dropped at each end, whatever they are.
  EXPECT_DOUBLE_EQ(trimmed_mean(std::vector<double>{3, 1, 4, -1000, 6, 5, 1e9, 7, 2, 8}), 4.5);
  // Four values: floor(0.8) = 0 are dropped.
  EXPECT_DOUBLE_EQ(trimmed_mean(std::vector<double>{1, 2, 3, 10}), 4);
  EXPECT_DOUBLE_EQ(trimmed_mean(std::vector<double>{5}), 5);
}

// From tables of the binomial distribution: P(B(n, 1/2) <= low - 1) <= 0.025 < P(B(n, 1/2) <= low).
TEST(Statistics, RanksOfTheMedianAreThoseOfTheTables) {
  EXPECT_FALSE(median_ranks(0));
  EXPECT_FALSE(median_ranks(5));  // 2 / 2^5 = 6.25 % would be missed
  const struct {
    size_t n, low, high;
  } table[] = {{6, 1, 6},   {8, 1, 8},    {9, 2, 8},    {10, 2, 9},   {20, 6, 15},
               {25, 8, 18}, {50, 18, 33}, {70, 27, 44}, {71, 27, 45}, {100, 40, 61}};
  for (const auto& row : table) {
    const auto ranks = median_ranks(row.n);
    ASSERT_TRUE(ranks) << row.n;
    EXPECT_EQ(ranks->low, row.low) << row.n;
    EXPECT_EQ(ranks->high, row.high) << row.n;
  }
}

TEST(Statistics, RanksFollowTheNormalLimitWhereThePowersOfTwoUnderflow) {
  const size_t n = 100000;
  const auto ranks = median_ranks(n);
  ASSERT_TRUE(ranks);
  const double expected = n / 2.0 - 1.959964 * std::sqrt(n) / 2;
  EXPECT_NEAR(static_cast<double>(ranks->low), expected, 1.5);
  EXPECT_EQ(ranks->low + ranks->high, n + 1);
}

// The share of simulated experiments whose interval encloses the true median is at least 95 %, and
// not much more (ranks are discrete: exact coverage at n = 60 is 96.0 %, at n = 101 is 95.4 %).
TEST(Statistics, IntervalCoversTheMedianOfSkewedDistributions) {
  std::mt19937_64 random(20201);
  const int experiments = 4000;
  for (const size_t n : {60u, 101u}) {
    int covered = 0;
    for (int e = 0; e < experiments; ++e) {
      std::lognormal_distribution<double> latency(1.0, 0.8);
      std::vector<double> values(n);
      for (double& v : values) v = latency(random);
      const auto interval = median_interval(values);
      ASSERT_TRUE(interval);
      if (interval->low <= std::exp(1.0) && std::exp(1.0) <= interval->high) ++covered;
    }
    const double share = static_cast<double>(covered) / experiments;
    EXPECT_GT(share, 0.94) << n;
    EXPECT_LT(share, 0.975) << n;
  }
}

TEST(Statistics, SummaryOfConstantValuesHasNoWidth) {
  const Summary summary = summarize(std::vector<double>(20, 3.0));
  EXPECT_EQ(summary.count, 20u);
  EXPECT_DOUBLE_EQ(summary.p99, 3.0);
  ASSERT_TRUE(relative_half_width(summary));
  EXPECT_DOUBLE_EQ(*relative_half_width(summary), 0);
  EXPECT_FALSE(relative_half_width(summarize(std::vector<double>(5, 3.0))));
  EXPECT_EQ(summarize({}).count, 0u);
}

TEST(Statistics, MserOfAStepIsTheStep) {
  std::vector<double> values(40, 1.0);
  for (size_t i = 0; i < 8; ++i) values[i] = 5.0;
  EXPECT_EQ(mser_truncation(values, 1), 8u);
  EXPECT_EQ(mser_truncation(values, 4), 8u);
  EXPECT_EQ(mser_truncation(values, 5), 10u);  // the group that holds the step's end goes too
  EXPECT_EQ(mser_truncation(std::vector<double>(40, 1.0), 1), 0u);
}

// By hand, of 9 1 2 1 2 1: the squares' sum over (n - d)^2 is 47.33/36 = 1.315 at d = 0 and
// 1.2/25 = 0.048 at d = 1.
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
    // At 15 the decay has 10 % left, at 25 1.3 %: about the noise.
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

TEST(Statistics, PairsCancelDriftThatHidesADifference) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> noise(0, 0.1);
  std::vector<double> a, b;
  for (int round = 0; round < 40; ++round) {
    const double drift = 5.0 * round;  // far more than the difference
    a.push_back(100 + drift + noise(random));
    b.push_back(101 + drift + noise(random));
  }
  const Difference difference = paired_difference(a, b);
  EXPECT_EQ(difference.pairs, 40u);
  EXPECT_NEAR(difference.median, 1, 0.1);
  ASSERT_TRUE(difference.interval);
  EXPECT_GT(difference.interval->low, 0.8);
  EXPECT_LT(difference.interval->high, 1.2);
  // Unpaired, the intervals of the two medians overlap widely.
  EXPECT_GT(median_interval(a)->high, median_interval(b)->low);
}

TEST(Statistics, PairedIntervalCoversTheTrueDifference) {
  std::mt19937_64 random(13);
  std::exponential_distribution<double> noise(1.0);
  int covered = 0;
  const int experiments = 3000;
  for (int e = 0; e < experiments; ++e) {
    std::vector<double> a(25), b(25);
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = 10 + noise(random);
      b[i] = 12 + noise(random);
    }
    const auto interval = paired_difference(a, b).interval;
    if (interval->low <= 2 && 2 <= interval->high) ++covered;
  }
  const double share = static_cast<double>(covered) / experiments;
  EXPECT_GT(share, 0.94);
  EXPECT_LT(share, 0.975);
}

}  // namespace
}  // namespace xsp::evaluate
