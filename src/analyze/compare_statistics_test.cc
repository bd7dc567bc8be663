#include "analyze/compare_statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace xsp::analyze {
namespace {

// Medians of blocks as machines give them: a latency, slow drift of the whole block, and a tail.
std::vector<double> blocks(std::mt19937& random, size_t count, double latency, double spread) {
  std::normal_distribution<double> drift(0, spread);
  std::exponential_distribution<double> tail(1 / spread);
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i) {
    values.push_back(latency * std::exp(drift(random) + tail(random)));
  }
  return values;
}

TEST(CompareStatistics, RanksAreThoseOfTheTables) {
  // Critical values of the rank-sum test at 5 %, two-sided, as published: reject if U <= rank - 1.
  EXPECT_EQ(rank_sum_rank(3, 3), 0u);
  EXPECT_EQ(rank_sum_rank(4, 4), 1u);
  EXPECT_EQ(rank_sum_rank(5, 5), 3u);
  EXPECT_EQ(rank_sum_rank(6, 6), 6u);
  EXPECT_EQ(rank_sum_rank(8, 8), 14u);
  EXPECT_EQ(rank_sum_rank(10, 10), 24u);
  EXPECT_EQ(rank_sum_rank(20, 20), 128u);
  EXPECT_EQ(rank_sum_rank(4, 10), rank_sum_rank(10, 4));
}

TEST(CompareStatistics, TheApproximationMeetsTheExactRanks) {
  EXPECT_NEAR(static_cast<double>(rank_sum_rank(32, 32)), 366, 2);  // exact
  EXPECT_NEAR(static_cast<double>(rank_sum_rank(33, 33)), 391, 3);  // approximated
}

TEST(CompareStatistics, AFactorIsFoundAndSigned) {
  std::mt19937 random(1);
  const auto a = blocks(random, 12, 1e6, 0.01);
  const auto slower = blocks(random, 12, 1.2e6, 0.01);
  const auto ratio = ratio_of(a, slower);
  ASSERT_TRUE(ratio.has_value());
  EXPECT_TRUE(ratio->is_significant());
  EXPECT_GT(ratio->low, 1.1);
  EXPECT_LT(ratio->high, 1.3);
  EXPECT_GT(ratio->estimate, ratio->low);
  EXPECT_LT(ratio->estimate, ratio->high);
  const auto back = ratio_of(slower, a);
  ASSERT_TRUE(back.has_value());
  EXPECT_NEAR(back->estimate * ratio->estimate, 1, 1e-12);
  EXPECT_NEAR(back->low * ratio->high, 1, 1e-12);
}

TEST(CompareStatistics, ASeriesDoesNotDifferFromItself) {
  std::mt19937 random(2);
  const auto a = blocks(random, 9, 1e6, 0.05);
  const auto ratio = ratio_of(a, a);
  ASSERT_TRUE(ratio.has_value());
  EXPECT_DOUBLE_EQ(ratio->estimate, 1);
  EXPECT_FALSE(ratio->is_significant());
}

// Halves of one distribution: the interval must miss 1 in no more than 5 % of the trials, whatever
// the number of blocks; and nearly as often, or it would be idle.
TEST(CompareStatistics, OneInTwentyOfNoDifferenceIsCalledOne) {
  std::mt19937 random(3);
  const int trials = 2000;
  for (const size_t count : {4, 6, 9, 16, 40}) {
    int found = 0;
    for (int trial = 0; trial < trials; ++trial) {
      const auto a = blocks(random, count, 1e6, 0.02);
      const auto b = blocks(random, count, 1e6, 0.02);
      if (ratio_of(a, b)->is_significant()) ++found;
    }
    // Three standard deviations above 5 %.
    EXPECT_LE(found, trials * 0.065) << count << " blocks";
    EXPECT_GE(found, trials * 0.015) << count << " blocks";
  }
}

TEST(CompareStatistics, FewBlocksGiveNothing) {
  const std::vector<double> three = {1, 2, 3};
  const std::vector<double> four = {1, 2, 3, 4};
  EXPECT_FALSE(ratio_of(three, four).has_value());
  EXPECT_FALSE(ratio_of(four, three).has_value());
  EXPECT_TRUE(ratio_of(four, four).has_value());
  EXPECT_FALSE(ratio_of({}, {}).has_value());
}

TEST(CompareStatistics, ZeroesGiveNothing) {
  const std::vector<double> zeroes(8, 0.0);
  const std::vector<double> ones(8, 1.0);
  EXPECT_FALSE(ratio_of(zeroes, ones).has_value());
  EXPECT_FALSE(ratio_of(ones, zeroes).has_value());
  const auto equal = ratio_of(ones, ones);
  ASSERT_TRUE(equal.has_value());
  EXPECT_EQ(equal->low, 1);
  EXPECT_EQ(equal->high, 1);
}

TEST(CompareStatistics, ManyBlocksAreJoined) {
  std::mt19937 random(4);
  const auto a = blocks(random, 10000, 1e6, 0.1);
  const auto b = blocks(random, 10000, 1.05e6, 0.1);
  const auto ratio = ratio_of(a, b);
  ASSERT_TRUE(ratio.has_value());
  EXPECT_TRUE(ratio->is_significant());
  EXPECT_NEAR(ratio->estimate, 1.05, 0.01);
}

}  // namespace
}  // namespace xsp::analyze
