// This benchmark measures the processor time that the sampler takes to look at a program's threads.
//
//   unwind_new    the callers of one place, 16 functions deep, for the first time in that stack
//   unwind_known  again, with another innermost function: the callers are known
//   look_running  a whole look, at several threads that compute 16 functions deep
//   look_waiting  likewise, at threads that sleep and wake between two looks
//
// To count instructions:
//   valgrind --tool=callgrind --toggle-collect='*Unwinder::unwind(*'
//     build/release/bin/bench_sampler --benchmark_filter=unwind_new
// counts those of 1,000 times. Takes Google Benchmark's options. The table at the end shows which
// share of the program's own processor time this would be at 200 looks a second, without the
// sampler's own limit.
#include <benchmark/benchmark.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "process/sample/look.h"
#include "shared/base/clock.h"

namespace {

using xsp::process::kNativeDepthMax;
using xsp::process::kProgramCounter;
using xsp::process::kStackCopyBytes;
using xsp::process::kStackPointer;
using xsp::process::Looker;
using xsp::process::Modules;
using xsp::process::NativeFrame;
using xsp::process::NativeStart;
using xsp::process::OwnMemory;
using xsp::process::Unwinder;

constexpr int kDepth = 16;
constexpr double kRateHz = 200;
constexpr int kUnwinds = 1000;
constexpr int kLooks = 200;

volatile double sink;

template <int depth, typename Work>
__attribute__((noinline)) double below(const Work& work) {
  if constexpr (depth == 0) {
    work();
    return sink;
  } else {
    return below<depth - 1>(work) + sink;
  }
}

// Holds registers of this place, and the end of the stack.
struct Place {
  NativeStart start = {};
  std::vector<uint8_t> bytes;

  __attribute__((noinline)) void take() {
    ucontext_t context;
    getcontext(&context);
    const greg_t* const all = context.uc_mcontext.gregs;
    const int by_number[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                             REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                             REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    for (size_t i = 0; i < std::size(by_number); ++i) {
      start.registers[i] = static_cast<uint64_t>(all[by_number[i]]);
    }
    start.known = (1u << std::size(by_number)) - 1;
    start.stack = start.registers[kStackPointer];
    OwnMemory memory;
    memory.begin();
    bytes.resize(kStackCopyBytes);
    while (!memory.read(start.stack, bytes.data(), bytes.size())) bytes.resize(bytes.size() / 2);
    start.bytes = bytes.data();
    start.size = bytes.size();
  }
};

void unwind(benchmark::State& state, bool is_known) {
  OwnMemory memory;
  memory.begin();
  const auto modules = std::make_unique<Modules>();
  modules->refresh(
      xsp::clock_ns(CLOCK_MONOTONIC), [](void*, uint32_t, const char*) {}, nullptr);
  const auto unwinder = std::make_unique<Unwinder>();
  if (!unwinder->begin(&memory, modules.get())) return state.SkipWithError("no unwinder here");
  std::vector<NativeFrame> frames(kNativeDepthMax);
  std::vector<NativeFrame> known(kNativeDepthMax);
  below<kDepth>([&] {
    Place place;
    place.take();
    size_t known_count = 0;
    const auto once = [&] {
      return unwinder->unwind(place.start, 0, 0, known.data(), known_count, frames.data());
    };
    const size_t count = once();
    if (is_known) {
      known = frames;
      known_count = count;
    }
    for (auto _ : state) benchmark::DoNotOptimize(once());
    state.counters["frames"] = static_cast<double>(count);
  });
  unwinder->end();
}

void unwind_new(benchmark::State& state) { unwind(state, false); }
void unwind_known(benchmark::State& state) { unwind(state, true); }
BENCHMARK(unwind_new)->Iterations(kUnwinds);
BENCHMARK(unwind_known)->Iterations(kUnwinds);

class Program {
 public:
  Program(int64_t count, bool waits) {
    for (int64_t i = 0; i < count; ++i) {
      threads_.emplace_back([this, waits] {
        below<kDepth>([this, waits] {
          while (!ends_) {
            if (waits) usleep(2000);
          }
        });
      });
    }
  }
  ~Program() {
    ends_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> ends_{false};
  std::vector<std::thread> threads_;
};

void look(benchmark::State& state, bool waits) {
  const Program program(state.range(0), waits);
  void* const memory = mmap(nullptr, sizeof(Looker), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return state.SkipWithError("no memory");
  Looker* const looker = new (memory) Looker;
  looker->prepare({});
  looker->begin();
  const int32_t self = gettid();
  const auto once = [&] {
    looker->complete_look();
    looker->look_at_threads(self);
    const int64_t now_ns = xsp::clock_ns(CLOCK_REALTIME);
    looker->look_at_stacks(now_ns, 5'000'000);
  };
  for (int i = 0; i < 20; ++i) once();
  for (auto _ : state) {
    usleep(5000);
    looker->log().flush();
    const int64_t before_ns = xsp::clock_ns(CLOCK_THREAD_CPUTIME_ID);
    once();
    state.SetIterationTime(static_cast<double>(xsp::clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns) /
                           1e9);
  }
  looker->end();
  munmap(memory, sizeof(Looker));
}

void look_running(benchmark::State& state) { look(state, false); }
void look_waiting(benchmark::State& state) { look(state, true); }
BENCHMARK(look_running)->Arg(1)->Arg(8)->Arg(64)->Iterations(kLooks)->UseManualTime();
BENCHMARK(look_waiting)->Arg(1)->Arg(8)->Arg(64)->Iterations(kLooks)->UseManualTime();

// Shows the share of the looks beside the usual columns.
class Shares : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    benchmark::ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      const std::string name = run.run_name.function_name;
      if (run.error_occurred || run.run_type != Run::RT_Iteration || name != "look_running") {
        continue;
      }
      const double threads = std::stod(run.run_name.args);
      const double processors = static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
      const double look_us = run.GetAdjustedRealTime() / 1e3;
      table_ += name + "/" + run.run_name.args + ": " + std::to_string(look_us) +
                " us a look; of " + std::to_string(std::min(threads, processors)) +
                " processors at 200 looks a second " +
                std::to_string(look_us * kRateHz / 1e4 / std::min(threads, processors)) + " %\n";
    }
  }
  void Finalize() override { std::fputs(table_.c_str(), stdout); }

 private:
  std::string table_;
};

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  Shares shares;
  benchmark::RunSpecifiedBenchmarks(&shares);
  return 0;
}
