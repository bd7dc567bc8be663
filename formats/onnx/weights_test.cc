#include "formats/onnx/weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace xsp::formats {
namespace {

std::vector<float> draw(const Distribution& distribution, uint64_t seed, size_t count) {
  std::vector<float> values(count);
  fill_weights(distribution, seed, 0, count, values.data());
  return values;
}

TEST(Weights, HaveTheVarianceAskedForAndNoZeros) {
  const std::vector<float> values = draw(with_variance(0.04), 7, 100000);
  double sum = 0;
  double squares = 0;
  for (const float value : values) {
    ASSERT_EQ(std::fpclassify(value), FP_NORMAL);
    sum += value;
    squares += double{value} * value;
  }
  EXPECT_NEAR(sum / 1e5, 0, 0.005);
  EXPECT_NEAR(squares / 1e5, 0.04, 0.001);
}

TEST(Weights, StayInTheirRange) {
  for (const float value : draw({1, 0.2}, 3, 10001)) {
    ASSERT_GE(value, 0.8f);
    ASSERT_LE(value, 1.2f);
  }
  for (const float value : draw({-4, 0.05}, 3, 10001)) {
    ASSERT_GE(value, -4.0501f);
    ASSERT_LE(value, -3.9499f);
  }
}

TEST(Weights, DependOnTheIndexAndNotOnThePieces) {
  const std::vector<float> whole = draw({0, 1}, 5, 1001);
  std::vector<float> pieces(1001);
  fill_weights({0, 1}, 5, 0, 400, pieces.data());
  fill_weights({0, 1}, 5, 400, 601, pieces.data() + 400);
  EXPECT_EQ(whole, pieces);
}

TEST(Weights, DifferByTensorAndSeed) {
  EXPECT_NE(tensor_seed(1, "conv1/weight"), tensor_seed(1, "conv2/weight"));
  EXPECT_NE(tensor_seed(1, "conv1/weight"), tensor_seed(2, "conv1/weight"));
  EXPECT_NE(draw({0, 1}, 1, 100), draw({0, 1}, 2, 100));
}

// The bits are the same on every machine and with every compiler: a change here changes every
// model.
TEST(Weights, AreTheSameEverywhere) {
  const std::vector<float> values = draw({0, 1}, tensor_seed(1, "conv1/weight"), 4);
  EXPECT_EQ(values,
            (std::vector<float>{0x1.d86f8ap-1f, -0x1.ddbf6ep-1f, 0x1.6b78bp-4f, -0x1.43bc5ep-1f}));
}

}  // namespace
}  // namespace xsp::formats
