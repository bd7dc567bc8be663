#include "desk/machine/machine.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace xsp::machine {
namespace {

namespace fs = std::filesystem;

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\"");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n\"") + 1 - first);
}

std::optional<double> parse(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str()) return std::nullopt;
  return value;
}

std::vector<fs::path> children(const fs::path& folder, const std::string& prefix) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().rfind(prefix, 0) == 0) paths.push_back(it->path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Returns the processor's name for its hypervisor, or an empty string if there is none.
std::string hypervisor() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c >> 31) == 0) return {};
  __cpuid(0x40000000, a, b, c, d);
  char name[13] = {};
  std::memcpy(name, &b, 4);
  std::memcpy(name + 4, &c, 4);
  std::memcpy(name + 8, &d, 4);
  return trimmed(name);
#else
  return {};
#endif
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Returns what runs the container that we are in, such as docker; empty: none that is known.
std::string container_of(const fs::path& root) {
  std::error_code error;
  if (!environment("KUBERNETES_SERVICE_HOST").empty()) return "kubernetes";
  if (fs::exists(root / "run/.containerenv", error)) return "podman";
  if (fs::exists(root / ".dockerenv", error)) return "docker";
  if (fs::exists(root / ".singularity.d", error)) return "apptainer";
  std::ifstream file(root / "run/systemd/container");  // such as lxc or systemd-nspawn
  std::string name;
  std::getline(file, name);
  return trimmed(name);
}

// Returns the image, if whoever started the container says it.
std::string container_image() {
  for (const char* name : {"XSP_CONTAINER_IMAGE", "APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"}) {
    std::string image = environment(name);
    if (!image.empty()) return image;
  }
  return {};
}

std::string text_of(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f", value);
  return text;
}

}  // namespace

std::set<int> usable_processor_numbers() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  std::set<int> numbers;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) numbers.insert(i);
  }
  return numbers;
}

int usable_processors() { return static_cast<int>(usable_processor_numbers().size()); }

std::string Machine::line(const fs::path& path) const {
  std::ifstream file(root_ / path.relative_path());
  std::string text;
  std::getline(file, text);
  return trimmed(text);
}

std::optional<double> Machine::number(const fs::path& path) const { return parse(line(path)); }

std::string Machine::keyed_text(const fs::path& path, const std::string& key) const {
  std::ifstream file(root_ / path.relative_path());
  for (std::string text; std::getline(file, text);) {
    if (text.rfind(key, 0) != 0) continue;
    const size_t end = text.find_first_not_of(" \t", key.size());
    if (end == std::string::npos) continue;
    const bool separated = end > key.size() || text[end] == ':' || text[end] == '=';
    if (!separated) continue;
    return trimmed(text.substr(text[end] == ':' || text[end] == '=' ? end + 1 : end));
  }
  return {};
}

std::optional<double> Machine::keyed(const fs::path& path, const std::string& key) const {
  return parse(keyed_text(path, key));
}

fs::path Machine::control_group_file(const std::string& v2, const std::string& controller,
                                     const std::string& v1) const {
  std::ifstream groups(root_ / "proc/self/cgroup");
  for (std::string text; std::getline(groups, text);) {
    const size_t first = text.find(':');
    const size_t second = text.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + text.substr(first + 1, second - first - 1) + ",";
    const bool unified = controllers == ",,";
    if (!unified && controllers.find("," + controller + ",") == std::string::npos) continue;
    const fs::path mount = unified ? "sys/fs/cgroup" : "sys/fs/cgroup/" + controller;
    // Inside a container, the path of our own group may not be visible. Then the nearest visible
    // parent is used.
    for (fs::path group = fs::path(text.substr(second + 1)).relative_path();;
         group = group.parent_path()) {
      const fs::path file = mount / group / (unified ? v2 : v1);
      std::error_code error;
      if (fs::exists(root_ / file, error)) return file;
      if (group.empty()) break;
    }
  }
  return {};
}

std::optional<double> Machine::mean_mhz() const {
  double sum = 0;
  int count = 0;
  for (const fs::path& cpu : children(root_ / "sys/devices/system/cpu", "cpu")) {
    std::ifstream file(cpu / "cpufreq/scaling_cur_freq");
    double khz = 0;
    if (!(file >> khz)) continue;
    sum += khz / 1000;
    ++count;
  }
  if (count == 0) {
    std::ifstream file(root_ / "proc/cpuinfo");
    for (std::string text; std::getline(file, text);) {
      const size_t colon = text.find(':');
      if (text.rfind("cpu MHz", 0) != 0 || colon == std::string::npos) continue;
      sum += parse(text.substr(colon + 1)).value_or(0);
      ++count;
    }
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

std::optional<double> Machine::temperature_c() const {
  static const std::set<std::string> kProcessorSensors = {"coretemp", "k10temp", "zenpower",
                                                          "cpu_thermal"};
  std::optional<double> hottest;
  const auto consider = [&hottest](std::ifstream file) {
    double milli = 0;
    if (file >> milli) hottest = std::max(hottest.value_or(-300), milli / 1000);
  };
  for (const fs::path& monitor : children(root_ / "sys/class/hwmon", "hwmon")) {
    std::ifstream name_file(monitor / "name");
    std::string name;
    name_file >> name;
    if (kProcessorSensors.count(name) == 0) continue;
    for (const fs::path& sensor : children(monitor, "temp")) {
      if (sensor.string().ends_with("_input")) consider(std::ifstream(sensor));
    }
  }
  for (const fs::path& zone : children(root_ / "sys/class/thermal", "thermal_zone")) {
    std::ifstream type_file(zone / "type");
    std::string type;
    type_file >> type;
    if (type == "x86_pkg_temp" || type.rfind("cpu", 0) == 0) consider(std::ifstream(zone / "temp"));
  }
  return hottest;
}

MachineState Machine::state() const {
  return {mean_mhz(), temperature_c(), number("proc/loadavg"), {}};
}

std::optional<CpuTimes> Machine::cpu_times(const std::set<int>& processors) const {
  const double hertz = static_cast<double>(::sysconf(_SC_CLK_TCK));
  std::ifstream file(root_ / "proc/stat");
  CpuTimes times;
  for (std::string text; std::getline(file, text);) {
    std::istringstream fields(text);
    std::string name;
    double user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft_irq = 0, stolen = 0;
    fields >> name >> user >> nice >> system >> idle >> wait >> irq >> soft_irq >> stolen;
    if (!fields || !name.starts_with("cpu")) continue;
    int number = -1;  // the line without a number is the sum of all
    std::from_chars(name.data() + 3, name.data() + name.size(), number);
    if (processors.count(number) == 0) continue;
    times.busy_s += (user + nice + system + irq + soft_irq) / hertz;
    times.stolen_s += stolen / hertz;
    ++times.processors;
  }
  if (times.processors == 0) return std::nullopt;
  return times;
}

std::optional<uint64_t> Machine::available_memory_bytes() const {
  std::optional<double> available = keyed("proc/meminfo", "MemAvailable");
  if (available) *available *= 1024;
  // Without a limit, the file reads "max", or a number larger than any memory.
  const auto limit = number(control_group_file("memory.max", "memory", "memory.limit_in_bytes"));
  const auto used = number(control_group_file("memory.current", "memory", "memory.usage_in_bytes"));
  if (limit && used) {
    const double left = std::max(0.0, *limit - *used);
    available = available ? std::min(*available, left) : left;
  }
  if (!available) return std::nullopt;
  return static_cast<uint64_t>(*available);
}

uint64_t Machine::out_of_memory_kills() const {
  const fs::path group = control_group_file("memory.events", "memory", "memory.oom_control");
  return static_cast<uint64_t>(keyed("proc/vmstat", "oom_kill").value_or(0) +
                               keyed(group, "oom_kill").value_or(0));
}

uint64_t Machine::last_level_cache_bytes() const {
  int level_max = 0;
  uint64_t bytes = 0;
  std::set<std::string> seen;  // a cache is listed once for each processor that shares it
  for (const fs::path& cpu : children(root_ / "sys/devices/system/cpu", "cpu")) {
    for (const fs::path& cache : children(cpu / "cache", "index")) {
      std::ifstream level_file(cache / "level"), size_file(cache / "size"),
          shared_file(cache / "shared_cpu_list");
      int level = 0;
      std::string size, shared;
      if (!(level_file >> level >> std::ws) || !(size_file >> size)) continue;
      shared_file >> shared;
      if (level < level_max || !seen.insert(std::to_string(level) + ":" + shared).second) continue;
      if (level > level_max) bytes = 0;
      level_max = level;
      uint64_t value = std::strtoull(size.c_str(), nullptr, 10);
      if (size.ends_with('K')) value <<= 10;
      if (size.ends_with('M')) value <<= 20;
      bytes += value;
    }
  }
  return bytes;
}

std::map<std::string, std::string> Machine::facts() const {
  std::map<std::string, std::string> facts;
  const auto put = [&facts](const char* key, const std::string& value) {
    if (!value.empty()) facts[key] = value;
  };
  put("cpu", keyed_text("proc/cpuinfo", "model name"));
  put("cores_online", line("sys/devices/system/cpu/online"));
  put("processors", std::to_string(::sysconf(_SC_NPROCESSORS_ONLN)));
  put("processors_usable", std::to_string(usable_processors()));
  if (const auto kib = keyed("proc/meminfo", "MemTotal")) put("memory_bytes", text_of(*kib * 1024));
  if (const uint64_t bytes = last_level_cache_bytes(); bytes > 0) {
    put("last_level_cache_bytes", std::to_string(bytes));
  }
  utsname name;
  if (::uname(&name) == 0) {
    put("kernel", std::string(name.sysname) + " " + name.release);
    put("architecture", name.machine);
    put("host", name.nodename);
  }
  put("os", keyed_text("etc/os-release", "PRETTY_NAME"));
  put("hypervisor", hypervisor());
  put("governor", line("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
  put("boost", line("sys/devices/system/cpu/cpufreq/boost"));
  put("hyper_threading", line("sys/devices/system/cpu/smt/active"));
  put("clock_source", line("sys/devices/system/clocksource/clocksource0/current_clocksource"));
  put("container", container_of(root_));
  const std::string image = container_image();
  put("container_image", image.empty() ? keyed_text("run/.containerenv", "image") : image);
  put("container_cpu_limit", line(control_group_file("cpu.max", "cpu", "cpu.cfs_quota_us")));
  put("container_memory_limit",
      line(control_group_file("memory.max", "memory", "memory.limit_in_bytes")));
  return facts;
}

}  // namespace xsp::machine
