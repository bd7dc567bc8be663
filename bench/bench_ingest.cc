// Measures how fast a trace becomes an .xsp file, beside the budgets.
//
//   decode    the trace's chunks to columns, nothing else
//   parents   decode, and every span's parent, ancestors, nesting and exclusive time
//   ingest    all of it: parents, and the rows of the .xsp file, made durable
//
// The trace is recorded through libxsp.so: a frame around the whole program; in it iterations of a
// model of 60 layers, each with two calls inside.
//
//   bench_ingest [--spans N] [--keep FILE.xsp] [Google Benchmark's options]
// . --keep writes an .xsp file instead, of about N spans as a profile would leave it: for each of
// three batch sizes a run of the model alone, and one of the model and its 124 layers, thousands of
// iterations each. The time of analyses is measured on this file.
#include <benchmark/benchmark.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "desk/correlate/correlate.h"
#include "desk/store/database.h"
#include "desk/store/ingest.h"
#include "shared/trace/reader.h"
#include "xsp/xsp.h"

namespace {

namespace fs = std::filesystem;

constexpr int kLayers = 60;
constexpr uint64_t kSpansPerIteration = 1 + kLayers * 3;
constexpr uint64_t kFlushSpans = 1 << 16;  // a quarter of a ring: nothing is lost

[[noreturn]] void stop_with(const std::string& text) {
  std::fprintf(stderr, "error: %s\n", text.c_str());
  std::exit(1);
}

// Represents a folder of this process, removed at the end.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "bench_ingest.XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  fs::path file(const char* name) const { return path_ / name; }

 private:
  fs::path path_;
};

void start_recording(const fs::path& path) {
  const std::string name = path.string();
  xsp_options options = {};
  options.struct_size = sizeof options;
  options.path = name.c_str();
  if (xsp_start(&options) != 0) stop_with(name + ": cannot be recorded to: set TMPDIR");
}

void stop_recording() {
  if (xsp_stop() != 0) stop_with("the trace could not be written: free space, or set TMPDIR");
  xsp_counts counts = {};
  counts.struct_size = sizeof counts;
  xsp_get_counts(&counts);
  if (counts.dropped_ring + counts.dropped_file > 0) stop_with("spans were lost while recording");
}

// Records the spans of a program that is annotated at four levels, while they happen.
void record_live(const fs::path& path, uint64_t spans) {
  start_recording(path);
  static xsp_site frame_site = XSP_SITE(XSP_LEVEL_APPLICATION, "main");
  static xsp_site model_site = XSP_SITE(XSP_LEVEL_MODEL, "resnet50");
  static xsp_site call_site = XSP_SITE(XSP_LEVEL_LIBRARY, "sgemm");
  std::vector<xsp_site> layers(kLayers);
  std::vector<std::string> names(kLayers);
  for (size_t i = 0; i < kLayers; ++i) {
    names[i] = "stage" + std::to_string(i / 12) + "/unit" + std::to_string(i % 12) + "/conv";
    layers[i] = {names[i].c_str(), i % 3 == 0 ? "Conv" : "Relu", XSP_LEVEL_LAYER, 0};
  }
  const uint32_t key = xsp_intern_key("iteration");
  xsp_span frame = xsp_begin(&frame_site);
  uint64_t unflushed = 0;
  const uint64_t iterations = spans / kSpansPerIteration;
  for (uint64_t i = 0; i < iterations; ++i) {
    xsp_span model = xsp_begin(&model_site);
    xsp_span_int(&model, key, static_cast<int64_t>(i));
    for (xsp_site& site : layers) {
      xsp_span layer = xsp_begin(&site);
      for (int call = 0; call < 2; ++call) {
        xsp_span inner = xsp_begin(&call_site);
        xsp_end(&inner);
      }
      xsp_end(&layer);
    }
    xsp_end(&model);
    unflushed += kSpansPerIteration;
    if (unflushed >= kFlushSpans) {
      xsp_flush();
      unflushed = 0;
    }
  }
  xsp_end(&frame);
  stop_recording();
}

class NoValues final : public xsp::correlate::ValueSink {
 public:
  xsp::Status value(uint64_t, const xsp::trace::SpanValue&) override { return xsp::Ok{}; }
};

xsp::trace::Reader open_trace(const fs::path& path) {
  auto reader = xsp::trace::Reader::open(path);
  if (!reader.ok()) stop_with(reader.error().text);
  return std::move(reader).value();
}

uint64_t count_spans(const xsp::trace::Reader& reader) {
  uint64_t count = 0;
  for (const auto& stream : reader.streams()) count += stream.span_count;
  return count;
}

void decode(const fs::path& path) {
  const auto reader = open_trace(path);
  xsp::trace::SpanBatch batch;
  for (size_t stream = 0; stream < reader.streams().size(); ++stream) {
    for (size_t chunk = 0; chunk < reader.streams()[stream].chunk_count; ++chunk) {
      if (!reader.read(stream, chunk, &batch).ok()) stop_with("the trace is damaged");
      benchmark::DoNotOptimize(batch.end_ns.data());
    }
  }
}

void find_parents(const fs::path& path) {
  const auto reader = open_trace(path);
  const xsp::correlate::ReaderSource source(reader);
  NoValues values;
  auto correlation = xsp::correlate::Correlation::begin(source, {}, &values);
  if (!correlation.ok()) stop_with(correlation.error().text);
  uint64_t sum = 0;
  for (;;) {
    auto spans = correlation->next();
    if (!spans.ok()) stop_with(spans.error().text);
    if (spans->empty()) break;
    for (const auto& span : *spans) sum += span.parent_id;
  }
  benchmark::DoNotOptimize(sum);
  const auto facts = correlation->facts();
  if (facts.unattributed + facts.ambiguous > 0) stop_with("parents are missing");
}

xsp::store::RunInfo run_info(int run_id, const char* levels, int batch) {
  xsp::store::RunInfo run;
  run.run_id = run_id;
  run.levels = levels;
  run.batch = batch;
  run.framework = "fake";
  run.framework_version = "1";
  run.device = "cpu";
  run.stopped_by = "iterations";
  return run;
}

void ingest(const fs::path& path, const fs::path& output) {
  auto database = xsp::store::Database::create(output);
  if (!database.ok()) stop_with(database.error().text);
  auto report = xsp::store::ingest(*database, run_info(1, "model,layer,library", 1), path);
  if (!report.ok()) stop_with(report.error().text);
  auto status = database->finish();
  if (!status.ok()) stop_with(status.error().text);
}

// ---- A file as a profile leaves it --------------------------------------------------------------

constexpr int kResnetLayers = 124;

struct LayerSite {
  uint32_t id = 0;
  int64_t duration_ns = 0;
};

std::vector<LayerSite> make_layer_sites(int batch) {
  static const char* const kTypes[] = {"Conv", "Relu", "BatchNormalization", "Add"};
  std::vector<LayerSite> sites;
  for (int i = 0; i < kResnetLayers; ++i) {
    const std::string name =
        "resnet50/stage" + std::to_string(i / 31) + "/unit" + std::to_string(i);
    const uint32_t id = xsp_intern_site(XSP_LEVEL_LAYER, name.c_str(), kTypes[i % 4]);
    const std::string shape = "[" + std::to_string(batch) + "," + std::to_string(64 << (i / 31)) +
                              "," + std::to_string(56 >> (i / 31)) + "," +
                              std::to_string(56 >> (i / 31)) + "]";
    const std::string weight = ",[" + std::to_string(64 << (i / 31)) + ",64,3,3]";
    xsp_site_attribute(id, "input_shapes",
                       ("[" + shape + (i % 4 == 0 ? weight : "") + "]").c_str());
    xsp_site_attribute(id, "output_shapes", ("[" + shape + "]").c_str());
    xsp_site_attribute(id, "input_dtypes",
                       i % 4 == 0 ? "[\"float32\",\"float32\"]" : "[\"float32\"]");
    xsp_site_attribute(id, "output_dtypes", "[\"float32\"]");
    xsp_site_attribute(id, "provider", "CPUExecutionProvider");
    const double bytes = batch * 4.0 * (64 << (i / 31)) * (56 >> (i / 31)) * (56 >> (i / 31));
    for (const char* key : {"output_bytes", "activation_bytes", "allocated_bytes"}) {
      xsp_site_counter(id, key, bytes);
    }
    xsp_site_counter(id, "parameter_bytes", i % 4 == 0 ? 147456.0 : 0);
    sites.push_back({id, batch * (20000 + (i * 7919) % 60000)});
  }
  return sites;
}

// Records spans with given times, as an adapter emits the measurements of a framework's own
// profiler. Returns the blocks.
std::vector<xsp::store::BlockInfo> record_run_of(const fs::path& path, bool with_layers, int batch,
                                                 int iterations) {
  start_recording(path);
  const uint32_t model = xsp_intern_site(XSP_LEVEL_MODEL, "resnet50", nullptr);
  const std::vector<LayerSite> layers = make_layer_sites(batch);
  xsp_value iteration = {xsp_intern_key("iteration"), XSP_VALUE_INT, {0}};
  xsp_complete_span span = {};
  span.struct_size = sizeof span;
  int64_t now = xsp_now_ns();
  std::vector<xsp::store::BlockInfo> blocks;
  constexpr int kBlock = 100;
  for (int i = 0; i < iterations; ++i) {
    if (i % kBlock == 0) {
      xsp::store::BlockInfo block;
      block.first_iteration = i;
      block.iterations = std::min(kBlock, iterations - i);
      block.start_ns = now;
      block.cpu_mhz = 2000;
      block.load_1min = 0.5;
      blocks.push_back(block);
    }
    const int64_t start = now;
    now += 5000;
    for (const LayerSite& layer : layers) {
      const int64_t duration = layer.duration_ns + (i * int64_t{7919} + layer.id * 31) % 2000;
      if (with_layers) {
        span.site_id = layer.id;
        span.start_ns = now;
        span.duration_ns = duration;
        xsp_emit(&span);
      }
      now += duration + 300;
    }
    iteration.value.as_int = i;
    xsp_complete_span whole = span;
    whole.site_id = model;
    whole.start_ns = start;
    whole.duration_ns = now - start;
    whole.values = &iteration;
    whole.value_count = 1;
    xsp_emit(&whole);
    now += 2000;
    blocks.back().duration_ns = now - blocks.back().start_ns;
    if (i % 256 == 255) xsp_flush();
  }
  stop_recording();
  return blocks;
}

void keep(const fs::path& output, uint64_t spans) {
  Folder folder;
  auto database = xsp::store::Database::create(output);
  if (!database.ok()) stop_with(database.error().text);
  const int iterations = static_cast<int>(spans / 3 / (kResnetLayers + 2));
  int run_id = 0;
  uint64_t written = 0;
  for (const int batch : {1, 2, 4}) {
    for (const bool with_layers : {false, true}) {
      const fs::path trace = folder.file("run.xtrace");
      auto run = run_info(++run_id, with_layers ? "model,layer" : "model", batch);
      run.blocks = record_run_of(trace, with_layers, batch, iterations);
      run.warmup_iterations = std::min(10, iterations);
      run.iterations = iterations - run.warmup_iterations;
      auto report = xsp::store::ingest(*database, run, trace);
      if (!report.ok()) stop_with(report.error().text);
      written += report->spans;
    }
  }
  auto status = database->execute(
      "INSERT INTO evaluation VALUES ('model', 'resnet50'), ('framework', 'fake'), ('device', "
      "'cpu');"
      "INSERT INTO peak VALUES ('cpu', 'fp32_flops_per_s', 1e11, 'measured'),"
      " ('cpu', 'memory_bytes_per_s', 1e10, 'measured')");
  if (status.ok()) status = database->finish();
  if (!status.ok()) stop_with(status.error().text);
  std::printf("%s: %llu spans\n", output.c_str(), static_cast<unsigned long long>(written));
}

// ---- Figures ------------------------------------------------------------------------------------

// Returns the most memory that the process held since reset_peak(), in MiB; 0 if it was not
// measured.
double peak_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::strtod(line.c_str() + 6, nullptr) / 1024;
  }
  return 0;
}
void reset_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

class Table : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
      const auto items = run.counters.find("items_per_second");
      const auto peak = run.counters.find("peak_MiB");
      if (items != run.counters.end()) rates_[run.run_name.function_name].push_back(items->second);
      if (peak != run.counters.end()) {
        peak_ = std::max(peak_, static_cast<double>(peak->second));
      }
    }
  }
  void print(double spans, double trace_bytes, double xsp_bytes) {
    std::printf("\n%-9s %16s %8s %7s\n", "", "M spans/s of cpu", "budget", "ratio");
    print_row("decode", 0);
    print_row("parents", 20);
    print_row("ingest", 4);
    std::printf(
        "%.1f M spans: %.1f bytes per span in the trace, %.1f in the .xsp file; peak memory %.0f "
        "MiB\n",
        spans / 1e6, trace_bytes / spans, xsp_bytes / spans, peak_);
  }

 private:
  void print_row(const char* name, double budget) {
    std::vector<double>& rates = rates_[name];
    if (rates.empty()) return;
    std::sort(rates.begin(), rates.end());
    const double rate = rates[rates.size() / 2] / 1e6;
    std::printf("%-9s %16.2f ", name, rate);
    if (budget > 0) std::printf("%8.0f %7.2f", budget, rate / budget);
    std::printf("\n");
  }
  std::map<std::string, std::vector<double>> rates_;
  double peak_ = 0;
};

// Removes `--name value` from the arguments, and returns the value; empty if it is not there.
std::string take_option(std::vector<char*>* arguments, const char* name) {
  for (size_t i = 1; i + 1 < arguments->size(); ++i) {
    if (std::strcmp((*arguments)[i], name) != 0) continue;
    std::string value = (*arguments)[i + 1];
    const auto at = arguments->begin() + static_cast<std::ptrdiff_t>(i);
    arguments->erase(at, at + 2);
    return value;
  }
  return "";
}

template <typename Work>
void add_benchmark(const char* name, uint64_t spans, Work work) {
  auto* added = benchmark::RegisterBenchmark(name, [spans, work](benchmark::State& state) {
    reset_peak();
    for (auto _ : state) work();
    state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(spans));
    state.counters["peak_MiB"] = peak_mib();
  });
  // The time is that of all the process's threads: DuckDB compresses on its own.
  added->Iterations(1)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();
}

}  // namespace

int main(int argc, char** argv) {
  char repetitions[] = "--benchmark_repetitions=3";
  char interleaving[] = "--benchmark_enable_random_interleaving=true";
  std::vector<char*> arguments = {argv[0], repetitions, interleaving};
  arguments.insert(arguments.end(), argv + 1, argv + argc);
  const std::string spans_text = take_option(&arguments, "--spans");
  const std::string keep_path = take_option(&arguments, "--keep");
  const uint64_t default_spans = keep_path.empty() ? 4'000'000 : 10'000'000;
  const uint64_t spans =
      spans_text.empty() ? default_spans : std::strtoull(spans_text.c_str(), nullptr, 10);
  if (spans < 1000) stop_with("--spans: too few: give at least 1000");
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
  if (!keep_path.empty()) {
    keep(keep_path, spans);
    return 0;
  }
  Folder folder;
  const fs::path trace = folder.file("bench.xtrace");
  const fs::path output = folder.file("bench.xsp");
  record_live(trace, spans);
  const uint64_t recorded = count_spans(open_trace(trace));
  add_benchmark("decode", recorded, [&] { decode(trace); });
  add_benchmark("parents", recorded, [&] { find_parents(trace); });
  add_benchmark("ingest", recorded, [&] { ingest(trace, output); });
  Table table;
  benchmark::RunSpecifiedBenchmarks(&table);
  std::error_code ignored;
  table.print(static_cast<double>(recorded), static_cast<double>(fs::file_size(trace, ignored)),
              fs::exists(output) ? static_cast<double>(fs::file_size(output, ignored)) : 0);
  return 0;
}
