#include "adapters/torch/device_graph.h"

#if XSP_TORCH_HAS_CUDA
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

namespace xsp::torch_adapter {
namespace {

class CudaGraph : public DeviceGraph {
 public:
  CudaGraph(int device, const std::function<void()>& work) {
    // torch captures on a stream of its own, because the default stream cannot be captured.
    const auto stream = c10::cuda::getStreamFromPool(false, static_cast<c10::DeviceIndex>(device));
    c10::cuda::getCurrentCUDAStream(static_cast<c10::DeviceIndex>(device)).synchronize();
    const c10::cuda::CUDAStreamGuard guard(stream);
    graph_.capture_begin();
    work();
    graph_.capture_end();
    stream.synchronize();
  }
  void replay() override { graph_.replay(); }

 private:
  at::cuda::CUDAGraph graph_;
};

}  // namespace

bool has_device_graphs() { return true; }
std::unique_ptr<DeviceGraph> capture(int device, const std::function<void()>& work) {
  return std::make_unique<CudaGraph>(device, work);
}

}  // namespace xsp::torch_adapter
#else
namespace xsp::torch_adapter {
bool has_device_graphs() { return false; }
std::unique_ptr<DeviceGraph> capture(int, const std::function<void()>&) { return nullptr; }
}  // namespace xsp::torch_adapter
#endif
