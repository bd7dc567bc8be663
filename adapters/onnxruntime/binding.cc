#include "adapters/onnxruntime/binding.h"

#include <dlfcn.h>

#include <string>

namespace xsp::ort {
namespace {

// CUDA's driver copies; the runtime has no function for it before 1.23. Its results are a CUresult,
// and its pointers into the device's memory are 64 bits wide (cuda.h).
struct Driver {
  int (*to_device)(unsigned long long to, const void* from, size_t bytes) = nullptr;
  int (*to_host)(void* to, unsigned long long from, size_t bytes) = nullptr;
};

const Driver& driver() {
  static const Driver loaded = [] {
    Driver driver;
    void* handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return driver;
    driver.to_device =
        reinterpret_cast<decltype(driver.to_device)>(dlsym(handle, "cuMemcpyHtoD_v2"));
    driver.to_host = reinterpret_cast<decltype(driver.to_host)>(dlsym(handle, "cuMemcpyDtoH_v2"));
    return driver;
  }();
  return loaded;
}

Problem copied(int result) {
  if (result == 0) return {};
  return {ORT_FAIL, "a copy between host and GPU failed (CUresult " + std::to_string(result) + ")"};
}

unsigned long long address(const void* memory) { return reinterpret_cast<uintptr_t>(memory); }

}  // namespace

Problem Binding::open(OrtSession* session, int device) {
  if (driver().to_device == nullptr || driver().to_host == nullptr) {
    return {ORT_FAIL, "NVIDIA's driver (libcuda.so.1) was not found"};
  }
  const OrtApi* api = library().api;
  OrtMemoryInfo* info = nullptr;
  Problem problem =
      take(api->CreateMemoryInfo("Cuda", OrtDeviceAllocator, device, OrtMemTypeDefault, &info));
  device_ = {info, api->ReleaseMemoryInfo};
  OrtAllocator* allocator = nullptr;
  if (!problem) problem = take(api->CreateAllocator(session, info, &allocator));
  allocator_ = {allocator, api->ReleaseAllocator};
  OrtIoBinding* binding = nullptr;
  if (!problem) problem = take(api->CreateIoBinding(session, &binding));
  binding_ = {binding, api->ReleaseIoBinding};
  return problem;
}

void Binding::clear() {
  library().api->ClearBoundInputs(binding_.get());
  library().api->ClearBoundOutputs(binding_.get());
  values_.clear();
  memory_.clear();
}

Problem Binding::set_input(const xsp_tensor& tensor) {
  const OrtApi* api = library().api;
  OrtAllocator* allocator = allocator_.get();
  // The runtime gives no memory for an empty tensor, and takes no tensor without memory.
  void* made = allocator->Alloc(allocator, tensor.data_bytes == 0 ? 1 : tensor.data_bytes);
  if (made == nullptr) {
    return {ORT_FAIL, "Failed to allocate memory: " + std::to_string(tensor.data_bytes) +
                          " bytes on the GPU"};
  }
  memory_.emplace_back(made, Block{allocator});
  Problem problem = tensor.data_bytes == 0
                        ? Problem{}
                        : copied(driver().to_device(address(made), tensor.data, tensor.data_bytes));
  OrtValue* value = nullptr;
  if (!problem) {
    problem = take(api->CreateTensorWithDataAsOrtValue(
        device_.get(), made, tensor.data_bytes, tensor.dimensions, tensor.rank,
        static_cast<ONNXTensorElementDataType>(tensor.dtype), &value));
  }
  values_.emplace_back(value, api->ReleaseValue);
  if (!problem) problem = take(api->BindInput(binding_.get(), tensor.name, value));
  return problem;
}

Problem Binding::bind_input(const char* name, OrtValue* value) {
  return take(library().api->BindInput(binding_.get(), name, value));
}

Problem Binding::bind_outputs(const std::vector<Signature>& outputs) {
  const OrtApi* api = library().api;
  OrtMemoryInfo* made = nullptr;
  Problem problem = take(api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &made));
  const Handle<OrtMemoryInfo> host(made, api->ReleaseMemoryInfo);
  for (size_t i = 0; i < outputs.size() && !problem; ++i) {
    problem = take(api->BindOutputToDevice(binding_.get(), outputs[i].name.c_str(),
                                           outputs[i].dtype != 0 ? device_.get() : host.get()));
  }
  return problem;
}

OrtStatus* Binding::run(OrtSession* session) const {
  return library().api->RunWithBinding(session, nullptr, binding_.get());
}

Problem Binding::outputs(std::vector<OrtValue*>* values) const {
  const OrtApi* api = library().api;
  OrtAllocator* allocator = nullptr;
  Problem problem = take(api->GetAllocatorWithDefaultOptions(&allocator));
  OrtValue** made = nullptr;
  size_t count = 0;
  if (!problem) {
    problem = take(api->GetBoundOutputValues(binding_.get(), allocator, &made, &count));
  }
  if (problem) return problem;
  values->assign(made, made + count);
  return take(api->AllocatorFree(allocator, made));
}

Problem Binding::download(void* to, const void* from, size_t bytes) const {
  return bytes == 0 ? Problem{} : copied(driver().to_host(to, address(from), bytes));
}

}  // namespace xsp::ort
