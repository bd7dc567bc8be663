// One inference as a CUDA graph: captured once, then replayed without the host's work.
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

// Was the adapter built with CUDA's headers, against a torch that has CUDA?
bool has_device_graphs();
// Captures what `work` puts on the device. Throws what torch throws.
std::unique_ptr<DeviceGraph> capture(int device, const std::function<void()>& work);

}  // namespace xsp::torch_adapter

#endif  // XSP_ADAPTERS_TORCH_DEVICE_GRAPH_H_
