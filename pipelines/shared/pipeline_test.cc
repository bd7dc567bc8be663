#include "pipelines/shared/pipeline.h"

#include <gtest/gtest.h>

#include <cmath>

#include "pipelines/shared/testing.h"

namespace xsp::pipelines {
namespace {

StepDescription step(size_t number, const std::string& name, const Params& params) {
  return {
      "m.yaml:" + std::to_string(10 + number) + ": inputs[0].steps[" + std::to_string(number) + "]",
      name, params};
}

TensorDescription input_of(std::vector<StepDescription> steps) {
  return {"m.yaml:9: inputs[0]", "x", "bytes", 0, std::move(steps)};
}

TEST(Pipeline, RunsItsStepsInOrderAndTellsOfEach) {
  const auto pipeline = Pipeline::make(
      input_of({step(0, "byte_window", {{"begin", "3"}}), step(1, "cast", {{"to", "float32"}}),
                step(2, "normalise", {{"scale", "2"}})}),
      bytes_type());
  ASSERT_TRUE(pipeline.ok()) << pipeline.error().text;
  EXPECT_EQ(type_text(pipeline->result()), "float32[3]");
  std::vector<size_t> done;
  const auto value =
      pipeline->run(bytes_value("\x02\x04\x06"), [&](size_t step) { done.push_back(step); });
  EXPECT_EQ(numbers_of<float>(value), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(done, (std::vector<size_t>{0, 1, 2}));
  EXPECT_TRUE(check_tensor(*pipeline, XSP_FLOAT32, {3}).ok());
  EXPECT_TRUE(check_tensor(*pipeline, XSP_FLOAT32, {kUnknown}).ok());
}

TEST(Pipeline, RefusesStepsThatDoNotFitBeforeAnythingRuns) {
  const std::vector<std::pair<std::vector<StepDescription>, std::string>> cases = {
      {{step(0, "byte_window", {{"begin", "8"}}), step(1, "byte_window", {{"begin", "8"}})},
       "m.yaml:11: inputs[0].steps[1]: byte_window gives int32[8], byte_window wants bytes: "},
      {{step(0, "softmax", {})},
       "m.yaml:10: inputs[0].steps[0]: the request gives bytes, softmax wants a tensor of scores"},
      {{step(0, "byte_widow", {})},
       "m.yaml:10: inputs[0].steps[0]: 'byte_widow' is no step: did you mean 'byte_window'?"},
      {{step(0, "byte_window", {{"begin", "x"}})},
       "m.yaml:10: inputs[0].steps[0]: byte_window: begin 'x': not a whole number from 0 to "},
      {{step(0, "byte_window", {{"begin", "1"}, {"stripe", "true"}})},
       "m.yaml:10: inputs[0].steps[0]: byte_window: parameter 'stripe': unknown: did you mean "
       "'strip'?"},
      {{step(0, "cast", {})},
       "m.yaml:10: inputs[0].steps[0]: cast: parameter 'to' is missing: give it"},
      {{step(0, "cast", {{"to", "int3"}})},
       "m.yaml:10: inputs[0].steps[0]: cast: to 'int3': unknown: it is one of float32, "}};
  for (const auto& [steps, error] : cases) {
    const auto pipeline = Pipeline::make(input_of(steps), bytes_type());
    ASSERT_FALSE(pipeline.ok()) << error;
    EXPECT_EQ(pipeline.error().text.substr(0, error.size()), error);
    EXPECT_EQ(pipeline.error().code, Code::kUsage);
  }
}

TEST(Pipeline, ItsEndMustBeTheModelsTensor) {
  const auto pipeline =
      Pipeline::make(input_of({step(0, "byte_window", {{"begin", "8"}})}), bytes_type());
  ASSERT_TRUE(pipeline.ok());
  EXPECT_EQ(check_tensor(*pipeline, XSP_FLOAT32, {8}).error().text,
            "m.yaml:9: inputs[0]: its steps give int32[8], the model wants float32[8] for each "
            "request: add 'cast: {to: float32}'");
  EXPECT_EQ(check_tensor(*pipeline, XSP_INT32, {9}).error().text,
            "m.yaml:9: inputs[0]: its steps give int32[8], the model wants int32[9] for each "
            "request: change the dimensions");
  EXPECT_FALSE(check_tensor(*pipeline, XSP_INT32, {8, 1}).ok());
}

TEST(Pipeline, WhatARequestGivesMustBeSaid) {
  TensorDescription input = input_of({});
  EXPECT_EQ(type_of_request(input).error().text,
            "m.yaml:9: inputs[0]: it has no steps: say how a request becomes 'x'");
  input = input_of({step(0, "softmax", {})});
  input.from = "";
  EXPECT_NE(type_of_request(input).error().text.find("'from' is missing"), std::string::npos);
  input.from = "picture";
  EXPECT_NE(type_of_request(input).error().text.find("from 'picture' is unknown: use bytes"),
            std::string::npos);
  input.from = "table";
  EXPECT_EQ(type_of_request(input)->kind, Kind::kBytes);
  input.from = "image";
  EXPECT_EQ(type_of_request(input)->kind, Kind::kBytes);
}

TEST(Steps, EachHasTheNameOfItsFileAndSaysWhatItDoes) {
  const std::vector<StepKind> kinds = all_steps();
  EXPECT_GE(kinds.size(), 5u);
  for (const StepKind& kind : kinds) {
    EXPECT_TRUE(kind.summary.ends_with('.')) << kind.name;
    EXPECT_NE(kind.make, nullptr) << kind.name;
  }
}

TEST(Value, CountsElementsWithoutOverflow) {
  EXPECT_EQ(element_count({2, 3}), 6);
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({int64_t{1} << 40, int64_t{1} << 40}), -1);
  EXPECT_EQ(element_count({3, kUnknown}), -1);
}

TEST(Value, ReadsNumbersOfEveryType) {
  EXPECT_EQ(number_at(tensor_value<uint16_t>(XSP_FLOAT16, {1}, {0x3c00}), 0), 1);
  EXPECT_EQ(number_at(tensor_value<uint16_t>(XSP_FLOAT16, {1}, {0xc500}), 0), -5);
  EXPECT_EQ(number_at(tensor_value<uint16_t>(XSP_FLOAT16, {1}, {0x8001}), 0), -1 / 16777216.0);
  EXPECT_EQ(number_at(tensor_value<uint16_t>(XSP_FLOAT16, {1}, {0x7c00}), 0), INFINITY);
  EXPECT_EQ(number_at(tensor_value<uint16_t>(XSP_BFLOAT16, {1}, {0x3fc0}), 0), 1.5);
  EXPECT_EQ(number_at(tensor_value<int8_t>(XSP_INT8, {2}, {1, -2}), 1), -2);
  EXPECT_EQ(number_at(tensor_value<int64_t>(XSP_INT64, {1}, {-3}), 0), -3);
  EXPECT_EQ(number_at(tensor_value<uint32_t>(XSP_UINT32, {1}, {UINT32_MAX}), 0), 4294967295.0);
}

}  // namespace
}  // namespace xsp::pipelines
