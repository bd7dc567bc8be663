// Computes the count of a hardware counter in an interval from two readings.
#ifndef XSP_COLLECTORS_CPU_HARDWARE_H_
#define XSP_COLLECTORS_CPU_HARDWARE_H_

#include <cstdint>
#include <limits>

namespace xsp::cpu {

// A reading of a counter, as read(2) returns it: see perf_event_open(2). The times are sums over
// all threads of the process. All zero: it could not be read.
struct Reading {
  uint64_t value = 0;
  uint64_t enabled_ns = 0;
  uint64_t running_ns = 0;  // less than enabled_ns if the kernel multiplexed the counter
};

// Returns the count between two readings, scaled by the share of that interval's time in which the
// counter was active; NaN if it never was, or if one was not read. The share of the whole process
// is another: totals that are scaled by it differ by more than a short interval counts, and may
// even decrease.
inline double counted_between(const Reading& before, const Reading& after) {
  if (before.enabled_ns == 0 || after.running_ns <= before.running_ns)
    return std::numeric_limits<double>::quiet_NaN();
  const auto value = static_cast<double>(after.value - before.value);
  const auto enabled_ns = static_cast<double>(after.enabled_ns - before.enabled_ns);
  return value * enabled_ns / static_cast<double>(after.running_ns - before.running_ns);
}

}  // namespace xsp::cpu

#endif  // XSP_COLLECTORS_CPU_HARDWARE_H_
