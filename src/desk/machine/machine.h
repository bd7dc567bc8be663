// Machine: the hardware of the experiment, and its state. Values that cannot be read are left out.
//
// Thread rule: const methods may be called from several threads at once.
#ifndef XSP_DESK_MACHINE_MACHINE_H_
#define XSP_DESK_MACHINE_MACHINE_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace xsp::machine {

// The state of a device at one moment. throttle_reasons is empty if nothing reduces its clock.
struct DeviceState {
  std::optional<double> sm_clock_mhz;
  std::optional<double> memory_clock_mhz;
  std::optional<double> temperature_c;
  std::optional<double> power_w;
  std::optional<double> memory_used_bytes;  // used by all processes together
  std::optional<double> memory_total_bytes;
  std::optional<std::string> throttle_reasons;
};

// The state of the machine at one moment.
struct MachineState {
  std::optional<double> cpu_mhz;        // mean over cores
  std::optional<double> temperature_c;  // the hottest processor sensor
  std::optional<double> load_1min;
  DeviceState device;  // the device that the model runs on, unless it is the processor
};

// Processor time since the machine started, summed over some of its processors.
struct CpuTimes {
  double busy_s = 0;
  double stolen_s = 0;  // time that the hypervisor gave to other machines
  int processors = 0;   // how many processors were summed
};

class Machine {
 public:
  // `root` is the folder that holds /proc and /sys. A test passes its own.
  explicit Machine(std::filesystem::path root = "/") : root_(std::move(root)) {}

  // Returns facts by key: cpu, cores, memory_bytes, kernel, os, hypervisor, governor, ...
  std::map<std::string, std::string> facts() const;
  MachineState state() const;
  // Returns the times of the processors with these numbers, as far as they exist.
  std::optional<CpuTimes> cpu_times(const std::set<int>& processors) const;
  // Returns the memory that processes may still allocate before the kernel kills one: the system's
  // free memory, or the rest of the control group's limit, if that is less.
  std::optional<uint64_t> available_memory_bytes() const;
  // Returns how many processes the kernel has killed for lack of memory, in the system and in our
  // control group, as far as that can be read.
  uint64_t out_of_memory_kills() const;
  // Returns the size of the largest cache level, summed over its instances. 0: unknown.
  uint64_t last_level_cache_bytes() const;

 private:
  std::string line(const std::filesystem::path& path) const;  // first line; empty: not readable
  std::optional<double> number(const std::filesystem::path& path) const;
  // Returns the number after a key in a file with lines "key value" or "key: value unit".
  std::optional<double> keyed(const std::filesystem::path& path, const std::string& key) const;
  std::string keyed_text(const std::filesystem::path& path, const std::string& key) const;
  std::optional<double> mean_mhz() const;
  std::optional<double> temperature_c() const;
  // Returns the path of a file of our control group (version 2 or 1), or of its nearest parent that
  // has the file.
  std::filesystem::path control_group_file(const std::string& v2, const std::string& controller,
                                           const std::string& v1) const;

  std::filesystem::path root_;
};

// Returns the numbers of the processors that this process may run on: at least one.
std::set<int> usable_processor_numbers();
int usable_processors();

}  // namespace xsp::machine

#endif  // XSP_DESK_MACHINE_MACHINE_H_
