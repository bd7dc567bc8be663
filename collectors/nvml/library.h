// Library: NVIDIA's management library, libnvidia-ml.so.1, which comes with the driver and is
// loaded at run time. This file declares the part of its C ABI that is used.
//
// A call that fails throws std::runtime_error with one line; the plugin's entry points catch it
// (guarded()).
//
// Thread rule: const methods may be called from several threads at once, as the library allows.
#ifndef XSP_COLLECTORS_NVML_LIBRARY_H_
#define XSP_COLLECTORS_NVML_LIBRARY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace xsp::nvml {

// Represents one GPU.
class Gpu {
 public:
  // Finds the GPU by its name in CUDA, "cuda:1". CUDA may number the GPUs in another order, or see
  // only some of them.
  explicit Gpu(const std::string& device);

  int number() const { return number_; }  // CUDA's number
  std::string name() const;
  std::string uuid() const;
  std::string driver_version() const;
  std::string cuda_version() const;
  // These return nothing if the GPU does not report the value.
  std::optional<double> sm_clock_mhz() const;
  std::optional<double> memory_clock_mhz() const;
  std::optional<double> max_sm_clock_mhz() const;
  // The clock that programs get while nothing reduces it, as its administrator has set it.
  std::optional<double> application_sm_clock_mhz() const;
  std::optional<double> max_memory_clock_mhz() const;
  std::optional<double> temperature_c() const;
  std::optional<double> power_w() const;  // the mean over the last second on GPUs that average it
  std::optional<double> power_limit_w() const;
  std::optional<double> energy_j() const;  // since the driver was loaded; changes every 20 to 100
                                           // ms
  struct Memory {
    double used_bytes, total_bytes;
  };
  std::optional<Memory> memory() const;
  // Returns the reasons why the clock is held down at this moment, {"power cap"}; idleness and
  // settings are not among them.
  std::optional<std::vector<std::string>> throttle_reasons() const;
  // Holds the time for which the clock was held down since the driver was loaded, by lack of power
  // and by heat.
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
