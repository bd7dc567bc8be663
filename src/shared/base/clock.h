// The clocks that time spans, and a function that samples them together.
//
// Ticks come from the time-stamp counter if the processor promises that it runs at one rate through
// every power state (invariant TSC). Otherwise, also on other architectures, they are nanoseconds
// of CLOCK_MONOTONIC. A trace uses one of the two throughout.
#ifndef XSP_SHARED_BASE_CLOCK_H_
#define XSP_SHARED_BASE_CLOCK_H_

#include <time.h>

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace xsp {

enum class TickSource : uint32_t { kTsc = 1, kMonotonic = 2 };

inline int64_t clock_ns(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Returns the counter itself; it is meaningful only if has_invariant_tsc().
inline uint64_t read_tsc() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return 0;
#endif
}

inline bool has_invariant_tsc() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
#else
  return false;
#endif
}

inline uint64_t read_ticks(TickSource source) {
  return source == TickSource::kTsc ? read_tsc() : static_cast<uint64_t>(clock_ns(CLOCK_MONOTONIC));
}

// Holds the readings of the three clocks at one moment.
struct Anchor {
  uint64_t ticks = 0;
  int64_t monotonic_ns = 0;
  int64_t realtime_ns = 0;
};

// Samples the clocks back to back. It takes the tightest of a few tries, so that a preemption
// between two readings does not shift one clock against another.
inline Anchor sample_anchor(TickSource source) {
  Anchor best;
  uint64_t best_width = UINT64_MAX;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const uint64_t before = read_ticks(source);
    const int64_t monotonic_ns = clock_ns(CLOCK_MONOTONIC);
    const int64_t realtime_ns = clock_ns(CLOCK_REALTIME);
    const uint64_t after = read_ticks(source);
    if (after - before >= best_width) continue;
    best_width = after - before;
    // The monotonic clock was read after about a third of the interval.
    const uint64_t ticks =
        source == TickSource::kTsc ? before + best_width / 3 : static_cast<uint64_t>(monotonic_ns);
    best = {ticks, monotonic_ns, realtime_ns};
  }
  return best;
}

}  // namespace xsp

#endif  // XSP_SHARED_BASE_CLOCK_H_
