#include "collectors/nvml/library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>

namespace xsp::nvml {
namespace {

using Handle = void*;  // nvmlDevice_t
// nvmlClockType_t, nvmlTemperatureSensors_t and nvmlPerfPolicyType_t.
constexpr int kClockSm = 1, kClockMemory = 2;
constexpr int kSensorGpu = 0;
constexpr int kPolicyPower = 0, kPolicyThermal = 1;

struct MemoryInfo {
  unsigned long long total, free, used;
};
struct ViolationTime {
  unsigned long long reference, violation;
};

// Holds the library's functions. Those that an older library may lack are NULL in that case.
struct Library {
  int (*init)();
  const char* (*error_string)(int);
  int (*handle_by_bus)(const char*, Handle*);
  int (*name)(Handle, char*, unsigned);
  int (*uuid)(Handle, char*, unsigned);
  int (*driver_version)(char*, unsigned);
  int (*cuda_version)(int*);
  int (*clock)(Handle, int, unsigned*);
  int (*max_clock)(Handle, int, unsigned*);
  int (*application_clock)(Handle, int, unsigned*);
  int (*temperature)(Handle, int, unsigned*);
  int (*power)(Handle, unsigned*);
  int (*power_limit)(Handle, unsigned*);
  int (*energy)(Handle, unsigned long long*);
  int (*memory)(Handle, MemoryInfo*);
  int (*throttle_reasons)(Handle, unsigned long long*);
  int (*violation)(Handle, int, ViolationTime*);
};

// Names bits of nvmlClocksThrottleReasons that mean that something holds the GPU's clock down.
struct Reason {
  unsigned long long bit;
  const char* name;
};
constexpr Reason kReasons[] = {
    {0x04, "power cap"},        {0x08, "hardware slowdown"},         {0x10, "sync boost"},
    {0x20, "thermal slowdown"}, {0x40, "hardware thermal slowdown"}, {0x80, "power brake"},
};

template <typename Function>
void load(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
}

void check(const Library& library, int status, const std::string& what) {
  if (status == 0) return;
  throw std::runtime_error(what + ": NVML answers: " + library.error_string(status) +
                           ": see 'nvidia-smi'");
}

Library load_library() {
  // The library is never unloaded, because it may leave threads behind.
  void* handle = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    throw std::runtime_error(
        "no GPU: NVML (libnvidia-ml.so.1) is not installed: install the NVIDIA driver");
  }
  Library l{};
  load(handle, "nvmlInit_v2", &l.init);
  load(handle, "nvmlErrorString", &l.error_string);
  load(handle, "nvmlDeviceGetHandleByPciBusId_v2", &l.handle_by_bus);
  if (l.init == nullptr || l.error_string == nullptr || l.handle_by_bus == nullptr) {
    throw std::runtime_error("libnvidia-ml.so.1: too old: install a newer NVIDIA driver");
  }
  load(handle, "nvmlDeviceGetName", &l.name);
  load(handle, "nvmlDeviceGetUUID", &l.uuid);
  load(handle, "nvmlSystemGetDriverVersion", &l.driver_version);
  load(handle, "nvmlSystemGetCudaDriverVersion_v2", &l.cuda_version);
  load(handle, "nvmlDeviceGetClockInfo", &l.clock);
  load(handle, "nvmlDeviceGetMaxClockInfo", &l.max_clock);
  load(handle, "nvmlDeviceGetApplicationsClock", &l.application_clock);  // until CUDA 14
  load(handle, "nvmlDeviceGetTemperature", &l.temperature);
  load(handle, "nvmlDeviceGetPowerUsage", &l.power);
  load(handle, "nvmlDeviceGetEnforcedPowerLimit", &l.power_limit);
  load(handle, "nvmlDeviceGetTotalEnergyConsumption", &l.energy);
  load(handle, "nvmlDeviceGetMemoryInfo", &l.memory);
  load(handle, "nvmlDeviceGetCurrentClocksEventReasons", &l.throttle_reasons);
  if (l.throttle_reasons == nullptr) {
    load(handle, "nvmlDeviceGetCurrentClocksThrottleReasons", &l.throttle_reasons);
  }
  load(handle, "nvmlDeviceGetViolationStatus", &l.violation);
  check(l, l.init(), "nvmlInit");
  return l;
}

const Library& library() {
  static const Library the_library = load_library();
  return the_library;
}

// Finds CUDA's device by its address on the bus.
std::string bus_id(int number) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) {
    throw std::runtime_error(
        "no GPU: the CUDA driver (libcuda.so.1) is not installed: install the NVIDIA driver");
  }
  int (*init)(unsigned) = nullptr;
  int (*get)(int*, int) = nullptr;
  int (*get_bus_id)(char*, int, int) = nullptr;
  load(driver, "cuInit", &init);
  load(driver, "cuDeviceGet", &get);
  load(driver, "cuDeviceGetPCIBusId", &get_bus_id);
  int device = 0;
  char text[32] = {};
  if (init == nullptr || get == nullptr || get_bus_id == nullptr || init(0) != 0 ||
      get(&device, number) != 0 || get_bus_id(text, sizeof text, device) != 0) {
    throw std::runtime_error("device cuda:" + std::to_string(number) +
                             ": the CUDA driver knows no such device: see 'nvidia-smi'");
  }
  return text;
}

// Returns the value that a function writes into its last argument; nothing if the function is
// absent or fails.
template <typename Function, typename... Arguments>
std::optional<double> ask(Function function, Arguments... arguments) {
  unsigned value = 0;
  if (function == nullptr || function(arguments..., &value) != 0) return std::nullopt;
  return value;
}

std::optional<double> thousandth(std::optional<double> value) {
  if (value) *value /= 1000;
  return value;
}

}  // namespace

Gpu::Gpu(const std::string& device) {
  const Library& l = library();
  const size_t colon = device.find(':');
  number_ = colon == std::string::npos ? 0 : std::atoi(device.c_str() + colon + 1);
  check(l, l.handle_by_bus(bus_id(number_).c_str(), &handle_), device);
}

std::string Gpu::name() const {
  char text[128] = {};
  if (library().name != nullptr) (void)library().name(handle_, text, sizeof text);
  return text;
}

std::string Gpu::uuid() const {
  char text[128] = {};
  if (library().uuid != nullptr) (void)library().uuid(handle_, text, sizeof text);
  return text;
}

std::string Gpu::driver_version() const {
  char text[128] = {};
  if (library().driver_version != nullptr) (void)library().driver_version(text, sizeof text);
  return text;
}

std::string Gpu::cuda_version() const {
  int version = 0;
  if (library().cuda_version == nullptr || library().cuda_version(&version) != 0) return {};
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::optional<double> Gpu::sm_clock_mhz() const { return ask(library().clock, handle_, kClockSm); }
std::optional<double> Gpu::memory_clock_mhz() const {
  return ask(library().clock, handle_, kClockMemory);
}
std::optional<double> Gpu::max_sm_clock_mhz() const {
  return ask(library().max_clock, handle_, kClockSm);
}
std::optional<double> Gpu::application_sm_clock_mhz() const {
  return ask(library().application_clock, handle_, kClockSm);
}
std::optional<double> Gpu::max_memory_clock_mhz() const {
  return ask(library().max_clock, handle_, kClockMemory);
}
std::optional<double> Gpu::temperature_c() const {
  return ask(library().temperature, handle_, kSensorGpu);
}
std::optional<double> Gpu::power_w() const { return thousandth(ask(library().power, handle_)); }
std::optional<double> Gpu::power_limit_w() const {
  return thousandth(ask(library().power_limit, handle_));
}

std::optional<double> Gpu::energy_j() const {
  unsigned long long mj = 0;
  if (library().energy == nullptr || library().energy(handle_, &mj) != 0) return std::nullopt;
  return static_cast<double>(mj) / 1000;
}

std::optional<Gpu::Memory> Gpu::memory() const {
  MemoryInfo info{};
  if (library().memory == nullptr || library().memory(handle_, &info) != 0) return std::nullopt;
  return Memory{static_cast<double>(info.used), static_cast<double>(info.total)};
}

std::optional<std::vector<std::string>> Gpu::throttle_reasons() const {
  unsigned long long bits = 0;
  if (library().throttle_reasons == nullptr || library().throttle_reasons(handle_, &bits) != 0) {
    return std::nullopt;
  }
  std::vector<std::string> reasons;
  for (const Reason& reason : kReasons) {
    if ((bits & reason.bit) != 0) reasons.emplace_back(reason.name);
  }
  return reasons;
}

std::optional<Gpu::Violations> Gpu::violations() const {
  ViolationTime power{}, thermal{};
  if (library().violation == nullptr || library().violation(handle_, kPolicyPower, &power) != 0 ||
      library().violation(handle_, kPolicyThermal, &thermal) != 0) {
    return std::nullopt;
  }
  return Violations{power.violation, thermal.violation};
}

}  // namespace xsp::nvml
