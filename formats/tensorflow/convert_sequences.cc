// The rules of matrix products and of sequences.
#include <algorithm>

#include "formats/tensorflow/converter.h"

namespace xsp::formats::tf {

// Weights of a dense layer are in x out in TensorFlow's own models. The other order, with
// transpose_b, gives the same results, but its CPU kernel takes many times as long.
bool Converter::write_transposed(const std::string& value) {
  const auto weight = weights_.find(value);
  if (weight == weights_.end() || places_.count(value) != 0) return false;
  size_t uses = 0;
  for (const Node& node : graph_.nodes) {
    uses += static_cast<size_t>(std::count(node.inputs.begin(), node.inputs.end(), value));
  }
  const Tensor& tensor = graph_.initializers[weight->second];
  if (uses != 1 || tensor.dimensions.size() != 2) return false;
  text_.weight(value, {tensor.dimensions[1], tensor.dimensions[0]}, weight->second, tensor.bytes);
  filters_.insert(weight->second);
  return true;
}

Status Converter::gemm(const Node& node) {
  const bool is_transposed = node.integer("transB", 0) != 0;
  const bool is_written = is_transposed && write_transposed(node.inputs[1]);
  const std::string x = plain(node.inputs[0]);
  const std::string weight = is_written ? node.inputs[1] : plain(node.inputs[1]);
  text_.add(NodeText(node.name + "/MatMul", "MatMul", {x, weight})
                .type("T", kFloat)
                .flag("transpose_a", false)
                .flag("transpose_b", is_transposed && !is_written));
  text_.add(NodeText(node.name, "BiasAdd", {node.name + "/MatMul", plain(node.inputs[2])})
                .type("T", kFloat)
                .text("data_format", "NHWC"));
  made(node);
  return Ok{};
}

Status Converter::matmul(const Node& node) {
  const bool is_plain = rank(node.inputs[0]) == 2 && rank(node.inputs[1]) == 2;
  const std::string a = plain(node.inputs[0]), b = plain(node.inputs[1]);
  NodeText text(node.name, is_plain ? "MatMul" : "BatchMatMulV2", {a, b});
  text.type("T", kFloat);
  text.flag(is_plain ? "transpose_a" : "adj_x", false);
  text.flag(is_plain ? "transpose_b" : "adj_y", false);
  text_.add(text);
  made(node);
  return Ok{};
}

// Sizes of 0 are those of the input, which are known at run time.
Status Converter::reshape(const Node& node) {
  const Tensor* given = constant(node.inputs[1]);
  if (given == nullptr) return refuse(node, "its shape depends on the data");
  std::vector<int64_t> sizes = given->integers;
  const auto is_zero = [](int64_t size) { return size == 0; };
  const auto kept = std::find_if_not(sizes.begin(), sizes.end(), is_zero) - sizes.begin();
  if (std::any_of(sizes.begin() + kept, sizes.end(), is_zero)) {
    return refuse(node, "it keeps sizes that are not the first ones");
  }
  const std::string x = plain(node.inputs[0]);
  const Type element = type(node.inputs[0]);
  sizes.erase(sizes.begin(), sizes.begin() + kept);
  std::string to = integers(node, "sizes", tf::kInt64, sizes);
  if (kept > 0) {
    const std::string name = node.name;
    text_.add(
        NodeText(name + "/Shape", "Shape", {x}).type("T", element).type("out_type", tf::kInt64));
    const std::string begin = integers(node, "begin", tf::kInt64, {0});
    const std::string size = integers(node, "kept", tf::kInt64, {kept});
    text_.add(NodeText(name + "/Slice", "Slice", {name + "/Shape", begin, size})
                  .type("T", tf::kInt64)
                  .type("Index", tf::kInt64));
    const std::string axis = integers(node, "axis", kInt32, {0}, true);
    text_.add(NodeText(name + "/concat", "ConcatV2", {name + "/Slice", to, axis})
                  .integer("N", 2)
                  .type("T", tf::kInt64)
                  .type("Tidx", kInt32));
    to = name + "/concat";
  }
  text_.add(NodeText(node.name, "Reshape", {x, to}).type("T", element).type("Tshape", tf::kInt64));
  made(node);
  return Ok{};
}

Status Converter::permute(const Node& node) {
  transpose(node.name, plain(node.inputs[0]), type(node.inputs[0]), node.integers("perm"));
  made(node);
  return Ok{};
}

Status Converter::gather(const Node& node) {
  const std::string table = plain(node.inputs[0]), indices = plain(node.inputs[1]);
  const std::string axis = integers(node, "axis", kInt32, {node.integer("axis", 0)}, true);
  text_.add(NodeText(node.name, "GatherV2", {table, indices, axis})
                .integer("batch_dims", 0)
                .type("Tparams", type(node.inputs[0]))
                .type("Tindices", tf::kInt64)
                .type("Taxis", kInt32));
  made(node);
  return Ok{};
}

// Cuts one axis at a size that is known at run time.
Status Converter::slice(const Node& node) {
  const Tensor* start = constant(node.inputs[1]);
  const Tensor* axes = node.inputs.size() == 4 ? constant(node.inputs[3]) : nullptr;
  if (start == nullptr || axes == nullptr || axes->integers.size() != 1) {
    return refuse(node, "it cuts more than one axis, or in steps");
  }
  const size_t all = rank(node.inputs[0]);
  const auto axis = static_cast<size_t>(axes->integers[0]);
  std::vector<int64_t> starts(all, 0);
  starts[axis] = start->integers[0];
  const std::string x = plain(node.inputs[0]), end = plain(node.inputs[2]);
  std::vector<std::string> ends;
  if (axis > 0) {
    ends.push_back(integers(node, "before", tf::kInt64, std::vector<int64_t>(axis, 0)));
  }
  ends.push_back(end);
  if (axis + 1 < all) {
    ends.push_back(integers(node, "behind", tf::kInt64, std::vector<int64_t>(all - axis - 1, 0)));
  }
  const auto parts = static_cast<int64_t>(ends.size());
  std::string to = end;
  if (parts > 1) {
    ends.push_back(integers(node, "axis", kInt32, {0}, true));
    to = node.name + "/end";
    text_.add(NodeText(to, "ConcatV2", ends)
                  .integer("N", parts)
                  .type("T", tf::kInt64)
                  .type("Tidx", kInt32));
  }
  const std::string begin = integers(node, "begin", tf::kInt64, starts);
  const std::string steps = integers(node, "steps", tf::kInt64, std::vector<int64_t>(all, 1));
  const int64_t others = ((int64_t{1} << all) - 1) & ~(int64_t{1} << axis);
  text_.add(NodeText(node.name, "StridedSlice", {x, begin, to, steps})
                .type("T", type(node.inputs[0]))
                .type("Index", tf::kInt64)
                .integer("begin_mask", others)
                .integer("end_mask", others)
                .integer("ellipsis_mask", 0)
                .integer("new_axis_mask", 0)
                .integer("shrink_axis_mask", 0));
  made(node);
  return Ok{};
}

Status Converter::shape(const Node& node) {
  text_.add(NodeText(node.name, "Shape", {plain(node.inputs[0])})
                .type("T", type(node.inputs[0]))
                .type("out_type", tf::kInt64));
  made(node);
  return Ok{};
}

Status Converter::unsqueeze(const Node& node) {
  const Tensor* axes = node.inputs.size() > 1 ? constant(node.inputs[1]) : nullptr;
  if (axes == nullptr) return refuse(node, "its axes depend on the data");
  std::string x = plain(node.inputs[0]);
  const size_t last = axes->integers.size() - 1;
  for (size_t i = 0; i <= last; ++i) {
    const std::string part = std::to_string(i);
    const std::string axis = integers(node, "axis" + part, kInt32, {axes->integers[i]}, true);
    const std::string name = i == last ? node.name : node.name + "/" + part;
    text_.add(NodeText(name, "ExpandDims", {x, axis})
                  .type("T", type(node.inputs[0]))
                  .type("Tdim", kInt32));
    x = name;
  }
  made(node);
  return Ok{};
}

Status Converter::cast(const Node& node) {
  text_.add(NodeText(node.name, "Cast", {plain(node.inputs[0])})
                .type("SrcT", type(node.inputs[0]))
                .type("DstT", type(node.outputs[0]))
                .flag("Truncate", false));
  made(node);
  return Ok{};
}

Status Converter::softmax(const Node& node) {
  const int64_t axis = node.integer("axis", -1);
  if (axis != -1 && axis + 1 != static_cast<int64_t>(rank(node.inputs[0]))) {
    return refuse(node, "its axis is not the last");
  }
  text_.add(NodeText(node.name, "Softmax", {plain(node.inputs[0])}).type("T", kFloat));
  made(node);
  return Ok{};
}

// Adds (x - mean) / sqrt(variance + epsilon) * scale + bias, in Keras' order of operations.
Status Converter::layer_normalization(const Node& node) {
  const std::string& name = node.name;
  const std::string x = plain(node.inputs[0]);
  const std::string axes = integers(node, "axes", kInt32, {-1});
  const std::string middle = mean(name + "/mean", x, axes);
  const std::string squares = binary(name + "/squared", "SquaredDifference", x, middle);
  const std::string variance = mean(name + "/variance", squares, axes);
  text_.constant(name + "/epsilon", {}, {node.attribute("epsilon")->f});
  const std::string sum = binary(name + "/add", "AddV2", variance, name + "/epsilon");
  text_.add(NodeText(name + "/Rsqrt", "Rsqrt", {sum}).type("T", kFloat));
  const std::string scale = binary(name + "/mul", "Mul", name + "/Rsqrt", plain(node.inputs[1]));
  const std::string scaled = binary(name + "/mul_1", "Mul", x, scale);
  const std::string shift = binary(name + "/mul_2", "Mul", middle, scale);
  const std::string rest = binary(name + "/sub", "Sub", plain(node.inputs[2]), shift);
  binary(name, "AddV2", scaled, rest);
  made(node);
  return Ok{};
}

}  // namespace xsp::formats::tf
