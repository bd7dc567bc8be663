// A GPU, by CUDA's driver, which is loaded at run time: memory, a stream, and graphs. TensorRT uses
// the device's primary context, too.
//
// A function that can fail returns why, on one line; empty: it succeeded.
#ifndef XSP_ADAPTERS_TENSORRT_DEVICE_H_
#define XSP_ADAPTERS_TENSORRT_DEVICE_H_

#include <cuda.h>

#include <cstddef>
#include <functional>
#include <string>

namespace xsp::tensorrt {

// Returns the number of GPUs here; 0, and why, if there is none or no driver.
int gpu_count(std::string* why);

class Device {
 public:
  Device() = default;
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // Opens GPU `index`, and makes it current on the calling thread.
  std::string open(int index);
  std::string make_current() const;
  // Returns "NVIDIA H100 80GB HBM3 9.0": the name, and the compute capability.
  std::string name() const;
  // Returns "0000:3b:00.0": where the GPU is on this machine.
  std::string bus_id() const;

  CUstream stream() const { return stream_; }
  std::string wait() const;

  std::string allocate(size_t bytes, CUdeviceptr* memory) const;
  void release(CUdeviceptr memory) const;
  std::string upload(CUdeviceptr to, const void* from, size_t bytes) const;
  std::string download(void* to, CUdeviceptr from, size_t bytes) const;

  // Captures the work that `work` gives to the stream; `work` returns false if it failed.
  std::string capture(const std::function<bool()>& work);
  bool has_graph() const { return graph_ != nullptr; }
  void forget_graph();
  // Starts the captured work on the stream.
  std::string replay() const;

 private:
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  CUgraphExec graph_ = nullptr;
};

}  // namespace xsp::tensorrt

#endif  // XSP_ADAPTERS_TENSORRT_DEVICE_H_
