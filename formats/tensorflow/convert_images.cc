// The rules of convolutional networks, and of operators that also apply to images.
#include <algorithm>

#include "formats/tensorflow/converter.h"

namespace xsp::formats::tf {
namespace {

std::vector<int64_t> or_else(std::vector<int64_t> values, std::vector<int64_t> otherwise) {
  return values.empty() ? otherwise : values;
}

}  // namespace

// Writes ONNX's pads, top left bottom right, as attributes of a node on images.
void Converter::pad(NodeText* text, const std::vector<int64_t>& pads) {
  const bool is_padded =
      std::any_of(pads.begin(), pads.end(), [](int64_t size) { return size != 0; });
  text->text("padding", is_padded ? "EXPLICIT" : "VALID").text("data_format", "NHWC");
  if (is_padded) {
    text->integers("explicit_paddings", {0, 0, pads[0], pads[2], pads[1], pads[3], 0, 0});
  }
}

Status Converter::conv(const Node& node) {
  const size_t index = weights_.at(node.inputs[1]);
  const Tensor& weight = graph_.initializers[index];
  const int64_t outs = weight.dimensions[0], ins = weight.dimensions[1];
  const int64_t height = weight.dimensions[2], width = weight.dimensions[3];
  const int64_t groups = node.integer("group", 1);
  if (groups != 1 && ins != 1) return refuse(node, "its channels are in groups");
  const bool is_depthwise = groups != 1;
  const std::string x = image(node.inputs[0]);
  const std::vector<int64_t> shape =
      is_depthwise ? std::vector<int64_t>{height, width, groups, outs / groups}
                   : std::vector<int64_t>{height, width, ins, outs};
  text_.weight(weight.name, shape, index, weight.bytes);
  filters_.insert(index);
  const auto strides = or_else(node.integers("strides"), {1, 1});
  const auto dilations = or_else(node.integers("dilations"), {1, 1});
  const bool has_bias = node.inputs.size() > 2;
  const std::string name = has_bias ? node.name + "/Conv2D" : node.name;
  NodeText text(name, is_depthwise ? "DepthwiseConv2dNative" : "Conv2D", {x, weight.name});
  text.type("T", kFloat).integers("strides", {1, strides[0], strides[1], 1});
  text.integers("dilations", {1, dilations[0], dilations[1], 1});
  pad(&text, or_else(node.integers("pads"), {0, 0, 0, 0}));
  text_.add(text);
  if (has_bias) {
    const std::string bias = plain(node.inputs[2]);
    text_.add(
        NodeText(node.name, "BiasAdd", {name, bias}).type("T", kFloat).text("data_format", "NHWC"));
  }
  made(node, true);
  return Ok{};
}

Status Converter::batch_normalization(const Node& node) {
  std::vector<std::string> inputs = {image(node.inputs[0])};
  for (size_t i = 1; i < 5; ++i) inputs.push_back(plain(node.inputs[i]));
  text_.add(NodeText(node.name, "FusedBatchNormV3", inputs)
                .type("T", kFloat)
                .type("U", kFloat)
                .number("epsilon", node.attribute("epsilon")->f)
                .flag("is_training", false)
                .text("data_format", "NHWC"));
  made(node, true);
  return Ok{};
}

Status Converter::pool(const Node& node) {
  const bool is_max = node.op_type == "MaxPool";
  const auto kernel = node.integers("kernel_shape");
  const auto strides = or_else(node.integers("strides"), {1, 1});
  auto pads = or_else(node.integers("pads"), {0, 0, 0, 0});
  const bool is_padded =
      std::any_of(pads.begin(), pads.end(), [](int64_t size) { return size != 0; });
  std::string x = image(node.inputs[0]);
  if (!is_max && is_padded) {  // the padding's zeros count: they are inserted
    text_.constant(node.name + "/paddings", kInt32, {4, 2},
                   {0, 0, pads[0], pads[2], pads[1], pads[3], 0, 0});
    text_.add(NodeText(node.name + "/Pad", "Pad", {x, node.name + "/paddings"})
                  .type("T", kFloat)
                  .type("Tpaddings", kInt32));
    x = node.name + "/Pad";
    pads = {0, 0, 0, 0};
  }
  NodeText text(node.name, is_max ? "MaxPool" : "AvgPool", {x});
  text.type("T", kFloat).integers("ksize", {1, kernel[0], kernel[1], 1});
  text.integers("strides", {1, strides[0], strides[1], 1});
  pad(&text, pads);
  text_.add(text);
  made(node, true);
  return Ok{};
}

Status Converter::global_average_pool(const Node& node) {
  const std::string x = image(node.inputs[0]);
  mean(node.name, x, integers(node, "axes", kInt32, {1, 2}));
  made(node, true);
  return Ok{};
}

Status Converter::flatten(const Node& node) {
  const Shape& from = values_.at(node.inputs[0]).shape;
  // An image of one pixel has the same memory order in both layouts.
  const bool is_pixel = from.size() == 4 && from[2] == 1 && from[3] == 1;
  const std::string x = is_pixel ? image(node.inputs[0]) : plain(node.inputs[0]);
  const std::string to =
      integers(node, "shape", kInt32, {-1, values_.at(node.outputs[0]).shape[1]});
  text_.add(NodeText(node.name, "Reshape", {x, to}).type("T", kFloat).type("Tshape", kInt32));
  made(node);
  return Ok{};
}

Status Converter::unary(const Node& node) {
  const auto place = places_.find(node.inputs[0]);
  const bool is_last = place != places_.end() && place->second.is_channels_last;
  text_.add(
      NodeText(node.name, node.op_type, {in_order(node.inputs[0], is_last)}).type("T", kFloat));
  made(node, is_last);
  return Ok{};
}

Status Converter::elementwise(const Node& node) {
  static const std::unordered_map<std::string, const char*> kNames = {
      {"Add", "AddV2"}, {"Sub", "Sub"}, {"Mul", "Mul"}, {"Div", "RealDiv"}};
  const auto is_last = [this](const std::string& value) {
    const auto place = places_.find(value);
    return place != places_.end() && place->second.is_channels_last;
  };
  const bool last = is_last(node.inputs[0]) || is_last(node.inputs[1]);
  if (last && rank(node.inputs[0]) != rank(node.inputs[1])) {
    return refuse(node, "it stretches an image");
  }
  binary(node.name, kNames.at(node.op_type), in_order(node.inputs[0], last),
         in_order(node.inputs[1], last));
  made(node, last);
  return Ok{};
}

Status Converter::clip(const Node& node) {
  const Tensor* low = node.inputs.size() > 2 ? constant(node.inputs[1]) : nullptr;
  const Tensor* high = node.inputs.size() > 2 ? constant(node.inputs[2]) : nullptr;
  if (low == nullptr || high == nullptr || low->floats[0] != 0 || high->floats[0] != 6) {
    return refuse(node, "its limits are not 0 and 6");
  }
  Node relu = node;
  relu.op_type = "Relu6";
  return unary(relu);
}

Status Converter::concat(const Node& node) {
  const bool is_image = rank(node.inputs[0]) == 4;
  std::vector<std::string> inputs;
  for (const std::string& input : node.inputs) inputs.push_back(in_order(input, is_image));
  int64_t axis = node.integer("axis", 0);
  if (is_image) axis = axis == 1 ? 3 : axis == 0 ? 0 : axis - 1;
  inputs.push_back(integers(node, "axis", kInt32, {axis}, true));
  text_.add(NodeText(node.name, "ConcatV2", inputs)
                .integer("N", static_cast<int64_t>(node.inputs.size()))
                .type("T", type(node.inputs[0]))
                .type("Tidx", kInt32));
  made(node, is_image);
  return Ok{};
}

}  // namespace xsp::formats::tf
