// The layers of a session: a site for every node that it executes, with its facts.
#ifndef XSP_ADAPTERS_ONNXRUNTIME_LAYERS_H_
#define XSP_ADAPTERS_ONNXRUNTIME_LAYERS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "adapters/onnxruntime/profile.h"
#include "formats/onnx/blocks.h"
#include "formats/onnx/provenance.h"

namespace xsp::ort {

// Describes a tensor's type and shape.
struct Value {
  std::string dtype;  // "float32"
  std::vector<int64_t> shape;
  bool operator==(const Value&) const = default;
};

// Returns the values in the runtime's JSON; empty if it is malformed.
std::vector<Value> parse_values(std::string_view json);

// Holds the facts of an executed graph's node that a profile lacks: its weights, which the runtime
// forgets if it has packed them in another form, and the model's shapes of tensors that the runtime
// pads.
struct GraphNode {
  struct Input {
    bool is_weight = false;
    Value value;        // type and shape of a weight
    int64_t bytes = 0;  // bytes of a weight
    // The model's shape of a weight; none if it is not known.
    std::optional<std::vector<int64_t>> own_shape = std::nullopt;
    std::optional<int64_t> channels = std::nullopt;  // as in formats::Blocks
  };
  std::vector<Input> inputs;
  std::vector<std::optional<int64_t>> outputs = {};  // their channels, likewise
  // The model's own layers that the node stands for; an empty list if the runtime added it. Not
  // known for nodes in bodies of branches and loops.
  std::optional<std::vector<std::string>> sources;
  // The layers whose results it takes, by name; not known if one of them has no name.
  std::optional<std::vector<std::string>> input_layers = {};
};

// Returns all inputs of a node: those of the profile, and the weights that it left out.
std::vector<Value> complete_inputs(const std::vector<Value>& profiled, const GraphNode& node);

// Returns the layer's name: that of the first of the model's own layers that it stands for. The
// runtime names a node that it made of others after a tensor: "/out_nchwc". `node` may be null.
std::string name_of(const NodeEvent& event, const GraphNode* node);

// Holds the inputs and outputs of a node, in the shapes of the model, and in those of the runtime.
struct Tensors {
  std::vector<Value> inputs;
  std::vector<Value> outputs;
  std::vector<Value> padded_inputs;
  std::vector<Value> padded_outputs;
  bool is_known = true;          // false: some shapes may be those of padded tensors
  int64_t parameter_bytes = -1;  // -1: not reported, here and below
  int64_t activation_bytes = -1;
  int64_t output_bytes = -1;
};
// `node` may be null if it is not known.
Tensors tensors_of(const NodeEvent& event, const GraphNode* node);

class Layers {
 public:
  // Reads the executed graph, and the model's own graph, and links them. `optimized` may be empty.
  // Facts about the model as a whole go to the site `model_site`.
  void read(const std::string& model, const std::string& optimized, uint32_t model_site);

  // Returns the number of nodes of the executed graph, without those in bodies of loops and
  // branches.
  size_t node_count() const { return node_count_; }

  // Returns the site of a node's execution, which is created at the first call.
  uint32_t site(const NodeEvent& event);

 private:
  // The tensors that a graph's nodes may use, by name: its own, and those of the graphs around it.
  struct Scope {
    std::unordered_map<std::string_view, const formats::Tensor*> weights;
    std::unordered_map<std::string_view, std::string> producers;  // names of layers, as name_of
  };
  // `model` and `provenance` are null for the bodies of branches and loops.
  void add(const formats::Graph& graph, const formats::Graph* model,
           const formats::Provenance* provenance, Scope scope);
  static std::optional<std::vector<std::string>> input_layers(const formats::Node& node,
                                                              const Scope& scope);
  const GraphNode* graph_node(const NodeEvent& event);

  size_t node_count_ = 0;
  std::unordered_map<std::string, uint32_t> sites_;  // by name, index and shapes
  std::unordered_map<std::string, int> names_;       // number of sites with the name
  // By name, or by operator for nodes without a name; nodes of equal key are in the order of
  // execution.
  std::unordered_map<std::string, std::vector<GraphNode>> graph_;
  std::unordered_map<std::string, size_t> seen_;        // index of the node among those of its key
  std::unordered_map<std::string, size_t> seen_count_;  // number of nodes of a key
};

}  // namespace xsp::ort

#endif  // XSP_ADAPTERS_ONNXRUNTIME_LAYERS_H_
