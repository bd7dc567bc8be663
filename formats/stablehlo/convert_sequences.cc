// The rules of matrix products and of sequences.
#include <cstdio>

#include "formats/stablehlo/converter.h"

namespace xsp::formats::stablehlo {

Status Converter::gemm(const Node& node) {
  const Operand x = value(node.inputs[0]), weight = value(node.inputs[1]);
  const bool is_transposed = node.integer("transB", 0) != 0;
  const Shape to = shape(node.outputs[0]);
  const Operand product =
      emit(node,
           "stablehlo.dot_general " + x.name + ", " + weight.name + ", contracting_dims = [1] x [" +
               (is_transposed ? "1" : "0") + "]",
           "(" + x.type() + ", " + weight.type() + ")", kFloat32, to);
  made(node, binary(node, "add", product, stretch(node, value(node.inputs[2]), to)));
  return Ok{};
}

Status Converter::matmul(const Node& node) {
  const Operand a = value(node.inputs[0]), b = value(node.inputs[1]);
  const auto last = static_cast<int64_t>(a.shape.size()) - 1;
  std::string dimensions;
  if (b.shape.size() == 2) {
    dimensions = "contracting_dims = " + list({last}) + " x [0]";
  } else if (a.shape.size() == b.shape.size()) {
    std::vector<int64_t> batch;
    for (int64_t i = 0; i + 1 < last; ++i) batch.push_back(i);
    dimensions = "batching_dims = " + list(batch) + " x " + list(batch) +
                 ", contracting_dims = " + list({last}) + " x " + list({last - 1});
  } else {
    return refuse(node, "its matrices are stretched");
  }
  made(node, emit(node, "stablehlo.dot_general " + a.name + ", " + b.name + ", " + dimensions,
                  "(" + a.type() + ", " + b.type() + ")", kFloat32, shape(node.outputs[0])));
  return Ok{};
}

Status Converter::permute(const Node& node) {
  const Operand x = value(node.inputs[0]);
  made(node, emit(node, "stablehlo.transpose " + x.name + ", dims = " + list(node.integers("perm")),
                  "(" + x.type() + ")", x.dtype, shape(node.outputs[0])));
  return Ok{};
}

Status Converter::gather(const Node& node) {
  const Operand table = value(node.inputs[0]), indices = value(node.inputs[1]);
  const int64_t axis = node.integer("axis", 0);
  const auto looked_up = static_cast<int64_t>(indices.shape.size());
  const Shape to = shape(node.outputs[0]);
  std::vector<int64_t> offsets;
  for (int64_t i = 0; i < static_cast<int64_t>(to.size()); ++i) {
    if (i < axis || i >= axis + looked_up) offsets.push_back(i);
  }
  Shape sizes = table.shape;
  sizes[static_cast<size_t>(axis)] = 1;
  std::string size_text = list(sizes);
  size_text = size_text.substr(1, size_text.size() - 2);
  made(node,
       emit(node,
            "\"stablehlo.gather\"(" + table.name + ", " + indices.name +
                ") <{dimension_numbers = #stablehlo.gather<offset_dims = " + list(offsets) +
                ", collapsed_slice_dims = " + list({axis}) + ", start_index_map = " + list({axis}) +
                ", index_vector_dim = " + std::to_string(looked_up) +
                ">, indices_are_sorted = false, slice_sizes = array<i64: " + size_text + ">}>",
            "(" + table.type() + ", " + indices.type() + ")", table.dtype, to));
  return Ok{};
}

Operand Converter::part(const Node& node, const Operand& x, const Shape& begins, const Shape& to) {
  std::string ranges;
  for (size_t i = 0; i < to.size(); ++i) {
    ranges +=
        (i == 0 ? "" : ", ") + std::to_string(begins[i]) + ":" + std::to_string(begins[i] + to[i]);
  }
  return emit(node, "stablehlo.slice " + x.name + " [" + ranges + "]", "(" + x.type() + ")",
              x.dtype, to);
}

// The start is known, and the end follows from the shape.
Status Converter::slice(const Node& node) {
  const Operand x = value(node.inputs[0]);
  const auto starts = values_.find(node.inputs[1]);
  const auto axes = values_.find(node.inputs.size() > 3 ? node.inputs[3] : "");
  if (starts == values_.end() || axes == values_.end() || !starts->second.has_integers ||
      !axes->second.has_integers || node.inputs.size() > 4) {
    return refuse(node, "where it begins depends on the data");
  }
  const Shape to = shape(node.outputs[0]);
  Shape begins(to.size(), 0);
  for (size_t i = 0; i < axes->second.integers.size(); ++i) {
    begins[static_cast<size_t>(axes->second.integers[i])] = starts->second.integers[i];
  }
  made(node, part(node, x, begins, to));
  return Ok{};
}

// The parts lie one behind another along an axis.
Status Converter::split(const Node& node) {
  const Operand x = value(node.inputs[0]);
  const int64_t given = node.integer("axis", 0);
  const auto axis =
      static_cast<size_t>(given < 0 ? given + static_cast<int64_t>(x.shape.size()) : given);
  Shape begins(x.shape.size(), 0);
  for (const std::string& output : node.outputs) {
    const Shape to = shape(output);
    made_[output] = part(node, x, begins, to);
    begins[axis] += to[axis];
  }
  return Ok{};
}

Status Converter::cast(const Node& node) {
  const Operand x = value(node.inputs[0]);
  const KnownValue& to = values_.at(node.outputs[0]);
  made(node, emit(node, "stablehlo.convert " + x.name, "(" + x.type() + ")", to.dtype, to.shape));
  return Ok{};
}

Status Converter::function(const Node& node) {
  const Operand x = value(node.inputs[0]);
  if (node.op_type == "Tanh" || node.op_type == "Exp") {
    made(node, unary(node, node.op_type == "Tanh" ? "stablehlo.tanh" : "stablehlo.exponential", x));
  } else {
    made(node, emit(node, "chlo.erf " + x.name, x.type(), x.dtype, x.shape));
  }
  return Ok{};
}

Status Converter::softmax(const Node& node) {
  const Operand x = value(node.inputs[0]);
  const auto last = static_cast<int64_t>(x.shape.size()) - 1;
  const int64_t axis = node.integer("axis", -1);
  if (axis != -1 && axis != last) return refuse(node, "its axis is not the last");
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < last; ++i) kept.push_back(i);
  const Operand highest = reduce(node, x, "maximum", "0xFF800000", {last});
  const Operand shifted = binary(node, "subtract", x, broadcast(node, highest, x.shape, kept));
  const Operand powers = unary(node, "stablehlo.exponential", shifted);
  const Operand sum = reduce(node, powers, "add", "0.0", {last});
  made(node, binary(node, "divide", powers, broadcast(node, sum, x.shape, kept)));
  return Ok{};
}

Operand Converter::mean_of_last(const Node& node, const Operand& x) {
  const auto last = static_cast<int64_t>(x.shape.size()) - 1;
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < last; ++i) kept.push_back(i);
  const Operand sum = reduce(node, x, "add", "0.0", {last});
  const Operand count = splat(node, std::to_string(x.shape.back()) + ".0", sum.shape);
  return broadcast(node, binary(node, "divide", sum, count), x.shape, kept);
}

// Emits (x - mean) / sqrt(variance + epsilon) * scale + bias.
Status Converter::layer_normalization(const Node& node) {
  const Operand x = value(node.inputs[0]);
  char epsilon[32];
  std::snprintf(epsilon, sizeof epsilon, "%.9e", static_cast<double>(node.attribute("epsilon")->f));
  const Operand centred = binary(node, "subtract", x, mean_of_last(node, x));
  const Operand variance = mean_of_last(node, binary(node, "multiply", centred, centred));
  const Operand sum = binary(node, "add", variance, splat(node, epsilon, x.shape));
  const Operand unit = binary(node, "multiply", centred, unary(node, "stablehlo.rsqrt", sum));
  const Operand scaled =
      binary(node, "multiply", unit, stretch(node, value(node.inputs[1]), x.shape));
  made(node, binary(node, "add", scaled, stretch(node, value(node.inputs[2]), x.shape)));
  return Ok{};
}

}  // namespace xsp::formats::stablehlo
