// Divergence: how much the outputs of two models differ on the same inputs, and which layer differs
// first. The models are one model in two frameworks, precisions or versions.
//
// The inputs are made up for A, or made of a data set's items by A's pipeline, and given to B,
// converted to its types. If an item has windows, B gets the states that A has.
//
// Outputs belong together by name, or by position if a name is missing. Their differences come from
// the models as they are. Layers can be compared if both models are ONNX files whose inner tensors
// have the same names: a second pair of processes runs copies in which these tensors are outputs,
// too. A runtime may fuse fewer layers there, so the layers show where a difference comes from, and
// the outputs how large it is.
//
// Thread rule: everything happens on the calling thread.
#ifndef XSP_DESK_DIVERGENCE_DIVERGENCE_H_
#define XSP_DESK_DIVERGENCE_DIVERGENCE_H_

#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "desk/divergence/difference.h"
#include "desk/experiment/experiment.h"
#include "shared/base/result.h"

namespace xsp::divergence {

struct Settings {
  std::array<experiment::Request, 2> sides;  // their plans and outputs are not used
  int sets = 4;                              // of inputs, each from a seed of its own
  // Files that the inputs are made of, by the pipeline of A's worker, and how many are one batch.
  // Empty: the inputs are made up.
  std::vector<std::string> items;
  size_t batch = 1;
  bool wants_layers = true;
  double tolerance = 1e-3;  // relative difference from which a layer counts as one that differs
};

// A tensor of A and the one of B that it is compared with.
struct Compared {
  std::string tensor;    // its name in A
  std::string tensor_b;  // its name in B
  std::string layer;     // the layer that makes it, and the layer's type; empty: an output
  std::string type;
  std::string dtype;
  std::string dtype_b;
  Difference difference;
  std::string worst;         // the inputs with the largest difference: their file, or "set 2"
  std::string not_compared;  // why there is no difference; empty: there is
  // The largest relative difference of the layer's inputs, as far as they are compared.
  double inputs_rms_relative = 0;
};

struct Divergence {
  std::vector<Compared> outputs;    // in A's order
  std::vector<Compared> layers;     // in A's order of execution
  std::string layers_not_compared;  // why there are none; empty: there are
  std::optional<size_t> first;      // the layer that differs first: its inputs do not
};

Result<Divergence> compare_outputs(const Settings& settings, experiment::Listener& listener,
                                   const std::atomic<int>& stop);

}  // namespace xsp::divergence

#endif  // XSP_DESK_DIVERGENCE_DIVERGENCE_H_
