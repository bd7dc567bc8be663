#include "adapters/onnxruntime/providers.h"

namespace xsp::ort {
namespace {

constexpr std::string_view kSuffix = "ExecutionProvider";
constexpr const char* kDeviceKey = "device_id";

void add_cuda(const OrtApi* api, OrtSessionOptions* options, const char* device, Calls* calls) {
  OrtCUDAProviderOptionsV2* cuda = nullptr;
  (*calls)(api->CreateCUDAProviderOptions(&cuda));
  if (cuda == nullptr) return;
  (*calls)(api->UpdateCUDAProviderOptions(cuda, &kDeviceKey, &device, 1));
  (*calls)(api->SessionOptionsAppendExecutionProvider_CUDA_V2(options, cuda));
  api->ReleaseCUDAProviderOptions(cuda);
}

void add_tensorrt(const OrtApi* api, OrtSessionOptions* options, const char* device, Calls* calls) {
  OrtTensorRTProviderOptionsV2* tensorrt = nullptr;
  (*calls)(api->CreateTensorRTProviderOptions(&tensorrt));
  if (tensorrt == nullptr) return;
  (*calls)(api->UpdateTensorRTProviderOptions(tensorrt, &kDeviceKey, &device, 1));
  (*calls)(api->SessionOptionsAppendExecutionProvider_TensorRT_V2(options, tensorrt));
  api->ReleaseTensorRTProviderOptions(tensorrt);
}

}  // namespace

std::string_view brief_name(std::string_view provider) {
  return provider.substr(0, provider.size() - kSuffix.size());
}

std::string misfit(std::string_view provider, const std::string& device) {
  const bool needs_cuda = provider == kCuda || provider == kTensorRt;
  const bool is_cuda = device != "cpu";
  if (needs_cuda == is_cuda) return "";
  if (needs_cuda) return "runs on NVIDIA's GPUs, and the device is cpu: use --device cuda";
  return "does not run on " + device + ": use --device cpu";
}

void add_provider(const OrtApi* api, OrtSessionOptions* options, const std::string& provider,
                  int cuda_device, Calls* calls) {
  if (provider == kCpu) return;
  const std::string device = std::to_string(cuda_device);
  if (provider == kTensorRt) add_tensorrt(api, options, device.c_str(), calls);
  // CUDA's provider runs what TensorRT's cannot.
  if (provider == kTensorRt || provider == kCuda) {
    return add_cuda(api, options, device.c_str(), calls);
  }
  const std::string brief(brief_name(provider));
  (*calls)(api->SessionOptionsAppendExecutionProvider(options, brief.c_str(), nullptr, nullptr, 0));
}

}  // namespace xsp::ort
