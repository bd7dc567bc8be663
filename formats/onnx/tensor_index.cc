#include "formats/onnx/tensor_index.h"

#include <algorithm>
#include <array>

namespace xsp::formats {
namespace {

// Returns false for operators whose results may differ for equal inputs; bodies of control flow are
// not compared.
bool is_comparable(const Node& node) {
  static constexpr std::array kRandom = {"RandomNormal",      "RandomNormalLike", "RandomUniform",
                                         "RandomUniformLike", "Multinomial",      "Bernoulli"};
  if (std::find(kRandom.begin(), kRandom.end(), node.op_type) != kRandom.end()) return false;
  for (const Attribute& attribute : node.attributes) {
    if (attribute.kind == AttributeKind::kUnknown || !attribute.graph.empty()) return false;
    for (const Tensor& tensor : attribute.tensor) {
      if (tensor.elements > 0 && tensor.integers.empty() && tensor.floats.empty()) return false;
    }
  }
  return true;
}

template <typename T>
void append(std::string* out, const std::vector<T>& values) {
  *out += std::to_string(values.size()) + ':';
  out->append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

void append(std::string* out, const std::string& text) {
  *out += std::to_string(text.size()) + ':' + text;
}

// Returns the same text for nodes that compute the same.
std::string signature(const Node& node, const std::vector<int32_t>& inputs) {
  std::string text;
  append(&text, node.op_type);
  append(&text, node.domain);
  append(&text, inputs);
  append(&text, std::vector<size_t>{node.outputs.size()});
  for (const Attribute& attribute : node.attributes) {
    append(&text, attribute.name);
    append(&text, attribute.s);
    append(&text, std::vector<int64_t>{static_cast<int64_t>(attribute.kind), attribute.i});
    append(&text, std::vector<float>{attribute.f});
    append(&text, attribute.floats);
    append(&text, attribute.ints);
    for (const std::string& s : attribute.strings) append(&text, s);
    for (const Tensor& tensor : attribute.tensor) {
      append(&text, tensor.dimensions);
      append(&text, std::vector<int32_t>{tensor.dtype});
      append(&text, tensor.integers);
      append(&text, tensor.floats);
    }
  }
  return text;
}

}  // namespace

int32_t TensorIndex::intern(const std::string& name) {
  if (name.empty()) return kNone;
  const auto [found, is_new] = ids_.emplace(name, static_cast<int32_t>(tensors_.size()));
  if (is_new) tensors_.emplace_back();
  return found->second;
}

void TensorIndex::add_node(const Graph& graph, size_t index,
                           std::unordered_map<std::string, int32_t>* seen) {
  const Node& node = graph.nodes[index];
  const int32_t number = static_cast<int32_t>(index);
  NodeFacts facts;
  for (const std::string& input : node.inputs) {
    const int32_t id = intern(input);
    if (id != kNone) facts.inputs.push_back(id);
  }
  facts.is_constant = is_comparable(node) &&
                      (!facts.inputs.empty() || node.op_type == "Constant") &&
                      std::all_of(facts.inputs.begin(), facts.inputs.end(),
                                  [&](int32_t id) { return is_constant(id); });
  equal_.push_back(number);
  if (!node.name.empty()) {
    const auto [known, is_new] = names_.emplace(node.name, number);
    if (!is_new) known->second = kNone;
  }
  const auto first = is_comparable(node)
                         ? seen->emplace(signature(node, facts.inputs), number).first
                         : seen->end();
  if (first != seen->end() && first->second != number) {
    equal_.back() = first->second;
    const std::vector<int32_t> same = nodes_[static_cast<size_t>(first->second)].outputs;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.outputs[i].empty()) ids_.emplace(node.outputs[i], same[i]);
    }
    nodes_.emplace_back();
    return;
  }
  for (const std::string& output : node.outputs) {
    const int32_t id = intern(output);
    facts.outputs.push_back(id);
    if (id == kNone) continue;
    tensors_[static_cast<size_t>(id)].producer = number;
    tensors_[static_cast<size_t>(id)].is_constant = facts.is_constant;
  }
  for (const int32_t input : facts.inputs) {
    std::vector<int32_t>& readers = tensors_[static_cast<size_t>(input)].readers;
    if (readers.empty() || readers.back() != number) readers.push_back(number);
  }
  nodes_.push_back(std::move(facts));
}

TensorIndex::TensorIndex(const Graph& graph) {
  for (const ValueInfo& input : graph.inputs) intern(input.name);
  for (const Tensor& tensor : graph.initializers) {
    const int32_t id = intern(tensor.name);
    if (id != kNone) tensors_[static_cast<size_t>(id)].is_constant = true;
  }
  std::unordered_map<std::string, int32_t> seen;
  for (size_t i = 0; i < graph.nodes.size(); ++i) add_node(graph, i, &seen);
  for (const ValueInfo& output : graph.outputs) {
    const int32_t id = tensor(output.name);
    if (id != kNone) tensors_[static_cast<size_t>(id)].is_graph_output = true;
  }
}

int32_t TensorIndex::tensor(const std::string& name) const {
  const auto found = ids_.find(name);
  return found != ids_.end() ? found->second : kNone;
}

int32_t TensorIndex::producer(int32_t tensor) const {
  return tensors_[static_cast<size_t>(tensor)].producer;
}

int32_t TensorIndex::node_named(const std::string& name) const {
  const auto found = names_.find(name);
  return found != names_.end() ? found->second : kNone;
}

const std::vector<int32_t>& TensorIndex::inputs(int32_t node) const {
  return nodes_[static_cast<size_t>(node)].inputs;
}

const std::vector<int32_t>& TensorIndex::outputs(int32_t node) const {
  return nodes_[static_cast<size_t>(node)].outputs;
}

const std::vector<int32_t>& TensorIndex::readers(int32_t tensor) const {
  return tensors_[static_cast<size_t>(tensor)].readers;
}

bool TensorIndex::is_constant_node(int32_t node) const {
  return nodes_[static_cast<size_t>(node)].is_constant;
}

bool TensorIndex::is_constant(int32_t tensor) const {
  return tensors_[static_cast<size_t>(tensor)].is_constant;
}

bool TensorIndex::is_graph_output(int32_t tensor) const {
  return tensors_[static_cast<size_t>(tensor)].is_graph_output;
}

}  // namespace xsp::formats
