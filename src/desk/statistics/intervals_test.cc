#include "desk/statistics/intervals.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace xsp::statistics {
namespace {

std::optional<double> weighted_mean(const std::vector<double>& values,
                                    std::span<const uint32_t> weights) {
  double sum = 0;
  double count = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    sum += weights[i] * values[i];
    count += weights[i];
  }
  return sum / count;
}

// R. G. Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in
// Medicine 17, 1998, table I, method 3.
TEST(Wilson, EqualsNewcombesTable) {
  struct Row {
    size_t successes;
    size_t count;
    double low;
    double high;
  };
  for (const Row& row : {Row{81, 263, 0.2553, 0.3662}, Row{15, 148, 0.0624, 0.1605},
                         Row{0, 20, 0, 0.1611}, Row{1, 29, 0.0061, 0.1718}}) {
    const auto interval = wilson(row.successes, row.count);
    EXPECT_NEAR(interval->low, row.low, 5e-5);
    EXPECT_NEAR(interval->high, row.high, 5e-5);
  }
  EXPECT_FALSE(wilson(0, 0));
}

TEST(Bootstrap, HoldsTheTruthAboutAsOftenAsItSays) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal(3, 2);
  constexpr int kTrials = 300;
  int held = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> values(40);
    for (double& value : values) value = normal(random);
    const auto interval = bootstrap(values.size(), static_cast<uint64_t>(trial),
                                    [&](auto weights) { return weighted_mean(values, weights); });
    ASSERT_TRUE(interval);
    held += interval->low <= 3 && 3 <= interval->high;
  }
  // The percentile bootstrap of a mean of 40 holds it in 93 to 94 % of the trials.
  EXPECT_GT(held, kTrials * 0.89);
  EXPECT_LT(held, kTrials * 0.98);
}

TEST(Bootstrap, HasNoIntervalWhereTheItemsTellNone) {
  const std::vector<double> equal = {2, 2, 2};
  const auto mean = [&](auto weights) { return weighted_mean(equal, weights); };
  EXPECT_FALSE(bootstrap(3, 1, mean));
  EXPECT_FALSE(bootstrap(1, 1, mean));
  EXPECT_FALSE(bootstrap(0, 1, mean));
  EXPECT_FALSE(bootstrap(9, 1, [](auto) { return std::optional<double>(); }));
}

}  // namespace
}  // namespace xsp::statistics
