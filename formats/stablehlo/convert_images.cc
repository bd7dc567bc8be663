// The rules of convolutional networks, and of operators that also apply to images.
#include <algorithm>

#include "formats/stablehlo/converter.h"

namespace xsp::formats::stablehlo {
namespace {

std::vector<int64_t> or_else(std::vector<int64_t> values, std::vector<int64_t> otherwise) {
  return values.empty() ? otherwise : values;
}

std::string joined(const std::vector<int64_t>& values) {
  std::string text = list(values);
  return text.substr(1, text.size() - 2);
}

}  // namespace

Status Converter::conv(const Node& node) {
  const Operand x = value(node.inputs[0]), weight = value(node.inputs[1]);
  const auto strides = or_else(node.integers("strides"), {1, 1});
  const auto dilations = or_else(node.integers("dilations"), {1, 1});
  const auto pads = or_else(node.integers("pads"), {0, 0, 0, 0});
  const std::string window = "stride = " + list(strides) + ", pad = [" + list({pads[0], pads[2]}) +
                             ", " + list({pads[1], pads[3]}) + "], rhs_dilate = " + list(dilations);
  const Shape to = shape(node.outputs[0]);
  Operand y = emit(node,
                   "stablehlo.convolution(" + x.name + ", " + weight.name +
                       ") dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {" +
                       window + "} {batch_group_count = 1 : i64, feature_group_count = " +
                       std::to_string(node.integer("group", 1)) + " : i64}",
                   "(" + x.type() + ", " + weight.type() + ")", kFloat32, to);
  if (node.inputs.size() > 2) {
    y = binary(node, "add", y, broadcast(node, value(node.inputs[2]), to, {1}));
  }
  made(node, y);
  return Ok{};
}

Status Converter::batch_normalization(const Node& node) {
  std::string names, types;
  for (size_t i = 0; i < 5; ++i) {
    const Operand input = value(node.inputs[i]);
    names += (i == 0 ? "" : ", ") + input.name;
    types += (i == 0 ? "" : ", ") + input.type();
  }
  char epsilon[32];
  std::snprintf(epsilon, sizeof epsilon, "%.9e", static_cast<double>(node.attribute("epsilon")->f));
  made(node, emit(node,
                  "\"stablehlo.batch_norm_inference\"(" + names + ") <{epsilon = " + epsilon +
                      " : f32, feature_index = 1 : i64}>",
                  "(" + types + ")", kFloat32, shape(node.outputs[0])));
  return Ok{};
}

Status Converter::pool(const Node& node) {
  const bool is_max = node.op_type == "MaxPool";
  const Operand x = value(node.inputs[0]);
  const auto kernel = node.integers("kernel_shape");
  const auto strides = or_else(node.integers("strides"), {1, 1});
  const auto pads = or_else(node.integers("pads"), {0, 0, 0, 0});
  const Operand start = splat(node, is_max ? "0xFF800000" : "0.0", {});
  const Shape to = shape(node.outputs[0]);
  const std::string operation =
      "\"stablehlo.reduce_window\"(" + x.name + ", " + start.name +
      ") <{padding = dense<[[0, 0], [0, 0], " + list({pads[0], pads[2]}) + ", " +
      list({pads[1], pads[3]}) + "]> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 1, " +
      joined(kernel) + ">, window_strides = array<i64: 1, 1, " + joined(strides) +
      ">}> ({\n    ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n      %r = stablehlo." +
      (is_max ? "maximum" : "add") +
      " %a, %b : tensor<f32>\n      stablehlo.return %r : tensor<f32>\n    })";
  Operand y = emit(node, operation, "(" + x.type() + ", " + start.type() + ")", kFloat32, to);
  if (!is_max) {
    y = binary(node, "divide", y, splat(node, std::to_string(kernel[0] * kernel[1]) + ".0", to));
  }
  made(node, y);
  return Ok{};
}

Status Converter::global_average_pool(const Node& node) {
  const Operand x = value(node.inputs[0]);
  const Operand sum = reduce(node, x, "add", "0.0", {2, 3});
  const Operand count = splat(node, std::to_string(x.shape[2] * x.shape[3]) + ".0", sum.shape);
  made(node, reshape_to(node, binary(node, "divide", sum, count), shape(node.outputs[0])));
  return Ok{};
}

Status Converter::clip(const Node& node) {
  if (node.inputs.size() < 3) return refuse(node, "it has one limit");
  const Operand x = value(node.inputs[0]), low = value(node.inputs[1]),
                high = value(node.inputs[2]);
  made(node, emit(node, "stablehlo.clamp " + low.name + ", " + x.name + ", " + high.name,
                  "(" + low.type() + ", " + x.type() + ", " + high.type() + ")", x.dtype, x.shape));
  return Ok{};
}

Status Converter::concat(const Node& node) {
  std::string names, types;
  for (const std::string& input : node.inputs) {
    const Operand part = value(input);
    names += (names.empty() ? "" : ", ") + part.name;
    types += (types.empty() ? "" : ", ") + part.type();
  }
  made(node,
       emit(node,
            "stablehlo.concatenate " + names + ", dim = " + std::to_string(node.integer("axis", 0)),
            "(" + types + ")", kFloat32, shape(node.outputs[0])));
  return Ok{};
}

Status Converter::relu(const Node& node) {
  const Operand x = value(node.inputs[0]);
  made(node, binary(node, "maximum", x, splat(node, "0.0", x.shape)));
  return Ok{};
}

Status Converter::elementwise(const Node& node) {
  static const std::unordered_map<std::string, const char*> kNames = {{"Add", "add"},
                                                                      {"Sub", "subtract"},
                                                                      {"Mul", "multiply"},
                                                                      {"Div", "divide"},
                                                                      {"Pow", "power"}};
  const Shape to = shape(node.outputs[0]);
  const Operand a = stretch(node, value(node.inputs[0]), to);
  const Operand b = stretch(node, value(node.inputs[1]), to);
  made(node, binary(node, kNames.at(node.op_type), a, b));
  return Ok{};
}

Status Converter::reshape(const Node& node) {
  made(node, reshape_to(node, value(node.inputs[0]), shape(node.outputs[0])));
  return Ok{};
}

}  // namespace xsp::formats::stablehlo
