#include <charconv>
#include <cstdio>

#include "formats/stablehlo/converter.h"

namespace xsp::formats::stablehlo {
namespace {

const char* element(int32_t dtype) {
  return dtype == kInt64 ? "i64" : dtype == kInt32 ? "i32" : dtype == kBool ? "i1" : "f32";
}

std::string number(float value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9e", static_cast<double>(value));
  return text;
}

template <typename Value, typename Text>
std::string dense(const std::vector<Value>& values, Text text) {
  if (values.size() == 1) return text(values[0]);
  std::string all = "[";
  for (const Value& value : values) all += (all.size() == 1 ? "" : ", ") + text(value);
  return all + "]";
}

}  // namespace

std::string Operand::type() const {
  std::string text = "tensor<";
  for (const int64_t size : shape) text += std::to_string(size) + "x";
  return text + element(dtype) + ">";
}

std::string list(const std::vector<int64_t>& values) {
  std::string text = "[";
  for (const int64_t value : values) text += (text.size() == 1 ? "" : ", ") + std::to_string(value);
  return text + "]";
}

Converter::Converter(const Graph& graph, const KnownValues& values)
    : graph_(graph), values_(values) {
  for (size_t i = 0; i < graph.initializers.size(); ++i) {
    weights_.emplace(graph.initializers[i].name, i);
  }
  for (const Node& node : graph.nodes) {
    if (node.op_type == "Constant") constants_.emplace(node.outputs[0], &node);
  }
}

Error Converter::refuse(const Node& node, const std::string& why) const {
  return failed(graph_.name + ": its layer '" + node.name +
                "' cannot be said in StableHLO: " + why + ": build it as ONNX");
}

std::string Converter::text(const std::string& line) {
  std::string name = "%" + std::to_string(count_++);
  pieces_.back().text += "    " + name + " = " + line + "\n";
  return name;
}

Operand Converter::emit(const Node& node, const std::string& operation, const std::string& types,
                        int32_t dtype, const Shape& shape) {
  Operand result{"", dtype, shape};
  result.name = text(operation + " : " + (types.empty() ? "" : types + " -> ") + result.type() +
                     " loc(\"" + node.name + "\")");
  return result;
}

Operand Converter::splat(const Node& node, const std::string& number, const Shape& shape) {
  return emit(node, "stablehlo.constant dense<" + number + ">", "", kFloat32, shape);
}

Operand Converter::integers(const std::vector<int64_t>& values, const Shape& shape) {
  Operand result{"", kInt64, shape};
  const auto text_of = [](int64_t value) { return std::to_string(value); };
  std::string written = dense(values, text_of);
  // A list of numbers has one axis; tensors of other ranks are reshaped from it.
  Operand flat{"", kInt64, {static_cast<int64_t>(values.size())}};
  flat.name = text("stablehlo.constant dense<" + written + "> : " + flat.type());
  if (shape == flat.shape) return flat;
  result.name =
      text("stablehlo.reshape " + flat.name + " : (" + flat.type() + ") -> " + result.type());
  return result;
}

Operand Converter::value(const std::string& name) {
  const auto found = made_.find(name);
  if (found != made_.end()) return found->second;
  const auto weight = weights_.find(name);
  const auto known = values_.find(name);
  Operand result{"", kFloat32, {}};
  if (weight != weights_.end() && graph_.initializers[weight->second].dtype == kFloat32) {
    const Tensor& tensor = graph_.initializers[weight->second];
    result.shape = tensor.dimensions;
    result.name = "%" + std::to_string(count_++);
    pieces_.back().text += "    " + result.name + " = stablehlo.constant dense<\"0x";
    pieces_.back().weight = static_cast<int64_t>(weight->second);
    pieces_.back().weight_bytes = 2 * tensor.bytes;
    pieces_.push_back({"\"> : " + result.type() + " loc(\"" + name + "\")\n"});
  } else if (weight != weights_.end()) {
    const Tensor& tensor = graph_.initializers[weight->second];
    result = integers(tensor.integers, tensor.dimensions);
  } else if (constants_.count(name) != 0 &&
             constants_.at(name)->attribute("value")->tensor[0].dtype == kFloat32) {
    const Tensor& tensor = constants_.at(name)->attribute("value")->tensor[0];
    result.shape = tensor.dimensions;
    result.name =
        text("stablehlo.constant dense<" + dense(tensor.floats, number) + "> : " + result.type());
  } else if (known != values_.end() && known->second.has_integers) {
    result = integers(known->second.integers, known->second.shape);  // follows from shapes alone
  }
  made_[name] = result;
  return result;
}

Operand Converter::unary(const Node& node, const std::string& operation, const Operand& x) {
  return emit(node, operation + " " + x.name, "", x.dtype, x.shape);
}

Operand Converter::binary(const Node& node, const std::string& operation, const Operand& a,
                          const Operand& b) {
  return emit(node, "stablehlo." + operation + " " + a.name + ", " + b.name, "", a.dtype, a.shape);
}

Operand Converter::broadcast(const Node& node, const Operand& x, const Shape& to,
                             const std::vector<int64_t>& axes) {
  if (x.shape == to) return x;
  return emit(node, "stablehlo.broadcast_in_dim " + x.name + ", dims = " + list(axes),
              "(" + x.type() + ")", x.dtype, to);
}

Operand Converter::stretch(const Node& node, const Operand& x, const Shape& to) {
  std::vector<int64_t> axes;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    axes.push_back(static_cast<int64_t>(to.size() - x.shape.size() + i));
  }
  return broadcast(node, x, to, axes);
}

Operand Converter::reshape_to(const Node& node, const Operand& x, const Shape& to) {
  if (x.shape == to) return x;
  return emit(node, "stablehlo.reshape " + x.name, "(" + x.type() + ")", x.dtype, to);
}

Operand Converter::reduce(const Node& node, const Operand& x, const std::string& operation,
                          const std::string& start, const std::vector<int64_t>& axes) {
  const Operand init = splat(node, start, {});
  Shape to;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    bool is_kept = true;
    for (const int64_t axis : axes) is_kept &= axis != static_cast<int64_t>(i);
    if (is_kept) to.push_back(x.shape[i]);
  }
  return emit(node,
              "stablehlo.reduce(" + x.name + " init: " + init.name + ") applies stablehlo." +
                  operation + " across dimensions = " + list(axes),
              "(" + x.type() + ", " + init.type() + ")", kFloat32, to);
}

const std::unordered_map<std::string, Converter::Rule>& Converter::rules() {
  static const std::unordered_map<std::string, Rule> kRules = {
      {"Constant", &Converter::skip},
      {"Conv", &Converter::conv},
      {"BatchNormalization", &Converter::batch_normalization},
      {"MaxPool", &Converter::pool},
      {"AveragePool", &Converter::pool},
      {"GlobalAveragePool", &Converter::global_average_pool},
      {"Clip", &Converter::clip},
      {"Concat", &Converter::concat},
      {"Relu", &Converter::relu},
      {"Add", &Converter::elementwise},
      {"Sub", &Converter::elementwise},
      {"Mul", &Converter::elementwise},
      {"Div", &Converter::elementwise},
      {"Pow", &Converter::elementwise},
      {"Tanh", &Converter::function},
      {"Exp", &Converter::function},
      {"Erf", &Converter::function},
      {"Flatten", &Converter::reshape},
      {"Reshape", &Converter::reshape},
      {"Unsqueeze", &Converter::reshape},
      {"Gemm", &Converter::gemm},
      {"MatMul", &Converter::matmul},
      {"Transpose", &Converter::permute},
      {"Gather", &Converter::gather},
      {"Slice", &Converter::slice},
      {"Split", &Converter::split},
      {"Cast", &Converter::cast},
      {"Softmax", &Converter::softmax},
      {"LayerNormalization", &Converter::layer_normalization},
  };
  return kRules;
}

Status Converter::convert() {
  std::string& head = pieces_.back().text;
  head = "module @" + graph_.name + " {\n  func.func public @main(";
  std::string results;
  for (const ValueInfo& input : graph_.inputs) {
    const KnownValue& known = values_.at(input.name);
    const Operand operand{"%arg" + std::to_string(made_.size()), known.dtype, known.shape};
    head += (made_.empty() ? "" : ", ") + operand.name + ": " + operand.type() + " loc(\"" +
            input.name + "\")";
    made_[input.name] = operand;
  }
  for (const ValueInfo& output : graph_.outputs) {
    const KnownValue& known = values_.at(output.name);
    const Operand operand{"", known.dtype, known.shape};
    results += (results.empty() ? "" : ", ") + operand.type();
  }
  head += ") -> (" + results + ") {\n";
  for (const Node& node : graph_.nodes) {
    const auto known = values_.find(node.outputs[0]);
    if (known == values_.end()) return refuse(node, "its shape depends on the data");
    if (known->second.has_integers) continue;  // arithmetic on shapes, which are fixed
    const auto rule = rules().find(node.op_type);
    if (rule == rules().end()) return refuse(node, "there is no rule for " + node.op_type);
    XSP_CHECK_OK((this->*rule->second)(node));
  }
  std::string names;
  for (const ValueInfo& output : graph_.outputs) {
    names += (names.empty() ? "" : ", ") + value(output.name).name;
  }
  pieces_.back().text += "    return " + names + " : " + results + "\n  }\n}\n";
  return Ok{};
}

}  // namespace xsp::formats::stablehlo
