// Finds a model's own nodes that an executed node stands for.
//
// Before it runs a model, a runtime fuses nodes, folds constants, merges equal nodes, and inserts
// nodes of its own. A profile shows the nodes after these changes. This takes the model's graph and
// the graph that the runtime made of it (as ONNX Runtime writes it to its
// optimized_model_filepath), and links the two by the names of tensors, which runtimes keep if they
// can.
//
// Method: an executed node's outputs are found in the model's graph by name or, if the runtime
// changed the memory layout and so the name, by the name that it gave the node. From there, the
// search goes back through the model's graph, to tensors that some executed node makes, to the
// graph's inputs, or to constants. The nodes on the way are those that the executed node computes.
#ifndef XSP_FORMATS_ONNX_PROVENANCE_H_
#define XSP_FORMATS_ONNX_PROVENANCE_H_

#include <string>
#include <vector>

#include "formats/onnx/graph.h"

namespace xsp::formats {

enum class Fate {
  kExecuted,  // a single executed node stands for it alone
  kFused,     // executed nodes stand for it together with others
  kFolded,    // computed once, when the model was loaded: it depends on no input
  kRemoved,   // not executed: its result is not used, or equals its input
};

struct OriginalNode {
  std::string name;  // node_label()
  Fate fate = Fate::kRemoved;
  std::vector<size_t> executed_as;  // indices of optimised nodes; empty if folded or removed
};

struct Provenance {
  // For each node of the model, in its order.
  std::vector<OriginalNode> originals;
  // For each node of the optimised graph, in its order: indices of `originals`, ascending. Empty if
  // the runtime inserted the node, which then stands for no node of the model.
  std::vector<std::vector<size_t>> stands_for;

  // Returns the names of the originals that optimised node `index` stands for.
  std::vector<std::string> names(size_t index) const;
};

Provenance trace_provenance(const Graph& model, const Graph& optimised);

}  // namespace xsp::formats

#endif  // XSP_FORMATS_ONNX_PROVENANCE_H_
