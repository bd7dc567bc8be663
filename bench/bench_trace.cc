// What a span costs, beside the machine's own floor: two readings of its time-stamp counter.
//
//   floor         two clock readings, nothing else
//   span_hot      begin and end, in bursts that the ring holds, the drainer mostly asleep
//   span_drained  begin and end without a pause, the drainer writing the file beside it
//   span_off      begin and end while nothing is recorded
//
// Repetitions are interleaved, since machines drift; the table at the end holds their medians.
// Takes Google Benchmark's options.
#include <benchmark/benchmark.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "xsp/xsp.h"

namespace {

namespace fs = std::filesystem;

// Half of a ring: 8 MiB of 32-byte records.
constexpr int kBurst = 1 << 17;

fs::path trace_path() {
  return fs::temp_directory_path() / ("bench_trace." + std::to_string(getpid()) + ".xtrace");
}

struct Recorded {
  double spans = 0;
  double bytes = 0;
  double dropped = 0;
};
Recorded drained_total;

void start(const benchmark::State& state) {
  if (state.thread_index() != 0) return;
  const std::string path = trace_path().string();
  xsp_options options = {};
  options.struct_size = sizeof options;
  options.path = path.c_str();
  if (const int error = xsp_start(&options); error != 0) {
    std::fprintf(stderr, "error: %s: cannot be recorded to: set TMPDIR\n", path.c_str());
    std::exit(1);
  }
}

Recorded stop(const benchmark::State& state) {
  if (state.thread_index() != 0) return {};
  xsp_stop();
  xsp_counts counts = {};
  counts.struct_size = sizeof counts;
  xsp_get_counts(&counts);
  const double bytes = static_cast<double>(fs::file_size(trace_path()));
  fs::remove(trace_path());
  return {static_cast<double>(counts.recorded - counts.dropped_file), bytes,
          static_cast<double>(counts.dropped_ring + counts.dropped_file)};
}

void one_span(xsp_site* site) {
  xsp_span span = xsp_begin(site);
  benchmark::ClobberMemory();
  xsp_end(&span);
}

xsp_site hot_site = XSP_SITE(XSP_LEVEL_LAYER, "hot");

void floor(benchmark::State& state) {
  for (auto _ : state) {
    uint64_t begin = xsp::read_tsc();
    benchmark::ClobberMemory();
    uint64_t duration = xsp::read_tsc() - begin;
    benchmark::DoNotOptimize(duration);
  }
}

void span_hot(benchmark::State& state) {
  start(state);
  while (state.KeepRunningBatch(kBurst)) {
    for (int i = 0; i < kBurst; ++i) one_span(&hot_site);
    state.PauseTiming();
    xsp_flush();
    state.ResumeTiming();
  }
  stop(state);
}

void span_drained(benchmark::State& state) {
  start(state);
  for (auto _ : state) one_span(&hot_site);
  const Recorded recorded = stop(state);
  if (state.thread_index() != 0) return;
  drained_total.spans += recorded.spans;
  drained_total.bytes += recorded.bytes;
  drained_total.dropped += recorded.dropped;
}

void span_off(benchmark::State& state) {
  for (auto _ : state) one_span(&hot_site);
}

// Gathers the repetitions of every benchmark, in nanoseconds per span and thread.
class Table : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
      const Key key = {run.run_name.function_name, static_cast<int>(run.threads)};
      // Iterations are those of all threads, and so is processor time; wall-clock time is a mean.
      const double spans = static_cast<double>(run.iterations);
      cpu_ns_[key].push_back(run.cpu_accumulated_time * 1e9 / spans);
      wall_ns_[key].push_back(run.real_accumulated_time * 1e9 / spans *
                              static_cast<double>(run.threads));
    }
  }

  void print() {
    std::printf("\n%-13s %7s | %8s %8s %8s %8s | %8s %8s\n", "ns per span", "threads", "cpu",
                "2 rdtsc", "over", "budget", "wall", "over");
    print_row("span_hot", 5);
    print_row("span_drained", 30);
    print_row("span_off", 1);
    if (drained_total.spans > 0) {
      std::printf("on disk: %.2f bytes per span; lost while draining: %.3f %% (counted)\n",
                  drained_total.bytes / drained_total.spans,
                  100 * drained_total.dropped / (drained_total.dropped + drained_total.spans));
    }
    if (!xsp::has_invariant_tsc()) {
      std::printf("note: no invariant TSC here: spans are timed by CLOCK_MONOTONIC\n");
    }
  }

 private:
  using Key = std::pair<std::string, int>;  // benchmark, threads
  using Times = std::map<Key, std::vector<double>>;

  static double median(Times* times, const Key& key) {
    std::vector<double>& values = (*times)[key];
    std::sort(values.begin(), values.end());
    return values.empty() ? 0 : values[values.size() / 2];
  }
  // The budget is over two rdtsc; of span_off, which reads no clock, in all.
  void print_row(const char* name, double budget_ns) {
    for (const int threads : {1, 2}) {
      const double cpu = median(&cpu_ns_, {name, threads});
      const double wall = median(&wall_ns_, {name, threads});
      if (cpu == 0) continue;
      const bool is_off = std::string(name) == "span_off";
      const double cpu_floor = is_off ? 0 : median(&cpu_ns_, {"floor", threads});
      const double wall_floor = is_off ? 0 : median(&wall_ns_, {"floor", threads});
      std::printf("%-13s %7d | %8.2f %8.2f %+8.2f %+8.0f | %8.2f %+8.2f\n", name, threads, cpu,
                  cpu_floor, cpu - cpu_floor, budget_ns, wall, wall - wall_floor);
    }
  }

  Times cpu_ns_;
  Times wall_ns_;
};

BENCHMARK(floor)->ThreadRange(1, 2)->UseRealTime();
BENCHMARK(span_hot)->ThreadRange(1, 2)->UseRealTime();
BENCHMARK(span_drained)->ThreadRange(1, 2)->UseRealTime();
BENCHMARK(span_off)->ThreadRange(1, 2)->UseRealTime();

}  // namespace

int main(int argc, char** argv) {
  // Defaults come first, so that the command line's own options win.
  char repetitions[] = "--benchmark_repetitions=7";
  char interleaving[] = "--benchmark_enable_random_interleaving=true";
  char min_time[] = "--benchmark_min_time=0.1";
  std::vector<char*> arguments = {argv[0], repetitions, interleaving, min_time};
  arguments.insert(arguments.end(), argv + 1, argv + argc);
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
  Table table;
  benchmark::RunSpecifiedBenchmarks(&table);
  table.print();
  return 0;
}
