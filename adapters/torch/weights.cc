#include "adapters/torch/weights.h"

namespace xsp::torch_adapter {
namespace {

void convert(at::Tensor tensor, c10::ScalarType dtype) {
  if (tensor.is_floating_point()) tensor.set_data(tensor.to(dtype));
}

}  // namespace

void convert_weights(torch::jit::Module* module, c10::ScalarType dtype) {
  for (const at::Tensor& parameter : module->parameters()) convert(parameter, dtype);
  for (const at::Tensor& buffer : module->buffers()) convert(buffer, dtype);
}

void reorder_weights(torch::jit::Module* module) {
  for (at::Tensor parameter : module->parameters()) {
    if (parameter.dim() != 4) continue;
    parameter.set_data(parameter.contiguous(at::MemoryFormat::ChannelsLast));
  }
}

}  // namespace xsp::torch_adapter
