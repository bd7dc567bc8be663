// Tests the step text_boxes against what rapidocr-onnxruntime 1.4.4 makes of the same map.
#include <algorithm>
#include <cmath>

#include "pipelines/shared/quads.h"
#include "pipelines/shared/testing.h"

namespace xsp::pipelines {
namespace {

// A bar, a turned bar, a frame with an empty middle, and a spot that is too small.
Value map_of_probabilities() {
  Value map = zeros(tensor_type(XSP_FLOAT32, {1, 60, 100}));
  const auto fill = [&map](int top, int bottom, int left, int right, float value) {
    for (int y = top; y < bottom; ++y) {
      for (int x = left; x < right; ++x) map.as<float>()[static_cast<size_t>(100 * y + x)] = value;
    }
  };
  fill(10, 20, 10, 50, 0.9f);
  for (int y = 0; y < 60; ++y) {
    for (int x = 0; x < 100; ++x) {
      const double along = (x - 70) * 0.8 + (y - 40) * 0.6;
      const double across = -(x - 70) * 0.6 + (y - 40) * 0.8;
      if (std::abs(along) <= 20 && std::abs(across) <= 6) fill(y, y + 1, x, x + 1, 0.8f);
    }
  }
  fill(45, 58, 5, 30, 0.9f);
  fill(49, 54, 9, 26, 0.1f);
  fill(2, 4, 90, 92, 0.9f);
  map.source = {120, 200, 0, 0};
  return map;
}

struct Box {
  std::vector<float> corners;
  double score = 0;
};

void expect_boxes(const Params& params, const std::vector<Box>& expected) {
  const Result<Value> found = run_step("text_boxes", params, map_of_probabilities());
  ASSERT_TRUE(found.ok()) << found.error().text;
  ASSERT_EQ(found->scores.size(), expected.size());
  const std::vector<float> numbers = numbers_of<float>(found);
  for (const Box& box : expected) {
    size_t at = 0;
    while (at < numbers.size() && !std::equal(box.corners.begin(), box.corners.end(),
                                              numbers.begin() + static_cast<ptrdiff_t>(at))) {
      at += 8;
    }
    ASSERT_LT(at, numbers.size()) << testing::PrintToString(numbers);
    EXPECT_NEAR(found->scores[at / 8], box.score, 1e-6);
  }
}

TEST(TextBoxes, AreThoseOfTheOriginal) {
  expect_boxes({}, {{{0, 78, 70, 78, 70, 119, 0, 119}, 0.6907692135526584},
                    {{110, 25, 199, 92, 168, 119, 79, 66}, 0.7646586459324541},
                    {{8, 8, 110, 8, 110, 50, 8, 50}, 0.8999999761581421}});
  expect_boxes({{"dilate", "true"}}, {{{0, 76, 74, 76, 74, 119, 0, 119}, 0.6167582263863022},
                                      {{110, 20, 199, 90, 170, 119, 74, 70}, 0.628387106137891},
                                      {{8, 8, 112, 8, 112, 52, 8, 52}, 0.7982261429340506}});
}

TEST(TextBoxes, AreDroppedByTheirScore) {
  const Result<Value> found =
      run_step("text_boxes", {{"box_threshold", "0.8"}}, map_of_probabilities());
  ASSERT_TRUE(found.ok()) << found.error().text;
  EXPECT_EQ(found->scores.size(), 1u);
  const Result<Value> none =
      run_step("text_boxes", {{"threshold", "0.95"}}, map_of_probabilities());
  ASSERT_TRUE(none.ok()) << none.error().text;
  EXPECT_TRUE(none->scores.empty());
}

TEST(TextBoxes, WantAMap) {
  EXPECT_EQ(refusal(pipeline_of("text_boxes", {}, tensor_type(XSP_FLOAT32, {3, 4}))),
            "the request gives float32[3,4], text_boxes wants float32[1,height,width]: the "
            "probability of text in each pixel");
}

TEST(SmallestRectangle, LiesOnAnEdge) {
  const Rectangle diamond = smallest_rectangle({{0, 1}, {1, 0}, {2, 1}, {1, 2}, {1, 1}});
  EXPECT_NEAR(diamond.least_side, std::sqrt(2), 1e-12);
  EXPECT_EQ(smallest_rectangle({{3, 4}}).least_side, 0);
  EXPECT_EQ(smallest_rectangle({{0, 0}, {5, 5}}).least_side, 0);
}

}  // namespace
}  // namespace xsp::pipelines
