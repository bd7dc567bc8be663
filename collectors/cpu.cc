// cpu: reads the counters of the operating system and of the processor for each inference, summed
// over all threads of the process.
//
// Hardware counters come from perf_event_open(2) and count user space only. An unprivileged process
// may use them while /proc/sys/kernel/perf_event_paranoid is at most 2. Many virtual machines have
// none. The software counters come from getrusage(2) and the process's CPU clock, which need no
// privilege. If the processor has fewer counters than the collector asks for, the kernel
// multiplexes them; the count of an inference is then scaled by the share of its time that the
// counter was active, and is left out if it never was (cpu/hardware.h).

#include <linux/perf_event.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>

#include "collectors/cpu/hardware.h"
#include "xsp/plugin.h"

namespace {

enum class Source { kUsage, kHardware };

struct Known {
  const char* name;
  Source source;
  uint64_t config;  // event of perf_event_open, for hardware counters
};

constexpr std::array kKnown = {
    Known{"cpu_time_ns", Source::kUsage, 0},
    Known{"page_faults", Source::kUsage, 1},
    Known{"context_switches", Source::kUsage, 2},
    Known{"instructions", Source::kHardware, PERF_COUNT_HW_INSTRUCTIONS},
    Known{"cycles", Source::kHardware, PERF_COUNT_HW_CPU_CYCLES},
    Known{"cache_references", Source::kHardware, PERF_COUNT_HW_CACHE_REFERENCES},
    Known{"cache_misses", Source::kHardware, PERF_COUNT_HW_CACHE_MISSES},
    Known{"branches", Source::kHardware, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    Known{"branch_misses", Source::kHardware, PERF_COUNT_HW_BRANCH_MISSES},
};

struct Active {
  Known known{};
  int fd = -1;  // file descriptor of a hardware counter
  uint32_t key = 0;
  xsp::cpu::Reading before;  // of a hardware counter
  double usage_before = 0;
};

struct State {
  std::array<Active, kKnown.size()> active;
  size_t count = 0;
  std::string counters;
  std::string absent;
};

State& state() {
  static State the_state;
  return the_state;
}

// Opens a counter that counts from now on and includes threads which this process starts later.
// Returns -1 and sets errno on failure.
int open_hardware(uint64_t config) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.config = config;
  attributes.inherit = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

// Returns an empty reading on failure.
xsp::cpu::Reading read_hardware(int fd) {
  xsp::cpu::Reading reading;
  if (read(fd, &reading, sizeof reading) != static_cast<ssize_t>(sizeof reading)) return {};
  return reading;
}

double read_usage(uint64_t which) {
  if (which == 0) {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return which == 1 ? static_cast<double>(usage.ru_minflt + usage.ru_majflt)
                    : static_cast<double>(usage.ru_nvcsw + usage.ru_nivcsw);
}

xsp_status probe(const xsp_host*, xsp_collector_probe* out) {
  State& s = state();
  s.counters.clear();
  s.absent.clear();
  int error = 0;
  for (const Known& known : kKnown) {
    bool is_here = true;
    if (known.source == Source::kHardware) {
      const int fd = open_hardware(known.config);
      is_here = fd >= 0;
      if (is_here) {
        close(fd);
      } else {
        error = errno;
      }
    }
    std::string& list = is_here ? s.counters : s.absent;
    // The face divides the names of those that are here; those that are not are prose.
    if (!list.empty()) list += is_here ? "," : ", ";
    list += known.name;
  }
  if (!s.absent.empty()) {
    const bool is_forbidden = error == EACCES || error == EPERM;
    const bool is_none = error == ENOENT || error == ENODEV || error == EOPNOTSUPP;
    s.absent += is_forbidden ? ": not permitted: set /proc/sys/kernel/perf_event_paranoid to 2"
                             : ": this processor or virtual machine does not offer them";
    if (!is_forbidden && !is_none) s.absent += std::string(": ") + std::strerror(error);
  }
  out->counters = s.counters.c_str();
  out->absent = s.absent.empty() ? nullptr : s.absent.c_str();
  return XSP_OK;
}

xsp_status start(const xsp_host* host, const xsp_collect_options* options) {
  State& s = state();
  s.count = 0;
  for (size_t i = 0; i < options->counter_count; ++i) {
    const std::string_view wanted = options->counters[i];
    for (const Known& known : kKnown) {
      if (wanted != known.name) continue;
      Active active;
      active.known = known;
      active.key = xsp_intern_key(known.name);
      if (known.source == Source::kHardware) active.fd = open_hardware(known.config);
      if (known.source == Source::kHardware && active.fd < 0) {
        const std::string why = std::string(known.name) +
                                ": cannot be counted: " + std::strerror(errno) +
                                ": see `xsp doctor`";
        host->fail(host->context, why.c_str());
        return XSP_NOT_AVAILABLE;
      }
      if (s.count < s.active.size()) s.active[s.count++] = active;
    }
  }
  return XSP_OK;
}

void begin() {
  State& s = state();
  for (size_t i = 0; i < s.count; ++i) {
    Active& one = s.active[i];
    if (one.known.source == Source::kHardware) {
      one.before = read_hardware(one.fd);
    } else {
      one.usage_before = read_usage(one.known.config);
    }
  }
}

void end(xsp_span* span) {
  State& s = state();
  // All counters are read before any is recorded, because recording must not be counted.
  std::array<double, kKnown.size()> delta{};
  for (size_t i = 0; i < s.count; ++i) {
    const Active& one = s.active[i];
    delta[i] = one.known.source == Source::kHardware
                   ? xsp::cpu::counted_between(one.before, read_hardware(one.fd))
                   : read_usage(one.known.config) - one.usage_before;
  }
  for (size_t i = 0; i < s.count; ++i) {
    if (!std::isnan(delta[i])) xsp_span_counter(span, s.active[i].key, delta[i]);
  }
}

xsp_status stop() {
  State& s = state();
  for (size_t i = 0; i < s.count; ++i) {
    if (s.active[i].fd >= 0) close(s.active[i].fd);
  }
  s.count = 0;
  return XSP_OK;
}

}  // namespace

extern "C" XSP_API const xsp_collector xsp_collector_entry = {
    .struct_size = sizeof(xsp_collector),
    .abi = XSP_PLUGIN_ABI,
    .name = "cpu",
    .help =
        "hardware counters need perf events: a bare machine, or a virtual one with a virtual PMU",
    .levels = 0,
    .probe = probe,
    .start = start,
    .begin = begin,
    .end = end,
    .stop = stop,
    .device = nullptr,
    .counting = XSP_COUNTS_INFERENCES,
    .counter_names = nullptr,
    .runs_needed = nullptr,
    .describe = nullptr,
    .measure = nullptr,
    .state = nullptr,
    .set_levels = nullptr,
    .is_preloaded = 0,
};
