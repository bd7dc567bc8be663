#include "process/load/run_delay.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "shared/base/clock.h"

namespace xsp::process {
namespace {

using Steady = std::chrono::steady_clock;

void compute_for(std::chrono::milliseconds time) {
  for (const auto end = Steady::now() + time; Steady::now() < end;) {
  }
}

void stay_on(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  ASSERT_EQ(::sched_setaffinity(0, sizeof set, &set), 0);
}

// Three threads share one processor with the one that is measured, so it waits for some half of the
// time at least.
TEST(RunDelay, CountsTheTimeThatOtherThreadsHave) {
  if (RunDelay().ns() < 0) GTEST_SKIP() << "this kernel does not count the time";
  const int processor = ::sched_getcpu();
  std::atomic<bool> is_over{false};
  std::vector<std::thread> others;
  for (int i = 0; i < 3; ++i) {
    others.emplace_back([&] {
      stay_on(processor);
      while (!is_over) {
      }
    });
  }
  int64_t waited_ns = 0;
  int64_t elapsed_ns = 0;
  std::thread([&] {
    stay_on(processor);
    const RunDelay delay;
    const int64_t before_ns = delay.ns();
    const int64_t began_ns = clock_ns(CLOCK_MONOTONIC);
    // A busy machine may let the others begin late.
    while (waited_ns < 200'000'000 && elapsed_ns < 20'000'000'000) {
      compute_for(std::chrono::milliseconds(50));
      waited_ns = delay.ns() - before_ns;
      elapsed_ns = clock_ns(CLOCK_MONOTONIC) - began_ns;
    }
  }).join();
  is_over = true;
  for (std::thread& one : others) one.join();
  EXPECT_GT(waited_ns, 100'000'000);
  EXPECT_LT(waited_ns, elapsed_ns);
}

}  // namespace
}  // namespace xsp::process
