// Runs single steps in tests.
#ifndef XSP_PIPELINES_SHARED_TESTING_H_
#define XSP_PIPELINES_SHARED_TESTING_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pipelines/shared/pipeline.h"

namespace xsp::pipelines {

using Params = std::map<std::string, std::string>;

inline Value bytes_value(std::string_view text) {
  Value value;
  value.type = bytes_type();
  value.type.dimensions = {static_cast<int64_t>(text.size())};
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  value.data.assign(data, data + text.size());
  return value;
}

template <typename T>
Value tensor_value(uint32_t dtype, std::vector<int64_t> dimensions, const std::vector<T>& numbers) {
  Value value = zeros(tensor_type(dtype, std::move(dimensions)));
  EXPECT_EQ(value.data.size(), numbers.size() * sizeof(T));
  std::memcpy(value.data.data(), numbers.data(), value.data.size());
  return value;
}

// Some steps need a library that is built for this machine alone.
inline bool is_built(std::string_view step) {
  return std::ranges::any_of(all_steps(), [&](const StepKind& kind) { return kind.name == step; });
}

// An image of uint8 in the layout HWC.
inline Value image_value(int64_t height, int64_t width, int64_t channels,
                         const std::string& colours, const std::vector<uint8_t>& numbers) {
  Value value = tensor_value(XSP_UINT8, {height, width, channels}, numbers);
  value.type.kind = Kind::kImage;
  value.type.layout = "HWC";
  value.type.colours = colours;
  return value;
}

// Makes a pipeline of one step for values of this type.
inline Result<Pipeline> pipeline_of(const std::string& step, const Params& params,
                                    const Type& given) {
  return Pipeline::make(
      {"m.yaml:3: inputs[0]", "x", "bytes", 0, {{"m.yaml:4: inputs[0].steps[0]", step, params}}},
      given);
}

inline Result<Value> run_step(const std::string& step, const Params& params, Value value) {
  XSP_TRY(const Pipeline pipeline, pipeline_of(step, params, value.type));
  return pipeline.run(std::move(value), {});
}

template <typename T>
std::vector<T> numbers_of(const Result<Value>& value) {
  EXPECT_TRUE(value.ok()) << (value.ok() ? "" : value.error().text);
  if (!value.ok()) return {};
  const auto numbers = value->as<T>();
  return {numbers.begin(), numbers.end()};
}

// Returns the error's text, without the place of the step.
inline std::string refusal(const Result<Pipeline>& pipeline) {
  if (pipeline.ok()) return "no error";
  const std::string place = "m.yaml:4: inputs[0].steps[0]: ";
  EXPECT_EQ(pipeline.error().text.find(place), 0u) << pipeline.error().text;
  return pipeline.error().text.substr(place.size());
}

}  // namespace xsp::pipelines

#endif  // XSP_PIPELINES_SHARED_TESTING_H_
