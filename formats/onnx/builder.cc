#include "formats/onnx/builder.h"

#include <algorithm>
#include <cassert>

namespace xsp::formats {
namespace {

// The newest exporters write this operator set; number 17 added LayerNormalization.
constexpr int64_t kOpset = 17;
constexpr int64_t kIrVersion = 8;

uint64_t element_count(const std::vector<int64_t>& dimensions) {
  uint64_t count = 1;
  for (const int64_t dimension : dimensions) count *= static_cast<uint64_t>(dimension);
  return count;
}

Tensor tensor_of(const std::string& name, int32_t dtype, const std::vector<int64_t>& dimensions) {
  Tensor tensor;
  tensor.name = name;
  tensor.dtype = dtype;
  tensor.dimensions = dimensions;
  tensor.elements = element_count(dimensions);
  tensor.bytes = tensor.elements * dtype_bits(dtype) / 8;
  return tensor;
}

int64_t kernel_width(const Window& window) {
  return window.kernel_width > 0 ? window.kernel_width : window.kernel;
}

std::vector<Attribute> window_attributes(const Window& window) {
  const int64_t pad_width = window.pad_width >= 0 ? window.pad_width : window.pad;
  const std::vector<int64_t> pads = {window.pad, pad_width, window.pad + window.pad_extra,
                                     pad_width + window.pad_extra};
  return {attribute("kernel_shape", {window.kernel, kernel_width(window)}), attribute("pads", pads),
          attribute("strides", {window.stride, window.stride})};
}

}  // namespace

Attribute attribute(const std::string& name, int64_t value) {
  Attribute result;
  result.name = name;
  result.kind = AttributeKind::kInt;
  result.i = value;
  return result;
}

Attribute attribute(const std::string& name, float value) {
  Attribute result;
  result.name = name;
  result.kind = AttributeKind::kFloat;
  result.f = value;
  return result;
}

Attribute attribute(const std::string& name, const std::vector<int64_t>& values) {
  Attribute result;
  result.name = name;
  result.kind = AttributeKind::kInts;
  result.ints = values;
  return result;
}

Dimension fixed(int64_t value) { return {value, ""}; }
Dimension symbolic(const std::string& symbol) { return {-1, symbol}; }

Window same_window(int64_t size, int64_t kernel, int64_t stride) {
  const int64_t rows = (size + stride - 1) / stride;
  const int64_t total = std::max<int64_t>((rows - 1) * stride + kernel - size, 0);
  Window window;
  window.kernel = kernel;
  window.stride = stride;
  window.pad = total / 2;
  window.pad_extra = total - 2 * window.pad;
  return window;
}

Builder::Builder(std::string name) {
  graph_.name = std::move(name);
  graph_.ir_version = kIrVersion;
  graph_.opsets[""] = kOpset;
  graph_.producer_name = "xsp";
}

Value Builder::input(const std::string& name, int32_t dtype,
                     const std::vector<Dimension>& dimensions) {
  graph_.inputs.push_back({name, dtype, true, true, dimensions});
  return {name, dimensions.size() > 1 ? dimensions[1].value : 0};
}

// The node that makes `value` gives it the output's name, as exporters do.
void Builder::output(const Value& value, const std::string& name, int32_t dtype,
                     const std::vector<Dimension>& dimensions) {
  graph_.outputs.push_back({name, dtype, true, true, dimensions});
  for (Node& node : graph_.nodes) {
    for (std::string& tensor : node.inputs) {
      if (tensor == value.name) tensor = name;
    }
    for (std::string& tensor : node.outputs) {
      if (tensor == value.name) tensor = name;
    }
  }
}

void Builder::default_dimension(const std::string& symbol, int64_t value) {
  graph_.metadata["default_dimension:" + symbol] = std::to_string(value);
}

Value Builder::node(const std::string& name, const std::string& op_type,
                    const std::vector<Value>& inputs, const std::vector<Attribute>& attributes,
                    int64_t channels) {
  Node node;
  node.name = name;
  node.op_type = op_type;
  for (const Value& value : inputs) node.inputs.push_back(value.name);
  node.outputs = {name + "/out"};
  node.attributes = attributes;
  graph_.nodes.push_back(node);
  if (channels == 0 && !inputs.empty()) channels = inputs[0].channels;
  return {name + "/out", channels};
}

std::vector<Value> Builder::nodes(const std::string& name, const std::string& op_type,
                                  const std::vector<Value>& inputs,
                                  const std::vector<Attribute>& attributes,
                                  const std::vector<int64_t>& channels) {
  node(name, op_type, inputs, attributes);
  std::vector<std::string>& outputs = graph_.nodes.back().outputs;
  outputs.clear();
  std::vector<Value> values;
  for (const int64_t c : channels) {
    outputs.push_back(name + "/out" + std::to_string(outputs.size()));
    values.push_back({outputs.back(), c});
  }
  return values;
}

Value Builder::buffer(const std::string& name, const std::vector<int64_t>& dimensions,
                      const std::vector<int64_t>& values) {
  graph_.initializers.push_back(tensor_of(name, kInt64, dimensions));
  graph_.initializers.back().integers = values;
  distributions_.push_back({});
  return {name, 0};
}

Value Builder::weight(const std::string& name, const std::vector<int64_t>& dimensions,
                      const Distribution& distribution) {
  graph_.initializers.push_back(tensor_of(name, kFloat32, dimensions));
  distributions_.push_back(distribution);
  return {name, 0};
}

Value Builder::constant(const std::string& name, const std::vector<int64_t>& values) {
  Attribute value;
  value.name = "value";
  value.kind = AttributeKind::kTensor;
  value.tensor = {tensor_of("", kInt64, {static_cast<int64_t>(values.size())})};
  value.tensor[0].integers = values;
  return node(name, "Constant", {}, {value});
}

Value Builder::constant_floats(const std::string& name, const std::vector<int64_t>& dimensions,
                               const std::vector<float>& values) {
  Attribute value;
  value.name = "value";
  value.kind = AttributeKind::kTensor;
  value.tensor = {tensor_of("", kFloat32, dimensions)};
  value.tensor[0].floats = values;
  assert(value.tensor[0].elements == values.size());
  return node(name, "Constant", {}, {value});
}

Value Builder::scalar(const std::string& name, float value) {
  return constant_floats(name, {}, {value});
}

Value Builder::conv(const std::string& name, const Value& x, int64_t channels, const Window& window,
                    double gain) {
  const int64_t width = kernel_width(window);
  const int64_t fan_in = x.channels / window.groups * window.kernel * width;
  const Distribution weights = with_variance(gain / static_cast<double>(fan_in));
  std::vector<Value> inputs = {
      x, weight(name + "/weight", {channels, x.channels / window.groups, window.kernel, width},
                weights)};
  if (window.bias) inputs.push_back(weight(name + "/bias", {channels}, {0, 0.05}));
  std::vector<Attribute> attributes = window_attributes(window);
  attributes.push_back(attribute("dilations", {1, 1}));
  attributes.push_back(attribute("group", window.groups));
  return node(name, "Conv", inputs, attributes, channels);
}

Value Builder::batch_norm(const std::string& name, const Value& x, double epsilon, double scale) {
  const std::vector<int64_t> dimensions = {x.channels};
  const Value gamma = weight(name + "/weight", dimensions, {scale, 0.2 * scale});
  const Value beta = weight(name + "/bias", dimensions, {0, 0.2});
  const Value mean = weight(name + "/running_mean", dimensions, {0, 0.2});
  const Value variance = weight(name + "/running_var", dimensions, {1, 0.2});
  return node(name, "BatchNormalization", {x, gamma, beta, mean, variance},
              {attribute("epsilon", static_cast<float>(epsilon))});
}

Value Builder::relu(const std::string& name, const Value& x) { return unary(name, "Relu", x); }

Value Builder::relu6(const std::string& name, const Value& x) {
  const Value low = scalar(name + "/min", 0);
  const Value high = scalar(name + "/max", 6);
  return node(name, "Clip", {x, low, high});
}

Value Builder::max_pool(const std::string& name, const Value& x, const Window& window) {
  return node(name, "MaxPool", {x}, window_attributes(window));
}

Value Builder::average_pool(const std::string& name, const Value& x, const Window& window) {
  std::vector<Attribute> attributes = window_attributes(window);
  attributes.push_back(attribute("count_include_pad", int64_t{1}));
  return node(name, "AveragePool", {x}, attributes);
}

Value Builder::global_average_pool(const std::string& name, const Value& x) {
  return unary(name, "GlobalAveragePool", x);
}

Value Builder::flatten(const std::string& name, const Value& x) {
  return node(name, "Flatten", {x}, {attribute("axis", int64_t{1})});
}

Value Builder::concat(const std::string& name, const std::vector<Value>& parts) {
  int64_t channels = 0;
  for (const Value& part : parts) channels += part.channels;
  return node(name, "Concat", parts, {attribute("axis", int64_t{1})}, channels);
}

Value Builder::gemm(const std::string& name, const Value& x, int64_t features, double gain) {
  const Distribution weights = with_variance(gain / static_cast<double>(x.channels));
  const Value w = weight(name + "/weight", {features, x.channels}, weights);
  const Value b = weight(name + "/bias", {features}, {0, 0.05});
  return node(name, "Gemm", {x, w, b}, {attribute("transB", int64_t{1})}, features);
}

Value Builder::dense(const std::string& name, const Value& x, int64_t features, double gain) {
  const Distribution weights = with_variance(gain / static_cast<double>(x.channels));
  const Value w = weight(name + "/weight", {x.channels, features}, weights);
  const Value b = weight(name + "/bias", {features}, {0, 0.05});
  const Value product = node(name + "/MatMul", "MatMul", {x, w}, {}, features);
  return add(name + "/Add", b, product);
}

Value Builder::layer_norm(const std::string& name, const Value& x, double epsilon) {
  const Value scale = weight(name + "/weight", {x.channels}, {1, 0.2});
  const Value bias = weight(name + "/bias", {x.channels}, {0, 0.1});
  return node(name, "LayerNormalization", {x, scale, bias},
              {attribute("axis", int64_t{-1}), attribute("epsilon", static_cast<float>(epsilon))});
}

Value Builder::add(const std::string& name, const Value& a, const Value& b) {
  return binary(name, "Add", a, b);
}

Value Builder::binary(const std::string& name, const std::string& op_type, const Value& a,
                      const Value& b) {
  return node(name, op_type, {a, b}, {}, std::max(a.channels, b.channels));
}

Value Builder::unary(const std::string& name, const std::string& op_type, const Value& x) {
  return node(name, op_type, {x});
}

Value Builder::reshape(const std::string& name, const Value& x,
                       const std::vector<int64_t>& dimensions, int64_t channels) {
  const Value shape = constant(name + "/shape", dimensions);
  return node(name, "Reshape", {x, shape}, {}, channels);
}

Value Builder::transpose(const std::string& name, const Value& x,
                         const std::vector<int64_t>& order) {
  return node(name, "Transpose", {x}, {attribute("perm", order)});
}

Value Builder::gather(const std::string& name, const Value& table, const Value& indices,
                      int64_t axis) {
  return node(name, "Gather", {table, indices}, {attribute("axis", axis)});
}

}  // namespace xsp::formats
