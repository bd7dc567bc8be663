// The execution providers of ONNX Runtime: which one fits a device, and how a session gets one.
#ifndef XSP_ADAPTERS_ONNXRUNTIME_PROVIDERS_H_
#define XSP_ADAPTERS_ONNXRUNTIME_PROVIDERS_H_

#include <onnxruntime_c_api.h>

#include <string>
#include <string_view>

#include "adapters/onnxruntime/library.h"

namespace xsp::ort {

// Full names.
constexpr const char* kCpu = "CPUExecutionProvider";
constexpr const char* kCuda = "CUDAExecutionProvider";
constexpr const char* kTensorRt = "TensorrtExecutionProvider";

// Returns a provider's name without its ending, "CUDA".
std::string_view brief_name(std::string_view provider);

// The device names what is measured, so a provider that runs elsewhere is refused. Returns why,
// with the remedy, "runs on NVIDIA's GPUs, and the device is cpu: use --device cuda"; empty if it
// fits.
std::string misfit(std::string_view provider, const std::string& device);

// Keeps the first problem of several calls.
class Calls {
 public:
  explicit Calls(const OrtApi* api) : api_(api) {}
  void operator()(OrtStatus* status) {
    const Problem problem = take(api_, status);
    if (!first_) first_ = problem;
  }
  const Problem& first() const { return first_; }

 private:
  const OrtApi* api_;
  Problem first_;
};

// Lets a session run by a provider, on a GPU of this number if it is for NVIDIA's.
void add_provider(const OrtApi* api, OrtSessionOptions* options, const std::string& provider,
                  int cuda_device, Calls* calls);

}  // namespace xsp::ort

#endif  // XSP_ADAPTERS_ONNXRUNTIME_PROVIDERS_H_
