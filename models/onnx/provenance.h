// Which of a model's own nodes an executed node stands for.
//
// Before it runs a model, a runtime fuses nodes, folds constants, merges equal nodes, and inserts
// nodes of its own. What a profile shows are the nodes after that. Given the model's graph and the
// graph that the runtime made of it (as ONNX Runtime writes it to its optimized_model_filepath),
// this ties the two together by the names of tensors, which runtimes keep where they can.
//
// How: an executed node's outputs are found in the model's graph, by name, or, where the runtime
// changed the memory layout and so the name, by the name that it gave the node. From there it is
// walked back through the model's graph, until tensors that some executed node makes, the graph's
// inputs, or constants. What lies on the way is what the executed node computes.
#ifndef XSP_MODELS_ONNX_PROVENANCE_H_
#define XSP_MODELS_ONNX_PROVENANCE_H_

#include <string>
#include <vector>

#include "models/onnx/graph.h"

namespace xsp::models {

enum class Fate {
  kExecuted,  // some executed node stands for it alone
  kFused,     // executed nodes stand for it together with others
  kFolded,    // computed once, when the model was loaded: it depends on no input
  kRemoved,   // nothing was executed for it: its result is not used, or is its input
};

struct OriginalNode {
  std::string name;  // node_label()
  Fate fate = Fate::kRemoved;
  std::vector<size_t> executed_as;  // indices of optimised nodes; empty if folded or removed
};

struct Provenance {
  // For each node of the model, in its order.
  std::vector<OriginalNode> originals;
  // For each node of the optimised graph, in its order: indices of `originals`, ascending. Empty:
  // the runtime inserted it, and it stands for nothing of the model.
  std::vector<std::vector<size_t>> stands_for;

  // The names of the originals that optimised node `index` stands for.
  std::vector<std::string> names(size_t index) const;
};

Provenance trace_provenance(const Graph& model, const Graph& optimised);

}  // namespace xsp::models

#endif  // XSP_MODELS_ONNX_PROVENANCE_H_
