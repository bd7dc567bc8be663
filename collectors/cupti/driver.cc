#include "collectors/cupti/driver.h"

#include <dlfcn.h>

#include <utility>

namespace xsp::cupti {

std::unique_ptr<Driver> Driver::open(std::string* why) {
  std::unique_ptr<Driver> driver = load(why);
  return driver != nullptr && driver->initialize(why) ? std::move(driver) : nullptr;
}

std::unique_ptr<Driver> Driver::load(std::string* why) {
  void* handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    *why = "CUDA: no driver (" + std::string(dlerror()) + "): install NVIDIA's driver for a GPU";
    return nullptr;
  }
  auto driver = std::make_unique<Driver>();
  driver->init_ = reinterpret_cast<decltype(&::cuInit)>(dlsym(handle, "cuInit"));
  driver->count_ =
      reinterpret_cast<decltype(&::cuDeviceGetCount)>(dlsym(handle, "cuDeviceGetCount"));
  driver->get_ = reinterpret_cast<decltype(&::cuDeviceGet)>(dlsym(handle, "cuDeviceGet"));
  driver->attribute_ =
      reinterpret_cast<decltype(&::cuDeviceGetAttribute)>(dlsym(handle, "cuDeviceGetAttribute"));
  if (driver->init_ == nullptr || driver->count_ == nullptr || driver->get_ == nullptr ||
      driver->attribute_ == nullptr) {
    *why = "CUDA: libcuda.so.1 lacks functions: install a newer driver";
    return nullptr;
  }
  return driver;
}

bool Driver::initialize(std::string* why) {
  CUresult result = init_(0);
  if (result == CUDA_SUCCESS) result = count_(&device_count_);
  if (result == CUDA_ERROR_NO_DEVICE || (result == CUDA_SUCCESS && device_count_ == 0)) {
    *why = "CUDA: the driver finds no GPU: see `nvidia-smi` and CUDA_VISIBLE_DEVICES";
    return false;
  }
  if (result != CUDA_SUCCESS) {
    *why =
        "CUDA: the driver does not start: error " + std::to_string(result) + ": see `nvidia-smi`";
    return false;
  }
  return true;
}

DeviceLimits Driver::limits(uint32_t device) const {
  CUdevice handle = 0;
  if (get_(&handle, static_cast<int>(device)) != CUDA_SUCCESS) return {};
  const auto ask = [&](CUdevice_attribute which) {
    int value = 0;
    const bool is_known = attribute_(&value, which, handle) == CUDA_SUCCESS && value > 0;
    return is_known ? static_cast<uint32_t>(value) : 0u;
  };
  DeviceLimits limits;
  limits.multiprocessors = ask(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  limits.threads = ask(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  limits.blocks = ask(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  limits.registers = ask(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  limits.shared_bytes = ask(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  limits.reserved_shared_bytes = ask(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  return limits;
}

}  // namespace xsp::cupti
