#include "formats/onnx/shapes.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "formats/onnx/shape_rules.h"

namespace xsp::formats {
namespace {

int64_t product(const Shape& shape) {
  int64_t result = 1;
  for (const int64_t size : shape) {
    if (size < 0) return -1;
    result = saturating_product(result, size);
  }
  return result;
}

const KnownValue* known(const KnownValues& values, const std::vector<std::string>& names,
                        size_t i) {
  if (i >= names.size()) return nullptr;
  const auto found = values.find(names[i]);
  return found != values.end() && found->second.elements() >= 0 ? &found->second : nullptr;
}

Result<KnownValue> input_value(const Graph& graph, const ValueInfo& input,
                               const std::map<std::string, int64_t>& symbols) {
  KnownValue value = {input.dtype, {}, false, {}};
  for (const Dimension& dimension : input.dimensions) {
    int64_t size = dimension.value;
    if (size < 0) {
      const auto given = symbols.find(dimension.symbol);
      const int64_t fallback = default_dimension(graph, dimension.symbol);
      if (given == symbols.end() && fallback == 0) {
        return usage("input '" + input.name + "': the size of dimension '" + dimension.symbol +
                     "' is not known: give the input's shape");
      }
      size = given != symbols.end() ? given->second : fallback;
    }
    value.shape.push_back(size);
  }
  return value;
}

}  // namespace

int64_t KnownValue::elements() const { return product(shape); }

int64_t default_dimension(const Graph& graph, const std::string& symbol) {
  const auto found = graph.metadata.find("default_dimension:" + symbol);
  if (found == graph.metadata.end()) return 0;
  return std::max<int64_t>(std::strtoll(found->second.c_str(), nullptr, 10), 0);
}

Result<KnownValues> infer_shapes(const Graph& graph,
                                 const std::map<std::string, int64_t>& symbols) {
  KnownValues values;
  for (const Tensor& tensor : graph.initializers) {
    const bool has_integers = !tensor.integers.empty();
    values[tensor.name] = {tensor.dtype, tensor.dimensions, has_integers, tensor.integers};
  }
  for (const ValueInfo& input : graph.required_inputs()) {
    if (!input.is_tensor || !input.has_shape) continue;
    XSP_TRY(values[input.name], input_value(graph, input, symbols));
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    RuleContext context(graph.nodes[i], &values);
    apply_rule(context);
    if (!context.problem.empty()) {
      return corrupt("node '" + node_label(graph, i) + "' (" + graph.nodes[i].op_type +
                     "): " + context.problem + ": check the shapes of the inputs");
    }
  }
  return values;
}

Work node_work(const Node& node, const KnownValues& values) {
  const KnownValue* x = known(values, node.inputs, 0);
  const KnownValue* w = known(values, node.inputs, 1);
  const KnownValue* y = known(values, node.outputs, 0);
  if (x == nullptr || y == nullptr) return {};
  const std::string& op = node.op_type;
  const int64_t elements = y->elements();
  // A bias is the sum's first value, and costs nothing.
  const auto of_macs = [&](int64_t per_element) -> Work {
    const int64_t macs = saturating_product(elements, per_element);
    return {macs, saturating_product(2, macs)};
  };
  if (op == "Conv" && w != nullptr && !w->shape.empty() && w->shape[0] > 0) {
    return of_macs(w->elements() / w->shape[0]);
  }
  if (op == "Gemm" && x->shape.size() == 2) {
    return of_macs(x->shape[node.integer("transA", 0) != 0 ? 0 : 1]);
  }
  if (op == "MatMul" && !x->shape.empty()) return of_macs(x->shape.back());

  // Holds the arithmetic per element; comparisons (Relu, Clip, MaxPool) and special functions do
  // not count.
  struct Cost {
    const char* op_type;
    int64_t per_output;
    int64_t per_input;
  };
  static constexpr Cost kCosts[] = {
      {"Add", 1, 0},
      {"Sub", 1, 0},
      {"Mul", 1, 0},
      {"Div", 1, 0},
      {"BatchNormalization", 2, 0},  // folded: a scale and an offset
      {"Sigmoid", 2, 0},             // without its exponential
      {"Softmax", 0, 3},             // without the maximum; the sum, and the quotient
      {"LayerNormalization", 0, 7},  // mean 1, variance 3, normalise 1, scale and offset 2
      {"GlobalAveragePool", 0, 1},
      {"ReduceMean", 0, 1},
      {"ReduceSum", 0, 1},
  };
  if (y->dtype != kFloat32 && y->dtype != kFloat16 && y->dtype != kFloat64) return {};
  for (const Cost& cost : kCosts) {
    if (op != cost.op_type) continue;
    return {0, saturating_sum(saturating_product(cost.per_output, elements),
                              saturating_product(cost.per_input, x->elements()))};
  }
  if (op == "AveragePool") {
    return {0, saturating_product(elements, product(node.integers("kernel_shape")))};
  }
  return {};
}

ParameterCount count_parameters(const Graph& graph) {
  std::set<std::string> statistics;
  for (const Node& node : graph.nodes) {
    if (node.op_type != "BatchNormalization" || node.inputs.size() < 5) continue;
    statistics.insert({node.inputs[3], node.inputs[4]});
  }
  ParameterCount count;
  for (const Tensor& tensor : graph.initializers) {
    const bool is_float =
        tensor.dtype == kFloat32 || tensor.dtype == kFloat16 || tensor.dtype == kFloat64;
    if (!is_float) continue;
    int64_t& kind = statistics.count(tensor.name) > 0 ? count.statistics : count.learned;
    kind =
        saturating_sum(kind, static_cast<int64_t>(std::min<uint64_t>(tensor.elements, INT64_MAX)));
  }
  return count;
}

}  // namespace xsp::formats
