// planted: rule=threads, culprit=count|worker|sharing, device=cpu
// cause: the threads' counters lie in one line of the cache, which wanders between the cores.
// bound: the time in which the counting threads wait for the line, about six tenths of a step.
// Counts the values of a signal that lie above a limit, in two threads.
#include <atomic>
#include <thread>
#include <vector>

#include "common.h"

namespace {

constexpr int kThreads = 2;
constexpr int kCount = 1 << 21;
constexpr int kApart = 16;  // counters of 8 bytes, so that each has two cache lines

// Every thread counts in shared memory, like statistics that other threads read meanwhile.
void count(const std::vector<float>& values, int from, int to, std::atomic<long>* counter) {
  for (int i = from; i < to; ++i) {
    if (values[i] > 0.1f) {
      counter->fetch_add(1, std::memory_order_relaxed);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const planted::Options options(argc, argv);
  if (std::thread::hardware_concurrency() < kThreads) {
    std::printf("skipped: there is one processor alone\n");
    return planted::kSkipped;
  }
  std::vector<float> values(kCount);
  for (int i = 0; i < kCount; ++i) values[i] = static_cast<float>(i % 97) / 97;
  alignas(128) static std::atomic<long> counters[kThreads * kApart];
  const int apart = options.is_mended ? kApart : 1;
  planted::repeat(options, [&] {
    std::vector<std::thread> workers;
    for (int i = 0; i < kThreads; ++i) {
      workers.emplace_back(count, std::cref(values), kCount / kThreads * i,
                           kCount / kThreads * (i + 1), &counters[i * apart]);
    }
    for (std::thread& worker : workers) worker.join();
  });
}
