#include <gtest/gtest.h>

#include <cmath>

#include "pipelines/shared/testing.h"

namespace xsp::pipelines {
namespace {

// Magika's own _extract_features_from_seekable computes these numbers with the same settings.
TEST(ByteWindow, IsMagikas) {
  const Params params = {
      {"begin", "4"}, {"end", "4"}, {"block", "6"}, {"strip", "true"}, {"padding", "256"}};
  const auto window = [&](const char* text) {
    return numbers_of<int32_t>(run_step("byte_window", params, bytes_value(text)));
  };
  EXPECT_EQ(window("abcdefghij"), (std::vector<int32_t>{97, 98, 99, 100, 103, 104, 105, 106}));
  // White space is left out at the outer ends of the blocks only: they are "  a b " and "c d\n \n".
  EXPECT_EQ(window("  a b c d\n \n"), (std::vector<int32_t>{97, 32, 98, 32, 256, 99, 32, 100}));
  EXPECT_EQ(window("ab"), (std::vector<int32_t>{97, 98, 256, 256, 256, 256, 97, 98}));
  EXPECT_EQ(window(" \t\r\n\v\f"), std::vector<int32_t>(8, 256));
  EXPECT_EQ(window(""), std::vector<int32_t>(8, 256));
  EXPECT_EQ(window("\xff\xfe"), (std::vector<int32_t>{255, 254, 256, 256, 256, 256, 255, 254}));
}

TEST(ByteWindow, MayTakeOneEndAsItIs) {
  EXPECT_EQ(numbers_of<int32_t>(run_step("byte_window", {{"begin", "3"}}, bytes_value(" ab"))),
            (std::vector<int32_t>{32, 97, 98}));
  EXPECT_EQ(numbers_of<int32_t>(run_step("byte_window", {{"end", "2"}}, bytes_value("abc"))),
            (std::vector<int32_t>{98, 99}));
  EXPECT_EQ(refusal(pipeline_of("byte_window", {}, bytes_type())),
            "byte_window: begin: no window: give begin, end or both");
  EXPECT_EQ(refusal(pipeline_of("byte_window", {{"begin", "4"}, {"block", "3"}}, bytes_type())),
            "byte_window: block '3': smaller than the window: give at least the larger of its "
            "ends");
}

TEST(Cast, KeepsWhatFitsAndCutsFractions) {
  const Value numbers = tensor_value<float>(XSP_FLOAT32, {5}, {-1.5F, 2.9F, 300, NAN, -INFINITY});
  EXPECT_EQ(numbers_of<uint8_t>(run_step("cast", {{"to", "uint8"}}, numbers)),
            (std::vector<uint8_t>{0, 2, 255, 0, 0}));
  EXPECT_EQ(numbers_of<int64_t>(run_step("cast", {{"to", "int64"}}, numbers)),
            (std::vector<int64_t>{-1, 2, 300, 0, INT64_MIN}));
  EXPECT_EQ(numbers_of<float>(run_step("cast", {{"to", "float32"}}, bytes_value("\x01\xff"))),
            (std::vector<float>{1, 255}));
}

TEST(Softmax, GivesProbabilitiesOfAnyScores) {
  const auto result = numbers_of<float>(
      run_step("softmax", {}, tensor_value<float>(XSP_FLOAT32, {3}, {1000, 1001, 1000})));
  ASSERT_EQ(result.size(), 3u);
  EXPECT_FLOAT_EQ(result[0], static_cast<float>(1 / (2 + std::exp(1.0))));
  EXPECT_FLOAT_EQ(result[0] + result[1] + result[2], 1);
}

TEST(Top, OrdersByScoreThenByNumber) {
  const auto result = run_step("top", {{"count", "3"}},
                               tensor_value<float>(XSP_FLOAT32, {5}, {0.25F, NAN, 0.5F, 1, 0.5F}));
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->ranking.size(), 3u);
  EXPECT_EQ(result->ranking[0].index, 3);
  EXPECT_EQ(result->ranking[1].index, 2);
  EXPECT_EQ(result->ranking[2].index, 4);
  EXPECT_EQ(result->ranking[1].score, 0.5);
  const auto all = run_step("top", {}, tensor_value<int32_t>(XSP_INT32, {2}, {1, 2}));
  EXPECT_EQ(all->ranking.size(), 2u);
}

TEST(Normalise, UsesOneNumberOrOneForEachChannel) {
  const Value image = image_value(1, 2, 3, "rgb", {0, 51, 255, 102, 0, 0});
  const auto result = numbers_of<float>(
      run_step("normalise", {{"scale", "255"}, {"mean", "0, 0.2, 0.5"}, {"std", "0.5"}}, image));
  const std::vector<float> expected = {0, 0, 1, 0.8F, -0.4F, -1};
  ASSERT_EQ(result.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(result[i], expected[i], 1e-6) << i;
  EXPECT_EQ(refusal(pipeline_of("normalise", {{"mean", "1,2"}}, image.type)),
            "the request gives an image of uint8[1,2,3], rgb, normalise wants an image of 2 "
            "channels: give mean and std one number, or one for each channel");
  EXPECT_EQ(refusal(pipeline_of("normalise", {{"std", "0"}}, image.type)),
            "normalise: std '0': zero: write the number to divide by");
}

TEST(Ctc, ReadsTheBestClassOfEachStepOnce) {
  // Classes: blank, a, b, space. The steps read a a - a b space.
  const Value probabilities =
      tensor_value<float>(XSP_FLOAT32, {6, 4}, {0.1f, 0.6f, 0.2f, 0.1f, 0,    0.9f, 0.1f, 0,  //
                                                0.8f, 0.2f, 0,    0,    0.1f, 0.7f, 0.1f, 0.1f,
                                                0,    0,    1,    0,    0.2f, 0.2f, 0.2f, 0.4f});
  const Result<Value> read = run_step("ctc", {{"space", "last"}}, probabilities);
  ASSERT_TRUE(read.ok()) << read.error().text;
  EXPECT_EQ(read->type.kind, Kind::kSequence);
  EXPECT_EQ(read->type.dimensions, (std::vector<int64_t>{2}));
  std::vector<std::pair<int64_t, double>> given;
  for (const Ranked& one : read->ranking) given.emplace_back(one.index, one.score);
  EXPECT_EQ(given, (std::vector<std::pair<int64_t, double>>{
                       {0, double{0.6f}}, {0, double{0.7f}}, {1, 1}, {kSpace, double{0.4f}}}));
}

TEST(Ctc, CountsLabelsWithoutTheBlank) {
  const Value probabilities = tensor_value<float>(XSP_FLOAT32, {3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1});
  const Result<Value> read = run_step("ctc", {{"blank", "1"}}, probabilities);
  ASSERT_TRUE(read.ok()) << read.error().text;
  ASSERT_EQ(read->ranking.size(), 2u);
  EXPECT_EQ(read->ranking[0].index, 0);
  EXPECT_EQ(read->ranking[1].index, 1);
  EXPECT_EQ(refusal(pipeline_of("ctc", {{"blank", "3"}}, probabilities.type)),
            "the request gives float32[3,3], ctc wants more classes: there are 3, and the blank is "
            "number 3");
}

TEST(Reshape, KeepsTheNumbers) {
  const Value tensor = tensor_value<int32_t>(XSP_INT32, {2, 3}, {1, 2, 3, 4, 5, 6});
  const Result<Value> result = run_step("reshape", {{"to", "3, 1, 2"}}, tensor);
  EXPECT_EQ(numbers_of<int32_t>(result), (std::vector<int32_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(result->type.dimensions, (std::vector<int64_t>{3, 1, 2}));
}

TEST(Reshape, ChangesEachOfTheWindows) {
  Type type = windows_type(XSP_FLOAT32, {4});
  type.dimensions[0] = 3;
  const Value windows = zeros(type);
  const Result<Value> result = run_step("reshape", {{"to", "2,2"}}, windows);
  ASSERT_TRUE(result.ok()) << result.error().text;
  EXPECT_EQ(result->type.kind, Kind::kWindows);
  EXPECT_EQ(result->type.dimensions, (std::vector<int64_t>{3, 2, 2}));
}

TEST(Reshape, RefusesOtherNumbersOfElements) {
  const Type given = tensor_type(XSP_INT32, {2, 3});
  EXPECT_EQ(refusal(pipeline_of("reshape", {{"to", "4"}}, given)),
            "the request gives int32[2,3], reshape wants a tensor or windows with as many numbers "
            "as [4]");
  EXPECT_EQ(refusal(pipeline_of("reshape", {}, given)),
            "reshape: to: missing: write the dimensions");
  EXPECT_EQ(refusal(pipeline_of("reshape", {{"to", "0"}}, given)),
            "reshape: to '0': no dimensions: write whole numbers such as [64, 1]");
  // A dimension that is known only from the value is checked then.
  const Result<Pipeline> later =
      pipeline_of("reshape", {{"to", "4"}}, tensor_type(XSP_INT32, {kUnknown}));
  ASSERT_TRUE(later.ok()) << later.error().text;
  const Value three = tensor_value<int32_t>(XSP_INT32, {3}, {1, 2, 3});
  EXPECT_FALSE(later->run(three, {}).ok());
}

// Two windows of 4 rows of 2 numbers: 0 to 7, and 8 to 15.
Value two_windows() {
  Type type = windows_type(XSP_FLOAT32, {4, 2});
  type.dimensions[0] = 2;
  Value value = zeros(type);
  for (size_t i = 0; i < 16; ++i) value.as<float>()[i] = static_cast<float>(i);
  return value;
}

TEST(JoinWindows, DropsRowsAtBothEndsOfEach) {
  const Result<Value> all = run_step("join_windows", {}, two_windows());
  EXPECT_EQ(numbers_of<float>(all).size(), 16u);
  EXPECT_EQ(all->type.dimensions, (std::vector<int64_t>{8, 2}));
  const Result<Value> inner = run_step("join_windows", {{"drop", "1"}}, two_windows());
  EXPECT_EQ(numbers_of<float>(inner), (std::vector<float>{2, 3, 4, 5, 10, 11, 12, 13}));
  EXPECT_EQ(inner->type.kind, Kind::kTensor);
  EXPECT_EQ(inner->type.dimensions, (std::vector<int64_t>{4, 2}));
}

TEST(JoinWindows, CutsToTheLengthOfTheAudio) {
  Value value = two_windows();
  value.source.rate = 8000;
  value.source.samples = 4000;  // half a second, which is 5 of 10 rows in a second
  const Result<Value> cut = run_step("join_windows", {{"rate", "10"}}, value);
  EXPECT_EQ(cut->type.dimensions, (std::vector<int64_t>{5, 2}));
  EXPECT_EQ(numbers_of<float>(cut).back(), 9);
  value.source.samples = 1 << 20;  // longer than all windows
  EXPECT_EQ(run_step("join_windows", {{"rate", "10"}}, value)->type.dimensions,
            (std::vector<int64_t>{8, 2}));
}

TEST(JoinWindows, RefusesWhatHasNoRowsLeft) {
  EXPECT_EQ(
      refusal(pipeline_of("join_windows", {{"drop", "2"}}, windows_type(XSP_FLOAT32, {4, 2}))),
      "the request gives windows of float32[4,2], join_windows wants windows of more than "
      "4 rows");
  EXPECT_EQ(refusal(pipeline_of("join_windows", {}, tensor_type(XSP_FLOAT32, {2, 4, 2}))),
            "the request gives float32[2,4,2], join_windows wants windows of more than 0 rows");
}

}  // namespace
}  // namespace xsp::pipelines
