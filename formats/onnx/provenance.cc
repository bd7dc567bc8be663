#include "formats/onnx/provenance.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <unordered_map>

#include "formats/onnx/tensor_index.h"

namespace xsp::formats {
namespace {

// Returns "norm1/out" for "norm1/out_bn_nchwc_token_12", a name that the runtime made from one of
// the model's by appending words.
std::string without_added_word(const std::string& name) {
  static constexpr std::array<std::string_view, 4> kWords = {"nchwc", "nhwc", "bn", "token"};
  const size_t underscore = name.rfind('_');
  if (underscore == std::string::npos) return "";
  const std::string_view word = std::string_view(name).substr(underscore + 1);
  const bool is_number = word.find_first_not_of("0123456789") == std::string_view::npos;
  const bool is_known = std::find(kWords.begin(), kWords.end(), word) != kWords.end();
  return is_number || is_known ? name.substr(0, underscore) : "";
}

// Returns true for nodes that only change a tensor's layout or place.
bool moves_data(const Node& node) {
  static constexpr std::array kMoves = {"ReorderInput", "ReorderOutput", "MemcpyFromHost",
                                        "MemcpyToHost"};
  return std::find(kMoves.begin(), kMoves.end(), node.op_type) != kMoves.end();
}

// Returns true for operators that runtimes append to a convolution or matrix product.
bool is_appendable(const Node& node) {
  static constexpr std::array kOperators = {
      "Add",         "Sum",       "Relu", "Clip",    "Sigmoid", "Tanh",     "LeakyRelu",
      "HardSigmoid", "HardSwish", "Elu",  "Dropout", "Cast",    "Identity", "Gelu"};
  return std::find(kOperators.begin(), kOperators.end(), node.op_type) != kOperators.end();
}

class Tracer {
 public:
  Tracer(const Graph& model, const Graph& optimised)
      : model_(model),
        optimised_(optimised),
        index_(model),
        claimed_(model.nodes.size(), false),
        makers_(model.nodes.size()) {}

  Provenance trace();

 private:
  std::vector<int32_t> anchors(const Node& node) const;
  int32_t extended(const Node& node, int32_t tensor) const;
  bool reads(const Node& node, int32_t tensor) const;
  void place_outputs(const Node& node, const std::vector<int32_t>& anchors);
  void walk_back(size_t executed);
  void fold(const std::string& initializer);
  Provenance result();

  const Graph& model_;
  const Graph& optimised_;
  TensorIndex index_;
  std::vector<bool> claimed_;  // nodes of the model that have an output which some executed node
                               // has by name
  std::vector<std::vector<size_t>> makers_;  // for each node of the model: the nodes that execute
                                             // it
  std::set<int32_t> folded_;
  // Maps tensors of the optimised graph to tensors of the model.
  std::unordered_map<std::string, int32_t> placed_;
  std::set<int32_t> made_;  // tensors of the model that executed nodes make, or that became weights
};

// Returns the model's tensors for a node's outputs, as far as names determine them; else kNone.
std::vector<int32_t> Tracer::anchors(const Node& node) const {
  std::vector<int32_t> found;
  int32_t by_name = index_.node_named(node.name);
  if (by_name != kNone && model_.nodes[static_cast<size_t>(by_name)].op_type != node.op_type) {
    by_name = kNone;
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    int32_t tensor = index_.tensor(node.outputs[i]);
    if (tensor == kNone && by_name != kNone) {
      const std::vector<int32_t>& outputs =
          index_.outputs(index_.first_equal(static_cast<size_t>(by_name)));
      if (i < outputs.size()) tensor = outputs[i];
    }
    if (tensor == kNone && i == 0 && !moves_data(node)) {
      std::string name = without_added_word(node.name);
      while (!name.empty() && index_.tensor(name) == kNone) name = without_added_word(name);
      tensor = index_.tensor(name);
    }
    found.push_back(tensor != kNone && index_.producer(tensor) != kNone ? tensor : kNone);
  }
  return found;
}

bool Tracer::reads(const Node& node, int32_t tensor) const {
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](const std::string& input) {
    const auto found = placed_.find(input);
    return found != placed_.end() && found->second == tensor;
  });
}

// The runtime names a fused node after its first part if it also changes the layout. An appended
// node is recognised by three properties: no other node reads the tensor, no other node computes
// the operator, and its other inputs are the node's own.
int32_t Tracer::extended(const Node& node, int32_t tensor) const {
  for (;;) {
    const std::vector<int32_t>& readers = index_.readers(tensor);
    if (readers.size() != 1 || index_.is_graph_output(tensor)) return tensor;
    const int32_t reader = readers[0];
    if (claimed_[static_cast<size_t>(reader)]) return tensor;
    if (!is_appendable(model_.nodes[static_cast<size_t>(reader)])) return tensor;
    for (const int32_t input : index_.inputs(reader)) {
      if (input != tensor && !index_.is_constant(input) && !reads(node, input)) return tensor;
    }
    if (index_.outputs(reader).empty() || index_.outputs(reader)[0] == kNone) return tensor;
    tensor = index_.outputs(reader)[0];
  }
}

void Tracer::place_outputs(const Node& node, const std::vector<int32_t>& anchors) {
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const bool has_own_name = index_.tensor(node.outputs[i]) != kNone;
    int32_t tensor = anchors[i];
    if (tensor != kNone && !has_own_name) tensor = extended(node, tensor);
    if (tensor == kNone && !node.inputs.empty()) {
      // The runtime inserted this node: its output equals its input.
      const auto input = placed_.find(node.inputs[0]);
      if (input != placed_.end()) tensor = input->second;
    }
    if (tensor == kNone) continue;
    placed_[node.outputs[i]] = tensor;
    made_.insert(tensor);
  }
}

void Tracer::walk_back(size_t executed) {
  const Node& node = optimised_.nodes[executed];
  std::vector<int32_t> pending;
  for (const std::string& output : node.outputs) {
    const auto placed = placed_.find(output);
    if (placed == placed_.end() || reads(node, placed->second)) continue;
    pending.push_back(placed->second);
  }
  std::set<int32_t> visited;
  for (size_t i = 0; i < pending.size(); ++i) {
    const int32_t producer = index_.producer(pending[i]);
    if (producer == kNone || !visited.insert(producer).second) continue;
    if (index_.is_constant_node(producer)) continue;
    makers_[static_cast<size_t>(producer)].push_back(executed);
    for (const int32_t input : index_.inputs(producer)) {
      if (made_.count(input) == 0) pending.push_back(input);
    }
  }
}

// Handles a weight of the optimised graph with the name of a value that the model computes: all
// nodes that only this value needs were computed when the model was loaded.
void Tracer::fold(const std::string& initializer) {
  const int32_t tensor = index_.tensor(initializer);
  if (tensor == kNone) return;
  std::vector<int32_t> pending = {tensor};
  for (size_t i = 0; i < pending.size(); ++i) {
    const int32_t producer = index_.producer(pending[i]);
    if (producer == kNone || !makers_[static_cast<size_t>(producer)].empty()) continue;
    if (!folded_.insert(producer).second) continue;
    const std::vector<int32_t>& inputs = index_.inputs(producer);
    pending.insert(pending.end(), inputs.begin(), inputs.end());
  }
}

Provenance Tracer::trace() {
  for (const ValueInfo& input : model_.inputs) {
    const int32_t tensor = index_.tensor(input.name);
    if (tensor != kNone && !index_.is_constant(tensor)) placed_[input.name] = tensor;
  }
  std::vector<std::vector<int32_t>> all;
  for (const Node& node : optimised_.nodes) {
    all.push_back(anchors(node));
    if (moves_data(node)) continue;
    for (const int32_t tensor : all.back()) {
      if (tensor != kNone) claimed_[static_cast<size_t>(index_.producer(tensor))] = true;
    }
  }
  for (size_t i = 0; i < all.size(); ++i) place_outputs(optimised_.nodes[i], all[i]);
  for (const Tensor& tensor : optimised_.initializers) {
    if (index_.tensor(tensor.name) != kNone) made_.insert(index_.tensor(tensor.name));
  }
  for (size_t i = 0; i < all.size(); ++i) walk_back(i);
  for (const Tensor& tensor : optimised_.initializers) fold(tensor.name);
  return result();
}

Provenance Tracer::result() {
  Provenance provenance;
  provenance.stands_for.resize(optimised_.nodes.size());
  for (size_t i = 0; i < model_.nodes.size(); ++i) {
    const int32_t first = index_.first_equal(i);
    OriginalNode original;
    original.name = node_label(model_, i);
    original.executed_as = makers_[static_cast<size_t>(first)];
    for (const size_t executed : original.executed_as) {
      provenance.stands_for[executed].push_back(i);
    }
    const bool is_folded = index_.is_constant_node(first) || folded_.count(first) > 0;
    if (original.executed_as.empty()) original.fate = is_folded ? Fate::kFolded : Fate::kRemoved;
    provenance.originals.push_back(std::move(original));
  }
  for (OriginalNode& original : provenance.originals) {
    if (original.executed_as.empty()) continue;
    const bool is_alone =
        std::any_of(original.executed_as.begin(), original.executed_as.end(),
                    [&](size_t executed) { return provenance.stands_for[executed].size() == 1; });
    original.fate = is_alone ? Fate::kExecuted : Fate::kFused;
  }
  return provenance;
}

}  // namespace

std::vector<std::string> Provenance::names(size_t index) const {
  std::vector<std::string> result;
  for (const size_t original : stands_for[index]) result.push_back(originals[original].name);
  return result;
}

Provenance trace_provenance(const Graph& model, const Graph& optimised) {
  return Tracer(model, optimised).trace();
}

}  // namespace xsp::formats
