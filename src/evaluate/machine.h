// Machine: what the experiment runs on, and in which state. What cannot be read is left out.
//
// Thread rule: const methods may be called from several threads at once.
#ifndef XSP_EVALUATE_MACHINE_H_
#define XSP_EVALUATE_MACHINE_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace xsp::evaluate {

// Of a device, at one moment; throttle_reasons is empty if nothing holds its clock down.
struct DeviceState {
  std::optional<double> sm_clock_mhz;
  std::optional<double> memory_clock_mhz;
  std::optional<double> temperature_c;
  std::optional<double> power_w;
  std::optional<double> memory_used_bytes;  // by every process together
  std::optional<double> memory_total_bytes;
  std::optional<std::string> throttle_reasons;
};

// At one moment.
struct MachineState {
  std::optional<double> cpu_mhz;        // mean over cores
  std::optional<double> temperature_c;  // of the hottest processor sensor
  std::optional<double> load_1min;
  DeviceState device;  // that the model runs on, if it is not the processor
};

// Processor time since the machine started, summed over some of its processors.
struct CpuTimes {
  double busy_s = 0;
  double stolen_s = 0;  // the hypervisor gave it to others
  int processors = 0;   // how many were summed
};

class Machine {
 public:
  // `root` is where /proc and /sys are: a test brings its own.
  explicit Machine(std::filesystem::path root = "/") : root_(std::move(root)) {}

  // Facts, by key: cpu, cores, memory_bytes, kernel, os, hypervisor, governor, ...
  std::map<std::string, std::string> facts() const;
  MachineState state() const;
  // Of the processors of these numbers, as far as they are there.
  std::optional<CpuTimes> cpu_times(const std::set<int>& processors) const;
  // Memory that processes may still take before something is killed: what the system has, or what
  // the control group leaves, if that is less.
  std::optional<uint64_t> available_memory_bytes() const;
  // How many processes the kernel has killed for lack of memory, in the system and in our control
  // group, as far as that can be read.
  uint64_t out_of_memory_kills() const;
  // The largest cache level, summed over its instances; 0: unknown.
  uint64_t last_level_cache_bytes() const;

 private:
  std::string line(const std::filesystem::path& path) const;  // the first; empty: not readable
  std::optional<double> number(const std::filesystem::path& path) const;
  // The number after a key in a file of lines "key value" or "key: value unit".
  std::optional<double> keyed(const std::filesystem::path& path, const std::string& key) const;
  std::string keyed_text(const std::filesystem::path& path, const std::string& key) const;
  std::optional<double> mean_mhz() const;
  std::optional<double> temperature_c() const;
  // The path of a file of our control group, version 2 or 1, or of its nearest parent that has it.
  std::filesystem::path control_group_file(const std::string& v2, const std::string& controller,
                                           const std::string& v1) const;

  std::filesystem::path root_;
};

// The processors that this process may run on, by number, and how many there are: at least one.
std::set<int> usable_processor_numbers();
int usable_processors();

}  // namespace xsp::evaluate

#endif  // XSP_EVALUATE_MACHINE_H_
