#include "process/load/processor_clock.h"

#include <time.h>

#include <algorithm>
#include <cmath>

#include "shared/base/clock.h"

namespace xsp::process {
namespace {

constexpr int64_t kShort = 500, kLong = 2500;  // cycles
constexpr int kTries = 2;
constexpr double kMhzMin = 100, kMhzMax = 10'000;

#if defined(__x86_64__) || defined(__aarch64__)
// Executes so many dependent instructions, a multiple of 50.
void run_chain(int64_t cycles) {
  uint64_t value = static_cast<uint64_t>(cycles);
  const uint64_t other = 0x9e3779b97f4a7c15;
  for (int64_t i = 0; i < cycles; i += 50) {
#if defined(__x86_64__)
    asm volatile(".rept 50\n xor %1, %0\n .endr" : "+r"(value) : "r"(other) : "cc");
#else
    asm volatile(".rept 50\n eor %0, %0, %1\n .endr" : "+r"(value) : "r"(other));
#endif
  }
}

int64_t time_of_chain(int64_t cycles) {
  const int64_t start_ns = clock_ns(CLOCK_MONOTONIC);
  run_chain(cycles);
  return clock_ns(CLOCK_MONOTONIC) - start_ns;
}
#endif

}  // namespace

int64_t processor_clock_mhz() {
#if defined(__x86_64__) || defined(__aarch64__)
  // The shortest of a few times is one without an interrupt.
  int64_t short_ns = time_of_chain(kShort), long_ns = time_of_chain(kLong);
  for (int i = 1; i < kTries; ++i) {
    short_ns = std::min(short_ns, time_of_chain(kShort));
    long_ns = std::min(long_ns, time_of_chain(kLong));
  }
  if (long_ns <= short_ns) return -1;
  const double mhz =
      1e3 * static_cast<double>(kLong - kShort) / static_cast<double>(long_ns - short_ns);
  return mhz >= kMhzMin && mhz <= kMhzMax ? std::llround(mhz) : -1;
#else
  return -1;
#endif
}

}  // namespace xsp::process
