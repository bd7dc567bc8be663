// Measures the cost of a span, beside the machine's own floor: two readings of its time-stamp
// counter.
//
//   floor         two clock readings, nothing else
//   span_hot      begin and end, in bursts that the ring holds, the drainer mostly asleep
//   span_drained  begin and end while the file is written at the same time without a pause
//   span_off      begin and end while nothing is recorded
//
// A lost span costs a different amount than a recorded one, so none may be lost: before a ring can
// be full, its thread waits until its spans are in the file. The wait is not counted.
//
// Repetitions are interleaved, since machines drift; the table at the end has their medians. Takes
// Google Benchmark's options. With --benchmark_format=json the table goes to standard error.
#include <benchmark/benchmark.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "shared/base/clock.h"
#include "xsp/xsp.h"

namespace {

namespace fs = std::filesystem;

// Half of a ring: 8 MiB of 32-byte records.
constexpr int kBurst = 1 << 17;
// Beyond two rdtsc; for span_off, which reads no clock, in total.
const std::map<std::string, double> kBudgetNs = {
    {"span_hot", 5}, {"span_drained", 30}, {"span_off", 1}};

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

// Drains all rings again and again, on a thread of its own.
class BusyDrainer {
 public:
  BusyDrainer() : thread_([this] { drain(); }) {}
  ~BusyDrainer() {
    quits_ = true;
    thread_.join();
  }
  // Waits until all spans of the calling thread are in the file.
  void wait() const {
    const uint64_t pass = begun_ + 1;
    while (ended_ < pass) std::this_thread::yield();
  }

 private:
  void drain() {
    while (!quits_) {
      const uint64_t pass = ++begun_;
      xsp_flush();
      ended_ = pass;
    }
  }

  std::atomic<bool> quits_{false};
  std::atomic<uint64_t> begun_{0};  // passes
  std::atomic<uint64_t> ended_{0};
  std::thread thread_;
};
std::optional<BusyDrainer> drainer;

void span_drained(benchmark::State& state) {
  start(state);
  if (state.thread_index() == 0) drainer.emplace();
  while (state.KeepRunningBatch(kBurst)) {
    for (int i = 0; i < kBurst; ++i) one_span(&hot_site);
    state.PauseTiming();
    drainer->wait();
    state.ResumeTiming();
  }
  if (state.thread_index() != 0) return;
  drainer.reset();
  const Recorded recorded = stop(state);
  drained_total.spans += recorded.spans;
  drained_total.bytes += recorded.bytes;
  drained_total.dropped += recorded.dropped;
  // The counter is the recorded share, not the lost one: the deviation of zeros is not a number,
  // which JSON cannot represent.
  state.counters["recorded_pct"] = 100 * recorded.spans / (recorded.spans + recorded.dropped);
}

void span_off(benchmark::State& state) {
  for (auto _ : state) one_span(&hot_site);
}

// Collects the repetitions of every benchmark, in nanoseconds per span and thread.
class Table {
 public:
  void add(const std::vector<benchmark::BenchmarkReporter::Run>& runs) {
    for (const benchmark::BenchmarkReporter::Run& run : runs) {
      using Run = benchmark::BenchmarkReporter::Run;
      if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
      const Key key = {run.run_name.function_name, static_cast<int>(run.threads)};
      // Iterations and processor time are sums over all threads; wall-clock time is a mean.
      const double spans = static_cast<double>(run.iterations);
      cpu_ns_[key].push_back(run.cpu_accumulated_time * 1e9 / spans);
      wall_ns_[key].push_back(run.real_accumulated_time * 1e9 / spans *
                              static_cast<double>(run.threads));
    }
  }

  void print(std::FILE* file) {
    std::fprintf(file, "\n%-13s %7s | %8s %8s %8s %8s %8s | %8s %8s\n", "ns per span", "threads",
                 "cpu", "2 rdtsc", "over", "budget", "ratio", "wall", "over");
    for (const char* name : {"span_hot", "span_drained", "span_off"}) print_row(file, name);
    if (drained_total.spans > 0) {
      std::fprintf(file, "on disk: %.2f bytes per span; lost while draining: %.0f of %.0f spans\n",
                   drained_total.bytes / drained_total.spans, drained_total.dropped,
                   drained_total.dropped + drained_total.spans);
    }
    if (drained_total.dropped > 0) {
      std::fprintf(file, "note: span_drained is no cost of recorded spans: some were lost\n");
    }
    if (!xsp::has_invariant_tsc()) {
      std::fprintf(file, "note: no invariant TSC here: spans are timed by CLOCK_MONOTONIC\n");
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
  void print_row(std::FILE* file, const char* name) {
    const double budget_ns = kBudgetNs.at(name);
    for (const int threads : {1, 2}) {
      const double cpu = median(&cpu_ns_, {name, threads});
      const double wall = median(&wall_ns_, {name, threads});
      if (cpu == 0) continue;
      const bool is_off = std::string(name) == "span_off";
      const double cpu_floor = is_off ? 0 : median(&cpu_ns_, {"floor", threads});
      const double wall_floor = is_off ? 0 : median(&wall_ns_, {"floor", threads});
      const double over = cpu - cpu_floor;
      std::fprintf(file, "%-13s %7d | %8.2f %8.2f %+8.2f %+8.0f %8.2f | %8.2f %+8.2f\n", name,
                   threads, cpu, cpu_floor, over, budget_ns, over / budget_ns, wall,
                   wall - wall_floor);
    }
  }

  Times cpu_ns_;
  Times wall_ns_;
};

// Shows the runs as `Reporter` does, and adds them to the table.
template <typename Reporter>
class Gathering : public Reporter {
 public:
  explicit Gathering(Table* table) : table_(table) {}
  void ReportRuns(const std::vector<benchmark::BenchmarkReporter::Run>& runs) override {
    Reporter::ReportRuns(runs);
    table_->add(runs);
  }

 private:
  Table* table_;
};

template <typename Reporter>
void run(std::FILE* table_file) {
  Table table;
  Gathering<Reporter> reporter(&table);
  benchmark::RunSpecifiedBenchmarks(&reporter);
  table.print(table_file);
}

// Google Benchmark does not expose the value of this option.
std::string format_of(int argc, char** argv) {
  const std::string option = "--benchmark_format=";
  const char* variable = std::getenv("BENCHMARK_FORMAT");
  std::string format = variable != nullptr ? variable : "console";
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]).rfind(option, 0) == 0) format = argv[i] + option.size();
  }
  return format;
}

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
  const std::string format = format_of(argc, argv);
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
  if (format == "json") {
    run<benchmark::JSONReporter>(stderr);
  } else if (format == "console") {
    run<benchmark::ConsoleReporter>(stdout);
  } else {
    benchmark::RunSpecifiedBenchmarks();
  }
  return 0;
}
