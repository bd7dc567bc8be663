// A fake NVML of one GPU that draws 100 W at all times; its energy counter changes every 20 ms.
//   FAKE_NVML_NO_ENERGY  it has no energy counter
//   FAKE_NVML_THROTTLED  a power cap holds its clock down
//   FAKE_NVML_NEIGHBOUR  process 1 computes on it for 60 % of the time, the caller's children
//                        for 40 %
//   FAKE_NVML_GROWS      each query finds 50 GB more of its memory taken
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#define FAKE_API extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kNotSupported = 3;
constexpr unsigned long long kWatts = 100;
constexpr unsigned long long kStepMs = 20;

int tell(unsigned* value, unsigned what) {
  *value = what;
  return 0;
}
int tell(char* text, unsigned size, const char* what) {
  std::strncpy(text, what, size);
  return 0;
}
bool is_set(const char* name) { return std::getenv(name) != nullptr; }

struct Memory {
  unsigned long long total, free, used;
};
struct Process {
  unsigned process;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
};
struct Utilization {
  unsigned process;
  unsigned long long time_us;
  unsigned multiprocessors, memory, encoder, decoder;
};
struct Violation {
  unsigned long long reference, violation;
};

}  // namespace

FAKE_API int nvmlInit_v2() { return 0; }
FAKE_API const char* nvmlErrorString(int) { return "not found"; }
FAKE_API int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** gpu) {
  static int the_gpu;
  *gpu = &the_gpu;
  return std::strcmp(bus, "0000:01:00.0") == 0 ? 0 : 6;
}
FAKE_API int nvmlDeviceGetName(void*, char* text, unsigned size) {
  return tell(text, size, "Fake GPU");
}
FAKE_API int nvmlDeviceGetUUID(void*, char* text, unsigned size) {
  return tell(text, size, "GPU-fake");
}
FAKE_API int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  return tell(text, size, "580.1");
}
FAKE_API int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 13000;
  return 0;
}
FAKE_API int nvmlDeviceGetClockInfo(void*, int, unsigned* mhz) { return tell(mhz, 900); }
FAKE_API int nvmlDeviceGetMaxClockInfo(void*, int, unsigned* mhz) { return tell(mhz, 1000); }
FAKE_API int nvmlDeviceGetApplicationsClock(void*, int, unsigned* mhz) { return tell(mhz, 950); }
FAKE_API int nvmlDeviceGetTemperature(void*, int, unsigned* c) { return tell(c, 40); }
FAKE_API int nvmlDeviceGetPowerUsage(void*, unsigned* mw) { return tell(mw, kWatts * 1000); }
FAKE_API int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* mw) { return tell(mw, 400'000); }
FAKE_API int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* mj) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const auto ms = static_cast<unsigned long long>(now.tv_sec) * 1000 +
                  static_cast<unsigned long long>(now.tv_nsec) / 1'000'000;
  *mj = ms / kStepMs * kStepMs * kWatts;
  return is_set("FAKE_NVML_NO_ENERGY") ? kNotSupported : 0;
}
FAKE_API int nvmlDeviceGetMemoryInfo(void*, Memory* memory) {
  static unsigned long long used = 1'000'000'000;
  if (is_set("FAKE_NVML_GROWS")) used += 50'000'000'000;
  *memory = {160'000'000'000, 160'000'000'000 - used, used};
  return 0;
}
FAKE_API int nvmlDeviceGetCurrentClocksEventReasons(void*, unsigned long long* reasons) {
  constexpr unsigned long long kIdle = 1, kPowerCap = 4;
  *reasons = kIdle | (is_set("FAKE_NVML_THROTTLED") ? kPowerCap : 0);
  return 0;
}
FAKE_API int nvmlDeviceGetViolationStatus(void*, int, Violation* time) {
  *time = {0, 0};
  return 0;
}
FAKE_API int nvmlShutdown() { return 0; }
FAKE_API int nvmlDeviceGetCount_v2(unsigned* count) { return tell(count, 1); }
FAKE_API int nvmlDeviceGetHandleByIndex_v2(unsigned, void** gpu) {
  return nvmlDeviceGetHandleByPciBusId_v2("0000:01:00.0", gpu);
}
FAKE_API int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, Process* processes) {
  unsigned found = 0;
  if (is_set("FAKE_NVML_NEIGHBOUR")) processes[found++] = {1, 0, 0, 0};
  const std::string self = "/proc/self/task/" + std::to_string(::getpid());
  std::ifstream children(self + "/children");
  for (unsigned child = 0; found < *count && children >> child;) {
    processes[found++] = {child, 0, 0, 0};
  }
  return tell(count, found);
}
FAKE_API int nvmlDeviceGetProcessUtilization(void* gpu, Utilization* samples, unsigned* count,
                                             unsigned long long) {
  Process processes[256];
  unsigned found = 256;
  nvmlDeviceGetComputeRunningProcesses_v3(gpu, &found, processes);
  for (unsigned i = 0; i < found; ++i) {
    samples[i] = {processes[i].process, 1, processes[i].process == 1 ? 60u : 40u, 0, 0, 0};
  }
  return tell(count, found);
}
