#include "formats/mxnet/writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>
#include <unordered_map>
#include <utility>

#include "formats/image_nodes.h"

namespace xsp::formats {
namespace {

// Numbers of the file of parameters, of an array in it, of the CPU, and of float32.
constexpr uint64_t kListMagic = 0x112;
constexpr uint32_t kArrayMagic = 0xF993FAC9;
constexpr int32_t kDense = 0;
constexpr int32_t kCpu = 1;
constexpr int32_t kFloat = 0;

std::string pair(const std::array<int64_t, 2>& sizes) {
  return "(" + std::to_string(sizes[0]) + ", " + std::to_string(sizes[1]) + ")";
}

// Returns the shortest text that represents exactly this number.
std::string number(float value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

using Attributes = std::map<std::string, std::string>;

class Converter {
 public:
  explicit Converter(const Graph& graph) : graph_(graph), constants_(scalar_constants(graph)) {
    for (size_t i = 0; i < graph.initializers.size(); ++i) {
      weights_[graph.initializers[i].name] = i;
    }
  }

  Status convert();
  std::string symbol() const;
  std::vector<Piece> params() const;

 private:
  using Rule = Status (Converter::*)(const Node&);
  static const std::unordered_map<std::string, Rule>& rules();

  Error refuse(const Node& node, const std::string& why) const {
    return failed(graph_.name + ": its layer '" + node.name +
                  "' cannot be said in MXNet's format: " + why + ": build it as ONNX");
  }
  // Returns the index of the node that makes a value, or that of a new variable if no node has made
  // it yet.
  size_t place_of(const std::string& value, const char* kind) {
    const auto known = places_.find(value);
    if (known != places_.end()) return known->second;
    const auto weight = weights_.find(value);
    if (weight != weights_.end()) parameters_.emplace_back(kind + value, weight->second);
    variables_.push_back(nodes_.size());
    put("null", value, {}, {});
    return places_[value] = nodes_.size() - 1;
  }
  void put(const std::string& op, const std::string& name, const std::vector<size_t>& inputs,
           const Attributes& attributes);
  void add(const Node& node, const std::string& op, const Attributes& attributes, size_t inputs);

  Status convolution(const Node& node);
  Status batch_norm(const Node& node);
  Status pooling(const Node& node);
  Status fully_connected(const Node& node);
  Status sum(const Node& node);
  Status relu6(const Node& node);
  Status concat(const Node& node);
  Status relu(const Node& node) {
    add(node, "Activation", {{"act_type", "relu"}}, 1);
    return Ok{};
  }
  Status flatten(const Node& node) {
    add(node, "Flatten", {}, 1);
    return Ok{};
  }
  Status softmax(const Node& node) {
    add(node, "softmax", {}, 1);
    return Ok{};
  }
  Status nothing(const Node&) { return Ok{}; }

  const Graph& graph_;
  std::map<std::string, float> constants_;
  std::unordered_map<std::string, size_t> weights_;
  std::unordered_map<std::string, size_t> places_;  // index of the node that makes a value
  std::vector<std::string> nodes_;                  // as JSON
  std::vector<size_t> variables_;
  std::vector<std::pair<std::string, size_t>> parameters_;  // "arg:NAME", initializer
};

const std::unordered_map<std::string, Converter::Rule>& Converter::rules() {
  static const std::unordered_map<std::string, Rule> all = {
      {"Conv", &Converter::convolution},
      {"BatchNormalization", &Converter::batch_norm},
      {"MaxPool", &Converter::pooling},
      {"AveragePool", &Converter::pooling},
      {"GlobalAveragePool", &Converter::pooling},
      {"Gemm", &Converter::fully_connected},
      {"Add", &Converter::sum},
      {"Clip", &Converter::relu6},
      {"Concat", &Converter::concat},
      {"Relu", &Converter::relu},
      {"Flatten", &Converter::flatten},
      {"Softmax", &Converter::softmax},
      {"Constant", &Converter::nothing},
  };
  return all;
}

void Converter::put(const std::string& op, const std::string& name,
                    const std::vector<size_t>& inputs, const Attributes& attributes) {
  std::string text = "{\"op\": " + quoted(op) + ", \"name\": " + quoted(name);
  if (!attributes.empty()) {
    std::string list;
    for (const auto& [key, value] : attributes) {
      list += (list.empty() ? "" : ", ") + quoted(key) + ": " + quoted(value);
    }
    text += ", \"attrs\": {" + list + "}";
  }
  std::string list;
  for (const size_t input : inputs) {
    list += (list.empty() ? "[" : ", [") + std::to_string(input) + ", 0, 0]";
  }
  nodes_.push_back(text + ", \"inputs\": [" + list + "]}");
}

// Adds an operator on the first `inputs` inputs of the node.
void Converter::add(const Node& node, const std::string& op, const Attributes& attributes,
                    size_t inputs) {
  std::vector<size_t> places;
  for (size_t i = 0; i < inputs; ++i) {
    // Means and variances are state that training changes.
    const bool is_state = op == "BatchNorm" && i >= 3;
    places.push_back(place_of(node.inputs[i], is_state ? "aux:" : "arg:"));
  }
  put(op, node.name, places, attributes);
  places_[node.outputs[0]] = nodes_.size() - 1;
}

Status Converter::convert() {
  for (const ValueInfo& input : graph_.inputs) {
    std::string shape;
    for (const Dimension& dimension : input.dimensions) {
      shape += (shape.empty() ? "" : ", ") + std::to_string(std::max<int64_t>(dimension.value, 0));
    }
    variables_.push_back(nodes_.size());
    put("null", input.name, {}, {{"__shape__", "(" + shape + ")"}});
    places_[input.name] = nodes_.size() - 1;
  }
  for (const Node& node : graph_.nodes) {
    const auto rule = rules().find(node.op_type);
    if (rule == rules().end()) return refuse(node, "no operator is like " + node.op_type);
    XSP_CHECK_OK((this->*rule->second)(node));
  }
  return Ok{};
}

Status Converter::convolution(const Node& node) {
  ImageWindow window;
  const std::string why = read_window(node, &window);
  if (!why.empty()) return refuse(node, why);
  for (const int64_t dilation : node.integers("dilations")) {
    if (dilation != 1) return refuse(node, "it is dilated");
  }
  const Tensor& weight = graph_.initializers[weights_.at(node.inputs[1])];
  add(node, "Convolution",
      {{"kernel", pair(window.kernel)},
       {"stride", pair(window.stride)},
       {"pad", pair(window.pad)},
       {"num_filter", std::to_string(weight.dimensions[0])},
       {"num_group", std::to_string(node.integer("group", 1))},
       {"no_bias", node.inputs.size() > 2 ? "False" : "True"}},
      node.inputs.size());
  return Ok{};
}

Status Converter::batch_norm(const Node& node) {
  const Attribute* epsilon = node.attribute("epsilon");
  add(node, "BatchNorm",
      {{"eps", number(epsilon == nullptr ? 1e-5f : epsilon->f)},
       {"fix_gamma", "False"},
       {"use_global_stats", "True"}},
      5);
  return Ok{};
}

Status Converter::pooling(const Node& node) {
  const std::string type = node.op_type == "MaxPool" ? "max" : "avg";
  if (node.op_type == "GlobalAveragePool") {
    add(node, "Pooling", {{"global_pool", "True"}, {"kernel", "(1, 1)"}, {"pool_type", type}}, 1);
    return Ok{};
  }
  ImageWindow window;
  const std::string why = read_window(node, &window);
  if (!why.empty()) return refuse(node, why);
  const bool counts_pad = node.integer("count_include_pad", 0) != 0;
  add(node, "Pooling",
      {{"kernel", pair(window.kernel)},
       {"stride", pair(window.stride)},
       {"pad", pair(window.pad)},
       {"pool_type", type},
       {"count_include_pad", counts_pad ? "True" : "False"}},
      1);
  return Ok{};
}

Status Converter::fully_connected(const Node& node) {
  if (node.integer("transB", 0) != 1) return refuse(node, "its weights are not transposed");
  const Tensor& weight = graph_.initializers[weights_.at(node.inputs[1])];
  add(node, "FullyConnected", {{"num_hidden", std::to_string(weight.dimensions[0])}}, 3);
  return Ok{};
}

Status Converter::sum(const Node& node) {
  for (const std::string& input : node.inputs) {
    if (weights_.count(input) != 0 || constants_.count(input) != 0) {
      return refuse(node, "it adds a weight");
    }
  }
  add(node, "elemwise_add", {}, 2);
  return Ok{};
}

Status Converter::relu6(const Node& node) {
  if (!is_relu6(node, constants_)) return refuse(node, "it clips to other bounds than 0 and 6");
  add(node, "clip", {{"a_min", "0"}, {"a_max", "6"}}, 1);
  return Ok{};
}

Status Converter::concat(const Node& node) {
  add(node, "Concat", {{"dim", "1"}, {"num_args", std::to_string(node.inputs.size())}},
      node.inputs.size());
  return Ok{};
}

std::string Converter::symbol() const {
  std::string text = "{\"nodes\": [\n";
  for (size_t i = 0; i < nodes_.size(); ++i) text += (i == 0 ? "  " : ",\n  ") + nodes_[i];
  text += "\n], \"arg_nodes\": [";
  for (size_t i = 0; i < variables_.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(variables_[i]);
  }
  text += "], \"heads\": [";
  for (size_t i = 0; i < graph_.outputs.size(); ++i) {
    text += (i == 0 ? "[" : ", [") + std::to_string(places_.at(graph_.outputs[i].name)) + ", 0, 0]";
  }
  return text + "], \"attrs\": {\"mxnet_version\": [\"int\", 10901]}}\n";
}

template <typename T>
void put_bytes(std::string* out, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out->append(bytes, sizeof value);
}

std::vector<Piece> Converter::params() const {
  std::vector<Piece> pieces;
  std::string text;
  put_bytes(&text, kListMagic);
  put_bytes(&text, uint64_t{0});
  put_bytes(&text, uint64_t{parameters_.size()});
  for (const auto& [name, weight] : parameters_) {
    const Tensor& tensor = graph_.initializers[weight];
    put_bytes(&text, kArrayMagic);
    put_bytes(&text, kDense);
    put_bytes(&text, static_cast<int32_t>(tensor.dimensions.size()));
    for (const int64_t dimension : tensor.dimensions) put_bytes(&text, dimension);
    put_bytes(&text, kCpu);
    put_bytes(&text, int32_t{0});
    put_bytes(&text, kFloat);
    pieces.push_back({std::move(text), static_cast<int64_t>(weight), tensor.bytes});
    text.clear();
  }
  put_bytes(&text, uint64_t{parameters_.size()});
  for (const auto& [name, weight] : parameters_) {
    put_bytes(&text, uint64_t{name.size()});
    text += name;
  }
  pieces.push_back({std::move(text), -1, 0});
  return pieces;
}

// Returns the common beginning of both files' names.
std::string stem_of(const std::string& path) {
  for (const std::string ending : {"-symbol.json", "-0000.params"}) {
    if (path.size() > ending.size() &&
        path.compare(path.size() - ending.size(), ending.size(), ending) == 0) {
      return path.substr(0, path.size() - ending.size());
    }
  }
  return std::filesystem::path(path).replace_extension().string();
}

}  // namespace

Result<MxnetModel> to_mxnet(const Graph& graph) {
  Converter converter(graph);
  XSP_CHECK_OK(converter.convert());
  return MxnetModel{converter.symbol(), converter.params()};
}

Status write_mxnet(const Graph& graph, const WeightSource& weights, const std::string& path,
                   const WriteOptions& options) {
  XSP_TRY(const MxnetModel model, to_mxnet(graph));
  const std::string symbol = stem_of(path) + "-symbol.json";
  // The small file comes first. It alone is no model.
  WriteOptions quiet = options;
  quiet.progress = nullptr;
  XSP_CHECK_OK(write_pieces({{model.symbol, -1, 0}}, weights, symbol, quiet));
  Status status = write_pieces(model.params, weights, stem_of(path) + "-0000.params", options);
  std::error_code error;
  if (!status.ok()) std::filesystem::remove(symbol, error);
  return status;
}

}  // namespace xsp::formats
