// Converts one graph to the other: the values that exist already, and a rule for each of ONNX's
// operators.
#ifndef XSP_FORMATS_TENSORFLOW_CONVERTER_H_
#define XSP_FORMATS_TENSORFLOW_CONVERTER_H_

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "formats/onnx/shapes.h"
#include "formats/tensorflow/convert.h"
#include "formats/tensorflow/nodes.h"

namespace xsp::formats::tf {

// Holds the place of a value of the ONNX graph in the new one.
struct Place {
  std::string tensor;
  bool is_channels_last = false;  // an image whose axes are in TensorFlow's order
};

inline Type type_of(int32_t dtype) { return dtype == formats::kInt64 ? tf::kInt64 : kFloat; }

class Converter {
 public:
  Converter(const Graph& graph, const KnownValues& values) : graph_(graph), values_(values) {
    for (size_t i = 0; i < graph.initializers.size(); ++i) {
      weights_.emplace(graph.initializers[i].name, i);
    }
    for (const Node& node : graph.nodes) {
      if (node.op_type == "Constant") constants_.emplace(node.outputs[0], &node);
    }
  }

  Status convert();
  Converted take() { return {text_.finish(), std::move(filters_)}; }

 private:
  using Rule = Status (Converter::*)(const Node&);
  static const std::unordered_map<std::string, Rule>& rules();

  // ---- Building blocks of the rules
  Error refuse(const Node& node, const std::string& why) const {
    return failed(graph_.name + ": its layer '" + node.name +
                  "' cannot be said in TensorFlow's format: " + why + ": build it as ONNX");
  }
  size_t rank(const std::string& value) const { return values_.at(value).shape.size(); }
  Type type(const std::string& value) const { return type_of(values_.at(value).dtype); }
  const Tensor* constant(const std::string& value) const {
    const auto found = constants_.find(value);
    return found == constants_.end() ? nullptr : &found->second->attribute("value")->tensor[0];
  }
  // Return the tensor of a value in ONNX's order of axes, or in TensorFlow's.
  std::string plain(const std::string& value) { return in_order(value, false); }
  std::string image(const std::string& value) { return in_order(value, true); }
  std::string in_order(const std::string& value, bool channels_last);
  std::string write_constant(const std::string& value);
  // Writes a matrix of weights that is used once, with its axes exchanged, under its own name.
  // Returns false if the value is none.
  bool write_transposed(const std::string& value);
  // Writes a small constant beside a node: "NODE/PART".
  std::string integers(const Node& node, const std::string& part, Type type,
                       const std::vector<int64_t>& values, bool is_scalar = false) {
    const std::string name = node.name + "/" + part;
    std::vector<int64_t> dimensions;
    if (!is_scalar) dimensions.push_back(static_cast<int64_t>(values.size()));
    text_.constant(name, type, dimensions, values);
    return name;
  }
  void made(const Node& node, bool channels_last = false) {
    places_[node.outputs[0]] = {node.name, channels_last};
  }
  std::string transpose(const std::string& name, const std::string& tensor, Type type,
                        const std::vector<int64_t>& order);
  std::string binary(const std::string& name, const char* op, const std::string& a,
                     const std::string& b) {
    text_.add(NodeText(name, op, {a, b}).type("T", kFloat));
    return name;
  }
  std::string mean(const std::string& name, const std::string& x, const std::string& axes) {
    text_.add(NodeText(name, "Mean", {x, axes})
                  .type("T", kFloat)
                  .type("Tidx", kInt32)
                  .flag("keep_dims", true));
    return name;
  }
  void pad(NodeText* text, const std::vector<int64_t>& pads);

  // ---- The rules: for images in convert_images.cc, for sequences in convert_sequences.cc
  Status skip(const Node&) { return Ok{}; }
  Status conv(const Node& node);
  Status batch_normalization(const Node& node);
  Status pool(const Node& node);
  Status global_average_pool(const Node& node);
  Status flatten(const Node& node);
  Status gemm(const Node& node);
  Status matmul(const Node& node);
  Status unary(const Node& node);
  Status elementwise(const Node& node);
  Status clip(const Node& node);
  Status concat(const Node& node);
  Status reshape(const Node& node);
  Status permute(const Node& node);
  Status gather(const Node& node);
  Status slice(const Node& node);
  Status shape(const Node& node);
  Status unsqueeze(const Node& node);
  Status cast(const Node& node);
  Status softmax(const Node& node);
  Status layer_normalization(const Node& node);

  const Graph& graph_;
  const KnownValues& values_;
  std::unordered_map<std::string, size_t> weights_;
  std::unordered_map<std::string, const Node*> constants_;
  std::unordered_map<std::string, Place> places_;
  std::unordered_map<std::string, std::string> reordered_;  // values' tensors in the other order
  std::unordered_set<size_t> filters_;
  GraphText text_;
};

}  // namespace xsp::formats::tf

#endif  // XSP_FORMATS_TENSORFLOW_CONVERTER_H_
