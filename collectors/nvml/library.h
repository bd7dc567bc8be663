// Library: NVIDIA's management library, libnvidia-ml.so.1, which comes with the driver and is
// loaded at run time. Its C ABI is declared here as far as it is used.
//
// What fails throws std::runtime_error with one line; the plugin's entry points end it (guarded()).
//
// Thread rule: const methods may be called from several threads at once, as the library allows.
#ifndef XSP_COLLECTORS_NVML_LIBRARY_H_
#define XSP_COLLECTORS_NVML_LIBRARY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace xsp::nvml {

// One GPU.
class Gpu {
 public:
  // By CUDA's name of it, "cuda:1": CUDA may number the GPUs otherwise, or see only some of them.
  explicit Gpu(const std::string& device);

  int number() const { return number_; }  // CUDA's
  std::string name() const;
  std::string uuid() const;
  std::string driver_version() const;
  std::string cuda_version() const;
  // Nothing: the GPU does not tell.
  std::optional<double> sm_clock_mhz() const;
  std::optional<double> memory_clock_mhz() const;
  std::optional<double> max_sm_clock_mhz() const;
  std::optional<double> max_memory_clock_mhz() const;
  std::optional<double> temperature_c() const;
  std::optional<double> power_w() const;  // where the GPU averages it, over the last second
  std::optional<double> power_limit_w() const;
  std::optional<double> energy_j() const;  // since the driver was loaded; moves every 20 to 100 ms
  struct Memory {
    double used_bytes, total_bytes;
  };
  std::optional<Memory> memory() const;
  // Why the clock is held down at this moment: {"power cap"}; idleness and settings are no reasons.
  std::optional<std::vector<std::string>> throttle_reasons() const;
  // For how long it has been held down since the driver was loaded, for lack of power, and by heat.
  struct Violations {
    uint64_t power_ns, thermal_ns;
  };
  std::optional<Violations> violations() const;

 private:
  void* handle_ = nullptr;
  int number_ = 0;
};

}  // namespace xsp::nvml

#endif  // XSP_COLLECTORS_NVML_LIBRARY_H_
