// The layers of a session: a site for every node that it executes, with what is known of it.
#ifndef XSP_ADAPTERS_ONNXRUNTIME_LAYERS_H_
#define XSP_ADAPTERS_ONNXRUNTIME_LAYERS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "adapters/onnxruntime/profile.h"
#include "models/onnx/blocks.h"
#include "models/onnx/provenance.h"

namespace xsp::ort {

// A tensor's type and shape.
struct Value {
  std::string dtype;  // "float32"
  std::vector<int64_t> shape;
  bool operator==(const Value&) const = default;
};

// The values that the runtime's JSON tells of; empty if it is malformed.
std::vector<Value> parse_values(std::string_view json);

// A node of the graph that runs, as far as a profile lacks it: its weights, which the runtime
// forgets where it has packed them in another form, and what the model says of tensors that the
// runtime pads.
struct GraphNode {
  struct Input {
    bool is_weight = false;
    Value value;        // of a weight
    int64_t bytes = 0;  // of a weight
    // The model's shape of a weight, none: not known.
    std::optional<std::vector<int64_t>> own_shape = std::nullopt;
    std::optional<int64_t> channels = std::nullopt;  // as models::Blocks has them
  };
  std::vector<Input> inputs;
  std::vector<std::optional<int64_t>> outputs = {};  // their channels, likewise
  // The model's own layers that it stands for; none: the runtime added it. Not known of the nodes
  // in bodies of branches and loops.
  std::optional<std::vector<std::string>> sources;
};

// All inputs of a node: those of the profile, and the weights that it left out.
std::vector<Value> complete_inputs(const std::vector<Value>& profiled, const GraphNode& node);

// What a node reads and writes, in the shapes of the model, and in those of the runtime.
struct Tensors {
  std::vector<Value> inputs;
  std::vector<Value> outputs;
  std::vector<Value> padded_inputs;
  std::vector<Value> padded_outputs;
  bool is_known = true;          // false: some shapes may be those of padded tensors
  int64_t parameter_bytes = -1;  // -1: not said, here and below
  int64_t activation_bytes = -1;
  int64_t output_bytes = -1;
};
// `node` may be null: not known.
Tensors tensors_of(const NodeEvent& event, const GraphNode* node);

class Layers {
 public:
  // Reads the graph that runs, and the model's own to which it is tied. `optimized` may be empty.
  // Facts about the model as a whole go to the site `model_site`.
  void read(const std::string& model, const std::string& optimized, uint32_t model_site);

  // Nodes of the graph that runs, those of the bodies of loops and branches left out.
  size_t node_count() const { return node_count_; }

  // The site of a node's execution, made at its first mention.
  uint32_t site(const NodeEvent& event);

 private:
  using Weights = std::unordered_map<std::string_view, const models::Tensor*>;
  // `model` and `provenance` are null for the bodies of branches and loops.
  void add(const models::Graph& graph, const models::Graph* model,
           const models::Provenance* provenance, Weights weights);
  const GraphNode* graph_node(const NodeEvent& event);

  size_t node_count_ = 0;
  std::unordered_map<std::string, uint32_t> sites_;  // by name, index and shapes
  std::unordered_map<std::string, int> names_;       // how many sites have the name
  // By name, or by operator where there is no name; those of equal key in order of execution.
  std::unordered_map<std::string, std::vector<GraphNode>> graph_;
  std::unordered_map<std::string, size_t> seen_;        // node's place among those of its key
  std::unordered_map<std::string, size_t> seen_count_;  // of a key
};

}  // namespace xsp::ort

#endif  // XSP_ADAPTERS_ONNXRUNTIME_LAYERS_H_
