#include "formats/tensorflow/convert.h"

#include "formats/tensorflow/converter.h"

namespace xsp::formats::tf {
namespace {

const std::vector<int64_t> kToLast = {0, 2, 3, 1};
const std::vector<int64_t> kToFirst = {0, 3, 1, 2};

}  // namespace

std::string Converter::transpose(const std::string& name, const std::string& tensor, Type type,
                                 const std::vector<int64_t>& order) {
  text_.constant(name + "/perm", kInt32, {static_cast<int64_t>(order.size())}, order);
  text_.add(
      NodeText(name, "Transpose", {tensor, name + "/perm"}).type("T", type).type("Tperm", kInt32));
  return name;
}

// Weights and constants are written when they are first read.
std::string Converter::write_constant(const std::string& value) {
  const auto weight = weights_.find(value);
  if (weight == weights_.end()) {
    const Tensor& tensor = *constant(value);
    if (tensor.dtype == kFloat32) {
      text_.constant(value, tensor.dimensions, tensor.floats);
    } else {
      text_.constant(value, tf::kInt64, tensor.dimensions, tensor.integers);
    }
    return value;
  }
  const Tensor& tensor = graph_.initializers[weight->second];
  if (tensor.dtype == kFloat32) {
    text_.weight(value, tensor.dimensions, weight->second, tensor.bytes);
  } else {
    text_.constant(value, tf::kInt64, tensor.dimensions, tensor.integers);
  }
  return value;
}

std::string Converter::in_order(const std::string& value, bool channels_last) {
  const auto found = places_.find(value);
  if (found == places_.end()) {
    places_[value] = {write_constant(value), false};
    return value;
  }
  if (found->second.is_channels_last == channels_last) return found->second.tensor;
  const auto [other, is_new] = reordered_.emplace(value, "");
  if (is_new) {
    other->second = transpose(found->second.tensor + (channels_last ? "/nhwc" : "/nchw"),
                              found->second.tensor, kFloat, channels_last ? kToLast : kToFirst);
  }
  return other->second;
}

const std::unordered_map<std::string, Converter::Rule>& Converter::rules() {
  static const std::unordered_map<std::string, Rule> kRules = {
      {"Constant", &Converter::skip},
      {"Conv", &Converter::conv},
      {"BatchNormalization", &Converter::batch_normalization},
      {"MaxPool", &Converter::pool},
      {"AveragePool", &Converter::pool},
      {"GlobalAveragePool", &Converter::global_average_pool},
      {"Flatten", &Converter::flatten},
      {"Gemm", &Converter::gemm},
      {"MatMul", &Converter::matmul},
      {"Relu", &Converter::unary},
      {"Tanh", &Converter::unary},
      {"Erf", &Converter::unary},
      {"Add", &Converter::elementwise},
      {"Sub", &Converter::elementwise},
      {"Mul", &Converter::elementwise},
      {"Div", &Converter::elementwise},
      {"Clip", &Converter::clip},
      {"Concat", &Converter::concat},
      {"Reshape", &Converter::reshape},
      {"Transpose", &Converter::permute},
      {"Gather", &Converter::gather},
      {"Slice", &Converter::slice},
      {"Shape", &Converter::shape},
      {"Unsqueeze", &Converter::unsqueeze},
      {"Cast", &Converter::cast},
      {"Softmax", &Converter::softmax},
      {"LayerNormalization", &Converter::layer_normalization},
  };
  return kRules;
}

Status Converter::convert() {
  for (const ValueInfo& input : graph_.inputs) {
    std::vector<int64_t> sizes;
    for (const Dimension& dimension : input.dimensions) sizes.push_back(dimension.value);
    text_.add(NodeText(input.name, "Placeholder", {})
                  .type("dtype", type_of(input.dtype))
                  .shape("shape", sizes));
    places_[input.name] = {input.name, false};
  }
  for (const Node& node : graph_.nodes) {
    const auto rule = rules().find(node.op_type);
    if (rule == rules().end()) return refuse(node, "there is no rule for " + node.op_type);
    XSP_CHECK_OK((this->*rule->second)(node));
  }
  for (const ValueInfo& output : graph_.outputs) {
    text_.add(
        NodeText(output.name, "Identity", {plain(output.name)}).type("T", type_of(output.dtype)));
  }
  return Ok{};
}

Result<Converted> convert(const Graph& graph) {
  XSP_TRY(const KnownValues values, infer_shapes(graph, {{"batch", 1}}));
  Converter converter(graph, values);
  XSP_CHECK_OK(converter.convert());
  return converter.take();
}

}  // namespace xsp::formats::tf
