// Tells a user who waits for an inference in which torch compiles.
//
// TorchScript compiles fused kernels for a GPU in the second inference of each shape. Its compiler
// nests the conditions that tell the parts of a concatenation apart, and simplifies each within all
// others, so that networks that concatenate much take minutes (DenseNet-121, H200: a stack of
// IRSimplifier over IfThenElse). torch says nothing meanwhile.
#ifndef XSP_ADAPTERS_TORCH_LONG_RUN_H_
#define XSP_ADAPTERS_TORCH_LONG_RUN_H_

#include <chrono>
#include <string>
#include <thread>

#include "xsp/plugin.h"

namespace xsp::torch_adapter {

// Reports a note if it lives longer than `after`. `host` outlives it.
class LongRunNote {
 public:
  LongRunNote(const xsp_host* host, std::string text, std::chrono::milliseconds after);

 private:
  std::jthread waits_;  // its destructor asks it to end, and waits for that
};

}  // namespace xsp::torch_adapter

#endif  // XSP_ADAPTERS_TORCH_LONG_RUN_H_
