#include "adapters/tensorrt/device.h"

#include <dlfcn.h>

#include <array>

#include "xsp/adapter.hpp"

namespace xsp::tensorrt {
namespace {

// The header's macros give each function the name of its current version.
#define XSP_TEXT_(name) #name
#define XSP_TEXT(name) XSP_TEXT_(name)
// clang-format off
#define XSP_DRIVER(X)                                                                           \
  X(cuInit) X(cuDeviceGetCount) X(cuDeviceGet) X(cuDeviceGetName) X(cuDeviceGetAttribute)       \
  X(cuDeviceGetPCIBusId)                                                                        \
  X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease) X(cuCtxSetCurrent) X(cuMemAlloc)     \
  X(cuMemFree) X(cuMemcpyHtoD) X(cuMemcpyDtoH) X(cuStreamCreate) X(cuStreamDestroy)             \
  X(cuStreamSynchronize) X(cuStreamBeginCapture) X(cuStreamEndCapture) X(cuGraphInstantiate)    \
  X(cuGraphDestroy) X(cuGraphLaunch) X(cuGraphExecDestroy) X(cuGetErrorString)
// clang-format on

struct Driver {
  std::string absent;  // why it cannot be used; empty if it can
#define X(name) decltype(&::name) p_##name = nullptr;
  XSP_DRIVER(X)
#undef X
};

Driver load() {
  Driver driver;
  void* handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    driver.absent = "there is no driver of NVIDIA: libcuda.so.1 was not found";
    return driver;
  }
#define X(name)                                                                         \
  driver.p_##name = reinterpret_cast<decltype(&::name)>(dlsym(handle, XSP_TEXT(name))); \
  if (driver.p_##name == nullptr) driver.absent = "the driver is too old: it has no " #name;
  XSP_DRIVER(X)
#undef X
  if (driver.absent.empty() && driver.p_cuInit(0) != CUDA_SUCCESS) {
    driver.absent = "the driver finds no GPU";
  }
  return driver;
}

const Driver& driver() {
  static const Driver& loaded = *new Driver(load());
  return loaded;
}

std::string take(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return "";
  const char* text = nullptr;
  if (driver().p_cuGetErrorString(result, &text) != CUDA_SUCCESS || text == nullptr) {
    text = "unknown error";
  }
  return std::string(what) + ": " + text + " (" + std::to_string(static_cast<int>(result)) + ")";
}

}  // namespace

int gpu_count(std::string* why) {
  int count = 0;
  *why = driver().absent;
  if (why->empty() && driver().p_cuDeviceGetCount(&count) != CUDA_SUCCESS) count = 0;
  if (count == 0 && why->empty()) *why = "the driver finds no GPU";
  return count;
}

Device::~Device() {
  if (context_ == nullptr) return;
  forget_graph();
  if (stream_ != nullptr) (void)driver().p_cuStreamDestroy(stream_);
  (void)driver().p_cuDevicePrimaryCtxRelease(device_);
}

std::string Device::open(int index) {
  std::string why = take(driver().p_cuDeviceGet(&device_, index), "cuDeviceGet");
  if (why.empty()) {
    why = take(driver().p_cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain");
  }
  if (why.empty()) why = make_current();
  if (why.empty()) {
    why = take(driver().p_cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  }
  return why;
}

std::string Device::make_current() const {
  return take(driver().p_cuCtxSetCurrent(context_), "cuCtxSetCurrent");
}

std::string Device::name() const {
  std::array<char, 256> text{};
  int major = 0, minor = 0;
  (void)driver().p_cuDeviceGetName(text.data(), static_cast<int>(text.size()) - 1, device_);
  (void)driver().p_cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                                        device_);
  (void)driver().p_cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                                        device_);
  return std::string(text.data()) + " " + std::to_string(major) + "." + std::to_string(minor);
}

std::string Device::bus_id() const {
  std::array<char, 32> text{};
  (void)driver().p_cuDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()) - 1, device_);
  return text.data();
}

std::string Device::wait() const {
  return take(driver().p_cuStreamSynchronize(stream_), "cuStreamSynchronize");
}

std::string Device::allocate(size_t bytes, CUdeviceptr* memory) const {
  return take(driver().p_cuMemAlloc(memory, bytes == 0 ? 1 : bytes), "cuMemAlloc");
}

void Device::release(CUdeviceptr memory) const { (void)driver().p_cuMemFree(memory); }

std::string Device::upload(CUdeviceptr to, const void* from, size_t bytes) const {
  return bytes == 0 ? "" : take(driver().p_cuMemcpyHtoD(to, from, bytes), "cuMemcpyHtoD");
}

std::string Device::download(void* to, CUdeviceptr from, size_t bytes) const {
  return bytes == 0 ? "" : take(driver().p_cuMemcpyDtoH(to, from, bytes), "cuMemcpyDtoH");
}

std::string Device::capture(const std::function<bool()>& work) {
  forget_graph();
  // Only this thread is kept from calls that would break the capture: other threads may allocate.
  std::string why =
      take(driver().p_cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
           "cuStreamBeginCapture");
  if (!why.empty()) return why;
  const bool worked = work();
  CUgraph graph = nullptr;
  why = take(driver().p_cuStreamEndCapture(stream_, &graph), "cuStreamEndCapture");
  if (why.empty() && !worked) why = "the work cannot be captured";
  if (why.empty()) {
    why = take(driver().p_cuGraphInstantiate(&graph_, graph, 0), "cuGraphInstantiate");
  }
  if (graph != nullptr) (void)driver().p_cuGraphDestroy(graph);
  return why;
}

void Device::forget_graph() {
  if (graph_ != nullptr) (void)driver().p_cuGraphExecDestroy(graph_);
  graph_ = nullptr;
}

std::string Device::replay() const {
  return take(driver().p_cuGraphLaunch(graph_, stream_), "cuGraphLaunch");
}

}  // namespace xsp::tensorrt
