#include "desk/cli/shares.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

namespace xsp::cli {
namespace {

int64_t sum_of(const std::vector<int64_t>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), int64_t{0});
}

std::vector<int64_t> percents_of(const std::vector<Share>& shares) {
  std::vector<int64_t> percents;
  for (const Share& one : shares) percents.push_back(one.percent);
  return percents;
}

using Numbers = std::vector<int64_t>;

// Without its exception for the largest, the rule gives 97 in the first case and 98 in the second.
TEST(Shares, TheLargestIsWhatASentenceSaysOfIt) {
  EXPECT_EQ(apportioned({97.53, 1.58, 0.56, 0.33}, 100), (Numbers{98, 2, 0, 0}));
  EXPECT_EQ(apportioned({97.45, 1.15, 1.15, 0.25}, 100), (Numbers{97, 1, 1, 1}));
}

TEST(Shares, ThatWouldAddUpTo99Or101AddUpTo100) {
  EXPECT_EQ(percents_of(shares_of({1.0 / 3, 1.0 / 3, 1.0 / 3})), Numbers({34, 33, 33}));
  // Each would be rounded up.
  EXPECT_EQ(percents_of(shares_of({0.496, 0.308, 0.196})), Numbers({50, 31, 19}));
  EXPECT_EQ(percents_of(shares_of({0.5, 0.25})), Numbers({50, 25}));
  EXPECT_EQ(percents_of(shares_of({0, 0})), Numbers({0, 0}));
  EXPECT_TRUE(shares_of({}).empty());
}

TEST(Shares, DifferFromTheExactByLessThanOne) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> part(0, 1);
  for (int turn = 0; turn < 1000; ++turn) {
    std::vector<double> parts(1 + static_cast<size_t>(turn) % 20);
    for (double& one : parts) one = std::pow(part(random), 3);
    const double whole = std::accumulate(parts.begin(), parts.end(), 0.0);
    const Numbers numbers = apportioned(parts, 100);
    ASSERT_EQ(sum_of(numbers), 100);
    for (size_t i = 0; i < parts.size(); ++i) {
      EXPECT_LT(std::abs(static_cast<double>(numbers[i]) - 100 * parts[i] / whole), 1);
    }
  }
}

TEST(Shares, WithinAPartAddUpToWhatIsWrittenOfIt) {
  const std::vector<Share> parts = shares_of({0.125, 0.125, 0.75});
  EXPECT_EQ(percents_of(parts), Numbers({13, 12, 75}));
  EXPECT_EQ(percents_of(shares_within(parts[0], {0.0625, 0.0625})), Numbers({7, 6}));
  EXPECT_EQ(percents_of(shares_within(parts[1], {0.0625, 0.0625})), Numbers({6, 6}));
  EXPECT_EQ(percents_of(shares_within(parts[1], {0.125})), Numbers({12}));
  // These overlap.
  EXPECT_EQ(percents_of(shares_within(parts[0], {0.1, 0.1})), Numbers({10, 10}));
}

}  // namespace
}  // namespace xsp::cli
