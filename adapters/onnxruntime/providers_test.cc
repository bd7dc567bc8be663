#include "adapters/onnxruntime/providers.h"

#include <gtest/gtest.h>

#include <string>

namespace xsp::ort {
namespace {

TEST(OnnxRuntimeProviders, EachRunsOnTheDeviceThatIsNamed) {
  for (const char* provider : {kCpu, "XnnpackExecutionProvider", "OpenVINOExecutionProvider"}) {
    EXPECT_EQ(misfit(provider, "cpu"), "") << provider;
    EXPECT_EQ(misfit(provider, "cuda:1"), "does not run on cuda:1: use --device cpu") << provider;
  }
  for (const char* provider : {kCuda, kTensorRt}) {
    EXPECT_EQ(misfit(provider, "cuda"), "") << provider;
    EXPECT_EQ(misfit(provider, "cuda:1"), "") << provider;
    EXPECT_NE(misfit(provider, "cpu").find("use --device cuda"), std::string::npos) << provider;
  }
}

// The fake library notes its calls here: "TensorRT device_id=1, TensorRT, ".
std::string told;

OrtApi fake_api() {
  static int tensorrt = 0;
  static int cuda = 0;
  OrtApi api{};
  api.CreateTensorRTProviderOptions = [](OrtTensorRTProviderOptionsV2** made) noexcept {
    *made = reinterpret_cast<OrtTensorRTProviderOptionsV2*>(&tensorrt);
    return static_cast<OrtStatus*>(nullptr);
  };
  api.UpdateTensorRTProviderOptions = [](OrtTensorRTProviderOptionsV2*, const char* const* keys,
                                         const char* const* values, size_t count) noexcept {
    for (size_t i = 0; i < count; ++i) {
      told += std::string("TensorRT ") + keys[i] + "=" + values[i] + ", ";
    }
    return static_cast<OrtStatus*>(nullptr);
  };
  api.SessionOptionsAppendExecutionProvider_TensorRT_V2 =
      [](OrtSessionOptions*, const OrtTensorRTProviderOptionsV2*) noexcept {
        told += "TensorRT, ";
        return static_cast<OrtStatus*>(nullptr);
      };
  api.ReleaseTensorRTProviderOptions = [](OrtTensorRTProviderOptionsV2*) noexcept {};
  api.CreateCUDAProviderOptions = [](OrtCUDAProviderOptionsV2** made) noexcept {
    *made = reinterpret_cast<OrtCUDAProviderOptionsV2*>(&cuda);
    return static_cast<OrtStatus*>(nullptr);
  };
  api.UpdateCUDAProviderOptions = [](OrtCUDAProviderOptionsV2*, const char* const* keys,
                                     const char* const* values, size_t count) noexcept {
    for (size_t i = 0; i < count; ++i) {
      told += std::string("CUDA ") + keys[i] + "=" + values[i] + ", ";
    }
    return static_cast<OrtStatus*>(nullptr);
  };
  api.SessionOptionsAppendExecutionProvider_CUDA_V2 = [](OrtSessionOptions*,
                                                         const OrtCUDAProviderOptionsV2*) noexcept {
    told += "CUDA, ";
    return static_cast<OrtStatus*>(nullptr);
  };
  api.ReleaseCUDAProviderOptions = [](OrtCUDAProviderOptionsV2*) noexcept {};
  api.SessionOptionsAppendExecutionProvider = [](OrtSessionOptions*, const char* name,
                                                 const char* const*, const char* const*,
                                                 size_t) noexcept {
    told += std::string(name) + ", ";
    return static_cast<OrtStatus*>(nullptr);
  };
  return api;
}

std::string told_for(const std::string& provider, int device) {
  const OrtApi api = fake_api();
  Calls calls(&api);
  told.clear();
  add_provider(&api, nullptr, provider, device, &calls);
  EXPECT_FALSE(calls.first());
  return told;
}

TEST(OnnxRuntimeProviders, TheGpuIsTheOneThatIsNamed) {
  EXPECT_EQ(told_for(kCuda, 2), "CUDA device_id=2, CUDA, ");
  EXPECT_EQ(told_for(kTensorRt, 1), "TensorRT device_id=1, TensorRT, CUDA device_id=1, CUDA, ");
  EXPECT_EQ(told_for(kCpu, 0), "");
  EXPECT_EQ(told_for("XnnpackExecutionProvider", 0), "Xnnpack, ");
}

}  // namespace
}  // namespace xsp::ort
