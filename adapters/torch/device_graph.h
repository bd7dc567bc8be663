// One inference as a CUDA graph: it is captured once, then replayed without the host's work.
#ifndef XSP_ADAPTERS_TORCH_DEVICE_GRAPH_H_
#define XSP_ADAPTERS_TORCH_DEVICE_GRAPH_H_

#include <functional>
#include <memory>

namespace xsp::torch_adapter {

class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;
  // Starts the captured work on the current stream.
  virtual void replay() = 0;
};

// Returns whether the adapter was built with CUDA's headers, against a torch that has CUDA.
bool has_device_graphs();
// Captures the work that `work` gives to the device. Throws torch's exceptions.
std::unique_ptr<DeviceGraph> capture(int device, const std::function<void()>& work);

}  // namespace xsp::torch_adapter

#endif  // XSP_ADAPTERS_TORCH_DEVICE_GRAPH_H_
