#include "adapters/torch/tensors.h"

#include <ATen/Functions.h>

#include <cstring>

#include "adapters/torch/facts.h"
#include "xsp/plugin.hpp"

namespace xsp::torch_adapter {
namespace {

c10::ScalarType scalar_type(uint32_t dtype) {
  for (int8_t type = 0; type < static_cast<int8_t>(c10::ScalarType::NumOptions); ++type) {
    const auto candidate = static_cast<c10::ScalarType>(type);
    if (dtype_of(candidate) == dtype) return candidate;
  }
  return c10::ScalarType::Undefined;
}

}  // namespace

at::Tensor as_input(const xsp_tensor& tensor, c10::Device device, bool channels_last) {
  const c10::IntArrayRef shape(tensor.dimensions, tensor.rank);
  const c10::ScalarType type = scalar_type(tensor.dtype);
  TORCH_CHECK(type != c10::ScalarType::Undefined, "torch has no type ", dtype_name(tensor.dtype));
  at::Tensor values = at::empty(shape, at::TensorOptions().dtype(type));
  if (tensor.data_bytes > 0) std::memcpy(values.data_ptr(), tensor.data, tensor.data_bytes);
  if (channels_last && values.dim() == 4) {
    values = values.contiguous(at::MemoryFormat::ChannelsLast);
  }
  return values.to(device);
}

at::Tensor as_input(const at::Tensor& result, c10::Device device) {
  return result.to(device).contiguous();
}

std::string mismatch(const Port& port, const at::Tensor& result) {
  return mismatch(
      port, {sizeof(xsp_tensor), port.name.c_str(), dtype_of(result.scalar_type()),
             static_cast<uint32_t>(result.dim()), result.sizes().data(), nullptr, result.nbytes()});
}

}  // namespace xsp::torch_adapter
