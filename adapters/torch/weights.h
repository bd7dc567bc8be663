// Changes a module's weights after it is read.
#ifndef XSP_ADAPTERS_TORCH_WEIGHTS_H_
#define XSP_ADAPTERS_TORCH_WEIGHTS_H_

#include <torch/csrc/jit/api/module.h>

namespace xsp::torch_adapter {

// Converts parameters and buffers of floating-point numbers, as Module.to of Python does. Refused:
// torch::jit::Module::to, which converts integers, too, such as the positions of a language model.
void convert_weights(torch::jit::Module* module, c10::ScalarType dtype);

// Keeps the channels of parameters with four dimensions next to each other in memory.
void reorder_weights(torch::jit::Module* module);

}  // namespace xsp::torch_adapter

#endif  // XSP_ADAPTERS_TORCH_WEIGHTS_H_
