#include "collectors/ceilings/driver.h"

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>

namespace xsp::ceilings {
namespace {

template <typename Function>
void load(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  if (*function == nullptr) {
    throw std::runtime_error(std::string("libcuda.so.1: it has no ") + name +
                             ": install a newer NVIDIA driver");
  }
}

Driver load_driver() {
  // The library is never unloaded, because it leaves threads behind.
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw std::runtime_error(
        "no GPU: the CUDA driver (libcuda.so.1) is not installed: install the NVIDIA driver");
  }
  Driver d{};
  load(library, "cuInit", &d.init);
  load(library, "cuGetErrorName", &d.error_name);
  load(library, "cuDeviceGet", &d.device_get);
  load(library, "cuDeviceGetAttribute", &d.device_attribute);
  load(library, "cuDeviceGetName", &d.device_name);
  load(library, "cuDeviceTotalMem_v2", &d.device_memory);
  load(library, "cuDevicePrimaryCtxRetain", &d.context_retain);
  load(library, "cuDevicePrimaryCtxRelease_v2", &d.context_release);
  load(library, "cuCtxSetCurrent", &d.context_set);
  load(library, "cuModuleLoadDataEx", &d.module_load);
  load(library, "cuModuleUnload", &d.module_unload);
  load(library, "cuModuleGetFunction", &d.module_function);
  load(library, "cuFuncSetAttribute", &d.function_attribute_set);
  load(library, "cuOccupancyMaxActiveBlocksPerMultiprocessor", &d.occupancy);
  load(library, "cuLaunchKernel", &d.launch);
  load(library, "cuMemGetInfo_v2", &d.memory_info);
  load(library, "cuMemAlloc_v2", &d.memory_allocate);
  load(library, "cuMemFree_v2", &d.memory_free);
  load(library, "cuMemcpyDtoH_v2", &d.copy_to_host);
  load(library, "cuMemcpyHtoD_v2", &d.copy_to_device);
  load(library, "cuMemsetD8_v2", &d.memory_set);
  load(library, "cuEventCreate", &d.event_create);
  load(library, "cuEventDestroy_v2", &d.event_destroy);
  load(library, "cuEventRecord", &d.event_record);
  load(library, "cuEventSynchronize", &d.event_synchronize);
  load(library, "cuEventElapsedTime", &d.event_elapsed_ms);
  d.check(d.init(0), "cuInit");
  return d;
}

}  // namespace

const Driver& Driver::get() {
  static const Driver driver = load_driver();
  return driver;
}

void Driver::check(int status, const char* what) const {
  if (status == 0) return;
  const char* name = nullptr;
  if (error_name(status, &name) != 0 || name == nullptr) name = "unknown error";
  throw std::runtime_error(std::string(what) + ": the CUDA driver answers " + name + " (" +
                           std::to_string(status) + "): see 'xsp doctor'");
}

Device::Device(const std::string& name) : driver_(Driver::get()) {
  const size_t colon = name.find(':');
  const int number = colon == std::string::npos ? 0 : std::atoi(name.c_str() + colon + 1);
  driver_.check(driver_.device_get(&number_, number), ("device " + name).c_str());
}

int Device::attribute(Attribute which) const {
  int value = 0;
  driver_.check(driver_.device_attribute(&value, static_cast<int>(which), number_),
                "cuDeviceGetAttribute");
  return value;
}

std::string Device::name() const {
  char text[256] = {};
  driver_.check(driver_.device_name(text, sizeof text, number_), "cuDeviceGetName");
  return text;
}

uint64_t Device::memory_bytes() const {
  size_t bytes = 0;
  driver_.check(driver_.device_memory(&bytes, number_), "cuDeviceTotalMem");
  return bytes;
}

Context::Context(const Device& device) : driver_(Driver::get()), device_(device.number()) {
  Driver::Handle context = nullptr;
  driver_.check(driver_.context_retain(&context, device_), "cuDevicePrimaryCtxRetain");
  driver_.check(driver_.context_set(context), "cuCtxSetCurrent");
}

Context::~Context() {
  driver_.context_set(nullptr);
  driver_.context_release(device_);
}

Buffer::Buffer(size_t bytes) : driver_(Driver::get()), bytes_(bytes) {
  driver_.check(driver_.memory_allocate(&address_, bytes), "cuMemAlloc");
}

Buffer::~Buffer() { driver_.memory_free(address_); }

void Buffer::write(const std::vector<uint8_t>& data) {
  driver_.check(driver_.copy_to_device(address_, data.data(), data.size()), "cuMemcpyHtoD");
}

std::vector<uint8_t> Buffer::read(size_t bytes) const {
  std::vector<uint8_t> data(bytes);
  driver_.check(driver_.copy_to_host(data.data(), address_, bytes), "cuMemcpyDtoH");
  return data;
}

void Buffer::clear() { driver_.check(driver_.memory_set(address_, 0, bytes_), "cuMemsetD8"); }

Module::Module(const std::string& ptx) : driver_(Driver::get()) {
  // Values of the driver's CUjit_option: the buffer of the compiler's messages, and its size.
  constexpr int kErrorLog = 5;
  constexpr int kErrorLogBytes = 6;
  std::string log(2000, '\0');
  int options[] = {kErrorLog, kErrorLogBytes};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
  const int status = driver_.module_load(&module_, ptx.c_str(), 2, options, values);
  log.resize(log.find('\0') == std::string::npos ? log.size() : log.find('\0'));
  for (char& c : log) {
    if (c == '\n') c = ' ';
  }
  driver_.check(status, ("cuModuleLoadData: " + log).c_str());
}

Module::~Module() { driver_.module_unload(module_); }

Driver::Handle Module::function(const char* name) const {
  Driver::Handle function = nullptr;
  driver_.check(driver_.module_function(&function, module_, name), "cuModuleGetFunction");
  return function;
}

Stopwatch::Stopwatch() : driver_(Driver::get()) {
  driver_.check(driver_.event_create(&begin_, 0), "cuEventCreate");
  driver_.check(driver_.event_create(&end_, 0), "cuEventCreate");
}

Stopwatch::~Stopwatch() {
  driver_.event_destroy(begin_);
  driver_.event_destroy(end_);
}

void Stopwatch::start() { driver_.check(driver_.event_record(begin_, nullptr), "cuEventRecord"); }

double Stopwatch::stop() {
  driver_.check(driver_.event_record(end_, nullptr), "cuEventRecord");
  driver_.check(driver_.event_synchronize(end_), "cuEventSynchronize");
  float ms = 0;
  driver_.check(driver_.event_elapsed_ms(&ms, begin_, end_), "cuEventElapsedTime");
  return static_cast<double>(ms) / 1000;
}

}  // namespace xsp::ceilings
