// The adapter's options: `xsp profile --option KEY=VALUE`.
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
  std::optional<bool> tf32;             // float32 products on tensor cores; else as torch does it
  bool nested = false;                  // layers within layers: the operators that operators call
  double repeat_s = 1.3;                // how long layers are repeated each, for their energy
  std::string dtype;      // float32, float16 or bfloat16: convert the model; "": as it is
  std::string signature;  // in place of the file's (signature.h)
  std::vector<std::string> libraries;  // with operators of their own: loaded first, in this order
};

// An empty text is good; else it is what is wrong, and what to do.
std::string parse_options(const xsp_open_options& given, Options* options);

}  // namespace xsp::torch_adapter

#endif  // XSP_ADAPTERS_TORCH_OPTIONS_H_
