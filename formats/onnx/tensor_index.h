// A graph's tensors as numbers: which node makes each, which nodes read it, which ones are
// constant, and which ones are equal because equal nodes make them from equal tensors.
#ifndef XSP_FORMATS_ONNX_TENSOR_INDEX_H_
#define XSP_FORMATS_ONNX_TENSOR_INDEX_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "formats/onnx/graph.h"

namespace xsp::formats {

inline constexpr int32_t kNone = -1;

// Equal tensors and equal nodes have the number of the first one.
class TensorIndex {
 public:
  explicit TensorIndex(const Graph& graph);

  int32_t tensor(const std::string& name) const;      // kNone if the graph has no such tensor
  int32_t producer(int32_t tensor) const;             // a node; kNone for inputs and initializers
  int32_t node_named(const std::string& name) const;  // kNone if no node or several have the name
  int32_t first_equal(size_t node) const { return equal_[node]; }
  const std::vector<int32_t>& inputs(int32_t node) const;
  const std::vector<int32_t>& outputs(int32_t node) const;
  const std::vector<int32_t>& readers(int32_t tensor) const;  // nodes, each once
  bool is_constant_node(int32_t node) const;
  bool is_constant(int32_t tensor) const;
  bool is_graph_output(int32_t tensor) const;

 private:
  int32_t intern(const std::string& name);
  void add_node(const Graph& graph, size_t node, std::unordered_map<std::string, int32_t>* seen);

  struct TensorFacts {
    int32_t producer = kNone;
    bool is_constant = false;
    bool is_graph_output = false;
    std::vector<int32_t> readers;
  };
  struct NodeFacts {
    std::vector<int32_t> inputs;
    std::vector<int32_t> outputs;
    bool is_constant = false;
  };

  std::unordered_map<std::string, int32_t> ids_;
  std::unordered_map<std::string, int32_t> names_;
  std::vector<TensorFacts> tensors_;
  std::vector<NodeFacts> nodes_;
  std::vector<int32_t> equal_;
};

}  // namespace xsp::formats

#endif  // XSP_FORMATS_ONNX_TENSOR_INDEX_H_
