// Reads TensorFlow's messages: graphs, signatures, and the record of a run. Weights are skipped.
// Only the wire format of a message is relied on: a truncated message is read up to its end.
//
// Field numbers are those of tensorflow/core/framework/{graph,function,node_def,step_stats,
// tensor_description,tensor_shape}.proto and tensorflow/core/protobuf/{config,meta_graph,
// saved_model}.proto.
#ifndef XSP_ADAPTERS_TENSORFLOW_MESSAGES_H_
#define XSP_ADAPTERS_TENSORFLOW_MESSAGES_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace xsp::tf {

using Bytes = std::span<const uint8_t>;

// Describes a tensor's type (of TensorFlow's enum DataType) and shape.
struct Value {
  int type = 0;
  bool has_shape = false;  // false: not even the rank is known
  std::vector<int64_t> dimensions;

  int64_t bytes() const;  // -1: not known
  bool operator==(const Value&) const = default;
};

// Describes a node of a graph.
struct Node {
  std::string name;
  std::string op;
  // The sources of its data, as "node" or "node:1"; "^node", the order of execution, is left out.
  std::vector<std::string> inputs;
};

struct GraphDef {
  std::vector<Node> nodes;
  size_t function_nodes = 0;  // nodes of the functions that it defines
};
GraphDef read_graph(Bytes graph_def);

// Describes an input or output of a SavedModel's signature.
struct Port {
  std::string name;    // as callers know it
  std::string tensor;  // "serving_default_x:0"
  Value value;
};
struct Signature {
  std::string name;
  std::vector<Port> inputs;
  std::vector<Port> outputs;
};
struct MetaGraph {
  std::vector<std::string> tags;
  std::vector<Signature> signatures;
  Bytes graph_def;  // a part of the input bytes
};
MetaGraph read_meta_graph(Bytes meta_graph_def);
// Returns the graphs of a file saved_model.pb.
std::vector<MetaGraph> read_saved_model(Bytes saved_model);

// Describes a node's execution.
struct Execution {
  std::string_view node;  // a part of the input bytes
  // TensorFlow's text: "[cpu 1.2MB] relu1 = _FusedConv2D(x, conv1/weight:0, ^other)".
  std::string_view label;
  int64_t start_ns = 0;  // UNIX time
  int64_t end_ns = 0;
  std::vector<Value> outputs;
  int64_t allocated_bytes = -1;  // -1: not reported
};
std::string_view op_of(const Execution& execution);                   // "_FusedConv2D"
std::vector<std::string_view> inputs_of(const Execution& execution);  // "x", "conv1/weight:0"
// Returns the executions in RunMetadata.step_stats, in the order of their begins, without the
// copies under other names that a profiler of devices adds.
std::vector<Execution> read_executions(Bytes run_metadata);

}  // namespace xsp::tf

#endif  // XSP_ADAPTERS_TENSORFLOW_MESSAGES_H_
