#include "desk/statistics/typical.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

namespace xsp::statistics {
namespace {

using Random = std::mt19937_64;

std::vector<Block> equal_blocks(size_t blocks, size_t size) {
  std::vector<Block> all;
  for (size_t b = 0; b < blocks; ++b) all.push_back({static_cast<int>(b), size});
  return all;
}

TEST(Typical, AFifthIsDroppedAtEachEnd) {
  // With ten values, two are dropped at each end, whatever they are.
  const Estimate ten = estimate(std::vector<double>{3, 1, 4, -1000, 6, 5, 1e9, 7, 2, 8}, {});
  EXPECT_DOUBLE_EQ(ten.mean, 4.5);
  EXPECT_EQ(ten.typical, 6u);
  EXPECT_DOUBLE_EQ(ten.least, 2);
  EXPECT_DOUBLE_EQ(ten.greatest, 7);
  // With four values, floor(0.8) = 0 are dropped.
  EXPECT_DOUBLE_EQ(estimate(std::vector<double>{1, 2, 3, 10}, {}).mean, 4);
  EXPECT_DOUBLE_EQ(estimate(std::vector<double>{5}, {}).mean, 5);
  EXPECT_EQ(estimate({}, {}).count, 0u);
}

TEST(Typical, TheIntervalIsTheFormulaByHand) {
  // There are twelve values in six blocks of two; two are dropped at each end: the fences are 3 and
  // 10.
  const std::vector<double> values = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const Estimate result = estimate(values, equal_blocks(6, 2));
  EXPECT_DOUBLE_EQ(result.mean, 6.5);
  // The sums of the winsorised blocks are 3+3 3+4 5+6 7+8 9+10 10+10 and their mean is 6.5, so
  // subtract 13, and divide by 8:
  const double residuals[] = {-7 / 8.0, -6 / 8.0, -2 / 8.0, 2 / 8.0, 6 / 8.0, 7 / 8.0};
  double squares = 0;
  for (size_t b = 0; b < 6; ++b) {
    EXPECT_DOUBLE_EQ(result.residuals[b].value, residuals[b]);
    squares += residuals[b] * residuals[b];
  }
  ASSERT_TRUE(result.interval);
  const double half = 2.570582 * std::sqrt(6.0 / 5 * squares);
  EXPECT_NEAR(result.interval->low, 6.5 - half, 1e-9);
  EXPECT_NEAR(result.interval->high, 6.5 + half, 1e-9);
}

TEST(Typical, FewerThanSixBlocksHaveNoInterval) {
  const std::vector<double> values(100, 3.0);
  EXPECT_FALSE(estimate(values, equal_blocks(5, 20)).interval);
  const Estimate six = estimate(values, equal_blocks(6, 16));
  ASSERT_TRUE(six.interval);
  EXPECT_DOUBLE_EQ(*six.relative_half_width(), 0);
  // Without blocks the values are cut into parts: five values make five parts.
  EXPECT_FALSE(estimate(std::vector<double>(5, 3.0), {}).interval);
  EXPECT_EQ(estimate(std::vector<double>(47, 3.0), {}).residuals.size(), kPartsMax);
}

// The values are from M. Abramowitz and I. A. Stegun, "Handbook of Mathematical Functions", table
// 26.10.
TEST(Typical, StudentsFactorIsThatOfTheTables) {
  const struct {
    size_t degrees;
    double factor;
  } table[] = {{1, 12.706}, {2, 4.303},  {5, 2.571},  {10, 2.228}, {20, 2.086},
               {30, 2.042}, {40, 2.021}, {60, 2.000}, {120, 1.980}};
  for (const auto& row : table) EXPECT_NEAR(student_t(row.degrees), row.factor, 6e-4);
  for (size_t n = 1; n < 200; ++n) EXPECT_GT(student_t(n), student_t(n + 1)) << n;
}

// A regime in which the interval must hold the truth: `draw` makes latencies of k blocks of n
// inferences.
struct Regime {
  const char* name;
  std::function<std::vector<double>(Random&, size_t, size_t)> draw;
};

std::vector<double> around(Random& random, size_t blocks, size_t size, double spread,
                           double between) {
  std::normal_distribution<double> normal;
  std::vector<double> values;
  for (size_t b = 0; b < blocks; ++b) {
    const double level = 1 + between * normal(random);
    for (size_t i = 0; i < size; ++i) {
      values.push_back(level * std::exp(spread * normal(random)));
    }
  }
  return values;
}

std::vector<double> autocorrelated(Random& random, size_t blocks, size_t size) {
  std::normal_distribution<double> normal;
  std::vector<double> values;
  for (size_t b = 0; b < blocks; ++b) {
    double x = 0.01 * normal(random) / std::sqrt(1 - 0.81);
    for (size_t i = 0; i < size; ++i) {
      values.push_back(1 + x);
      x = 0.9 * x + 0.01 * normal(random);
    }
  }
  return values;
}

std::vector<double> contaminated(Random& random, size_t blocks, size_t size) {
  std::vector<double> values = around(random, blocks, size, 0.02, 0);
  std::bernoulli_distribution hiccup(0.1);
  for (double& value : values) value *= hiccup(random) ? 3 : 1;
  return values;
}

const std::vector<Regime>& regimes() {
  static const std::vector<Regime> all = {
      {"independent", [](auto& r, size_t k, size_t n) { return around(r, k, n, 0.02, 0); }},
      {"autocorrelated", autocorrelated},
      {"drift of 0.5 %", [](auto& r, size_t k, size_t n) { return around(r, k, n, 0.01, 0.005); }},
      {"drift of 3 %", [](auto& r, size_t k, size_t n) { return around(r, k, n, 0.01, 0.03); }},
      {"second mode", contaminated},
  };
  return all;
}

// The 95 % interval holds the truth in 92 to 98 % of simulated experiments, with few blocks and
// with many.
TEST(Typical, TheIntervalHoldsTheTruthInEveryRegime) {
  constexpr int kExperiments = 2000;
  for (const Regime& regime : regimes()) {
    Random random(20261122);
    const std::vector<double> all = regime.draw(random, 4000, 20);
    const double truth = estimate(all, equal_blocks(4000, 20)).mean;
    for (const auto& [blocks, size] : {std::pair<size_t, size_t>{6, 20}, {13, 25}, {40, 10}}) {
      int held = 0;
      for (int e = 0; e < kExperiments; ++e) {
        const auto values = regime.draw(random, blocks, size);
        const Estimate one = estimate(values, equal_blocks(blocks, size));
        ASSERT_TRUE(one.interval);
        held += one.interval->low <= truth && truth <= one.interval->high ? 1 : 0;
      }
      const double share = held / static_cast<double>(kExperiments);
      EXPECT_GE(share, 0.92) << regime.name << ", " << blocks << " blocks";
      EXPECT_LE(share, 0.98) << regime.name << ", " << blocks << " blocks";
    }
  }
}

// Two runs that take turns share the drift of their rounds; the second takes 5 % longer.
TEST(Typical, TheIntervalOfADifferenceHoldsTheTruth) {
  constexpr int kExperiments = 2000;
  Random random(7);
  std::normal_distribution<double> normal;
  int held = 0, held_ratio = 0;
  double width = 0, alone = 0;
  for (int e = 0; e < kExperiments; ++e) {
    std::vector<double> a, b;
    for (int round = 0; round < 12; ++round) {
      const double level = 1 + 0.03 * normal(random);
      for (int i = 0; i < 20; ++i) a.push_back(level * std::exp(0.01 * normal(random)));
      for (int i = 0; i < 20; ++i) b.push_back(1.05 * level * std::exp(0.01 * normal(random)));
    }
    const Estimate of_a = estimate(a, equal_blocks(12, 20));
    const Estimate of_b = estimate(b, equal_blocks(12, 20));
    const Difference difference = paired_difference(of_a, of_b);
    ASSERT_TRUE(difference.interval);
    EXPECT_DOUBLE_EQ(difference.value, of_b.mean - of_a.mean);
    held += difference.interval->low <= 0.05 && 0.05 <= difference.interval->high ? 1 : 0;
    const auto ratio = paired_ratio(of_a, of_b);
    held_ratio += ratio->interval->low <= 1.05 && 1.05 <= ratio->interval->high ? 1 : 0;
    width += difference.interval->high - difference.interval->low;
    alone += of_a.interval->high - of_a.interval->low;
  }
  EXPECT_NEAR(held / static_cast<double>(kExperiments), 0.95, 0.03);
  EXPECT_NEAR(held_ratio / static_cast<double>(kExperiments), 0.95, 0.03);
  EXPECT_LT(width, alone / 2);  // the drift cancels
}

TEST(Typical, TheIntervalOfARatioOfSeparateRunsHoldsTheTruth) {
  constexpr int kExperiments = 2000;
  Random random(11);
  int held = 0;
  for (int e = 0; e < kExperiments; ++e) {
    const auto a = around(random, 8, 20, 0.01, 0.02);
    auto b = around(random, 20, 20, 0.01, 0.03);
    for (double& value : b) value *= 1.1;
    const auto ratio =
        unpaired_ratio(estimate(a, equal_blocks(8, 20)), estimate(b, equal_blocks(20, 20)));
    ASSERT_TRUE(ratio && ratio->interval);
    held += ratio->interval->low <= 1.1 && 1.1 <= ratio->interval->high ? 1 : 0;
  }
  EXPECT_NEAR(held / static_cast<double>(kExperiments), 0.95, 0.03);
}

TEST(Typical, ProcessesThatDifferWidenTheRatio) {
  const std::vector<double> values(120, 2.0);
  const Estimate one = estimate(values, equal_blocks(6, 20));
  EXPECT_DOUBLE_EQ(unpaired_ratio(one, one)->interval->high, 1);
  const auto ratio = unpaired_ratio(one, one, 0.02);
  EXPECT_NEAR(std::log(ratio->interval->high), student_t(5) * std::sqrt(2.0) * 0.02, 1e-12);
  EXPECT_FALSE(unpaired_ratio(estimate(std::vector<double>(6, 0.0), {}), one));
  // A spread that outweighs the information of a few blocks is not multiplied by their factor of
  // Student's t.
  std::vector<double> uneven = values;
  for (size_t i = 0; i < 60; ++i) uneven[i] = 2.002;
  const Estimate other = estimate(uneven, equal_blocks(6, 20));
  EXPECT_NEAR(std::log(unpaired_ratio(other, other, 0.1)->interval->high), 1.96 * std::sqrt(0.02),
              1e-3);
}

// The estimate is in its interval, and parts add up, whatever the values are.
TEST(Typical, RandomSeriesKeepTheContract) {
  Random random(3);
  for (int e = 0; e < 300; ++e) {
    std::vector<Block> blocks;
    std::vector<double> values;
    const int count = std::uniform_int_distribution<int>(1, 30)(random);
    for (int b = 0; b < count; ++b) {
      blocks.push_back({2 * b, std::uniform_int_distribution<size_t>(0, 9)(random)});
      for (size_t i = 0; i < blocks.back().count; ++i) {
        values.push_back(std::floor(std::lognormal_distribution<double>(3, 1)(random)));
      }
    }
    const Estimate one = estimate(values, blocks);
    double sum = 0;
    for (const Residual& residual : one.residuals) sum += residual.value;
    EXPECT_NEAR(sum, 0, 1e-9 * std::max(1.0, one.mean));
    if (!one.interval) continue;
    EXPECT_LE(one.interval->low, one.mean);
    EXPECT_GE(one.interval->high, one.mean);
  }
}

}  // namespace
}  // namespace xsp::statistics
