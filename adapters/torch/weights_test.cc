#include "adapters/torch/weights.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

namespace xsp::torch_adapter {
namespace {

TEST(TorchWeights, IntegersStayWhatTheyAre) {
  const c10::InferenceMode inference;  // as the adapter opens files
  torch::jit::Module inner("inner");
  inner.register_parameter("weight", at::ones({2, 2}), false);
  inner.register_buffer("positions", at::arange(4, at::kLong));
  inner.register_buffer("mean", at::ones({2}));
  torch::jit::Module module("module");
  module.register_module("inner", inner);
  convert_weights(&module, c10::ScalarType::Half);
  EXPECT_EQ(inner.attr("weight").toTensor().scalar_type(), c10::ScalarType::Half);
  EXPECT_EQ(inner.attr("mean").toTensor().scalar_type(), c10::ScalarType::Half);
  EXPECT_EQ(inner.attr("positions").toTensor().scalar_type(), c10::ScalarType::Long);
}

TEST(TorchWeights, ChannelsLieNextToEachOther) {
  torch::jit::Module module("module");
  module.register_parameter("kernel", at::ones({4, 3, 2, 2}), false);
  reorder_weights(&module);
  EXPECT_TRUE(module.attr("kernel").toTensor().is_contiguous(at::MemoryFormat::ChannelsLast));
}

}  // namespace
}  // namespace xsp::torch_adapter
