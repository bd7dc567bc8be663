// An engine that is ready to run: its execution context, and its tensors on the device.
#ifndef XSP_ADAPTERS_TENSORRT_SESSION_H_
#define XSP_ADAPTERS_TENSORRT_SESSION_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "adapters/tensorrt/builder.h"
#include "adapters/tensorrt/device.h"
#include "xsp/compiled_cache.hpp"

namespace xsp::tensorrt {

// Holds a tensor in the device's memory. If its size is not known before it is computed, TensorRT
// asks for memory by reallocateOutputAsync.
class Buffer : public nvinfer1::IOutputAllocator {
 public:
  explicit Buffer(const Device* device) : device_(device) {}
  ~Buffer() override;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  // Makes room for that many bytes. Returns why there is none; empty: there is.
  std::string reserve(size_t bytes);
  CUdeviceptr memory() const { return memory_; }
  const nvinfer1::Dims& shape() const { return shape_; }  // the last that TensorRT reported

  void* reallocateOutputAsync(const char* name, void* memory, uint64_t bytes, uint64_t alignment,
                              cudaStream_t stream) noexcept override;
  void notifyShape(const char* name, const nvinfer1::Dims& shape) noexcept override;

 private:
  const Device* device_;
  CUdeviceptr memory_ = 0;
  size_t bytes_ = 0;
  nvinfer1::Dims shape_{};
};

// Holds a result in host memory.
struct Value {
  std::string name;
  uint32_t dtype = 0;
  std::vector<int64_t> dimensions;
  std::vector<std::byte> data;
};

class Session {
 public:
  Session(const xsp_host* host, const Device* device) : host_(host), device_(device) {}

  // Loads an engine, in place of the one before. `what` names it in errors. On failure, reports the
  // reason through the host.
  xsp_status load(const FileBytes& plan, const std::string& what);
  bool is_loaded() const { return context_ != nullptr; }
  std::vector<Port> inputs() const { return ports(nvinfer1::TensorIOMode::kINPUT); }
  std::vector<Port> outputs() const { return ports(nvinfer1::TensorIOMode::kOUTPUT); }

  // Copies the inputs, which suit the engine's, to the device.
  xsp_status set_inputs(const std::vector<xsp_tensor>& inputs);
  // Gives one inference to the device's stream; false: TensorRT refused.
  bool enqueue() { return context_->enqueueV3(reinterpret_cast<cudaStream_t>(device_->stream())); }
  // Copies the results of the last inference to the host.
  xsp_status results(std::vector<Value>* values);

  nvinfer1::IExecutionContext* context() { return context_.get(); }
  // Returns the inspector's description of the engine as JSON; empty if there is none.
  std::string inspection();
  const nvinfer1::ICudaEngine& engine() const { return *engine_; }

 private:
  std::vector<Port> ports(nvinfer1::TensorIOMode mode) const;
  xsp_status choose_profile(const std::vector<xsp_tensor>& inputs);
  xsp_status reserve_outputs();
  xsp_status bad(const std::string& name, const std::string& why);

  const xsp_host* host_;
  const Device* device_;
  // They are destroyed in the opposite order, as TensorRT demands.
  std::unique_ptr<nvinfer1::IRuntime> runtime_;
  std::unique_ptr<nvinfer1::ICudaEngine> engine_;
  std::vector<std::unique_ptr<Buffer>> buffers_;  // one for each tensor of the engine, in its order
  std::unique_ptr<nvinfer1::IExecutionContext> context_;
};

}  // namespace xsp::tensorrt

#endif  // XSP_ADAPTERS_TENSORRT_SESSION_H_
