// Tensors, as a model takes them.
#ifndef XSP_ADAPTERS_TORCH_TENSORS_H_
#define XSP_ADAPTERS_TORCH_TENSORS_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <string>

#include "adapters/torch/signature.h"
#include "xsp/plugin.h"

namespace xsp::torch_adapter {

// Returns a copy on the device; of four dimensions, with the channels last if that is asked for.
at::Tensor as_input(const xsp_tensor& tensor, c10::Device device, bool channels_last);

// Returns a result as an input: on the device, and contiguous, which a package supposes. It is the
// same tensor if it is so already.
at::Tensor as_input(const at::Tensor& result, c10::Device device);

// Returns why a result does not suit an input; empty: it does.
std::string mismatch(const Port& port, const at::Tensor& result);

}  // namespace xsp::torch_adapter

#endif  // XSP_ADAPTERS_TORCH_TENSORS_H_
