// The adapter's options: `xsp profile --option KEY=VALUE`.
//
// A library of operators is such an option (library=FILE, in the given order), because TorchScript
// names the operators that it needs and not their place. Refused: searching for torchvision, whose
// place and build only the user's Python knows; and a field of the plugin interface, which other
// frameworks would have to refuse.
#ifndef XSP_ADAPTERS_TORCH_OPTIONS_H_
#define XSP_ADAPTERS_TORCH_OPTIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "xsp/plugin.h"

namespace xsp::torch_adapter {

struct Options {
  bool cuda_graph = false;              // capture one inference after warm-up, then replay it
  bool freeze = false;                  // weights become constants (TorchScript)
  bool optimize_for_inference = false;  // torch::jit::optimize_for_inference; freezes as well
  bool channels_last = false;           // weights and images in the order NHWC (TorchScript)
  std::optional<bool> tf32;             // float32 products on tensor cores; else torch's default
  std::optional<bool> fuser;            // TorchScript compiles fused kernels; else torch's default
  bool nested = false;                  // layers within layers: the operators that operators call
  double repeat_s = 1.3;                // how long each layer is repeated, for its energy
  std::string dtype;      // float32, float16 or bfloat16: converts the model; "": unchanged
  std::string signature;  // replaces the file's (signature.h)
  std::string shapes;     // the user's, for a file without a signature
  std::vector<std::string> libraries;  // with more operators: loaded first, in this order
};

// Returns an empty text, or the error and its remedy.
std::string parse_options(const xsp_open_options& given, Options* options);

}  // namespace xsp::torch_adapter

#endif  // XSP_ADAPTERS_TORCH_OPTIONS_H_
