// known: checks counters of kernels whose values can be computed on paper, through the collector
// cupti.
//
//   known COLLECTOR.so libknown_kernels.so TRACE      prints every check; exits 1 if one failed
//
// Every case is a layer of one model, counted as the worker counts a model, with both replays.
#include <dlfcn.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "known_kernels.h"
#include "recorded.h"
#include "xsp/plugin.h"

namespace xsp::gpu_test {
namespace {

constexpr double kAllowed = 0.02;  // relative tolerance
int failures = 0;

void check(bool is_right, const std::string& what, double found, double expected) {
  const double off_pct = expected == 0 ? 0 : 100 * (found / expected - 1);
  std::printf("%-6s %-44s %16.8g of %16.8g %8.2f %%\n", is_right ? "ok" : "FAILED", what.c_str(),
              found, expected, off_pct);
  if (!is_right) ++failures;
}

bool is_near(double found, double expected) {
  return std::abs(found - expected) <= kAllowed * expected;
}

struct Parts {
  const xsp_collector* collector = nullptr;
  decltype(&::known_open) open = nullptr;
  decltype(&::known_get) get = nullptr;
  decltype(&::known_launch) launch = nullptr;
  decltype(&::known_launch_graph) launch_graph = nullptr;
  decltype(&::known_graph_runs) graph_runs = nullptr;
  decltype(&::known_graph_bytes) graph_bytes = nullptr;
  decltype(&::known_wait) wait = nullptr;
  decltype(&::known_l2_bytes) l2_bytes = nullptr;
  xsp_host host{};
};

void say(void*, const char* text) { std::printf("       %s\n", text); }

void* load(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  std::fprintf(stderr, "error: %s\n", dlerror());
  std::exit(1);
}

Parts load_parts(char** argv) {
  Parts parts;
  parts.collector = static_cast<const xsp_collector*>(dlsym(load(argv[1]), XSP_COLLECTOR_SYMBOL));
  void* kernels = load(argv[2]);
  parts.open = reinterpret_cast<decltype(parts.open)>(dlsym(kernels, "known_open"));
  parts.get = reinterpret_cast<decltype(parts.get)>(dlsym(kernels, "known_get"));
  parts.launch = reinterpret_cast<decltype(parts.launch)>(dlsym(kernels, "known_launch"));
  parts.launch_graph =
      reinterpret_cast<decltype(parts.launch_graph)>(dlsym(kernels, "known_launch_graph"));
  parts.graph_runs =
      reinterpret_cast<decltype(parts.graph_runs)>(dlsym(kernels, "known_graph_runs"));
  parts.graph_bytes =
      reinterpret_cast<decltype(parts.graph_bytes)>(dlsym(kernels, "known_graph_bytes"));
  parts.wait = reinterpret_cast<decltype(parts.wait)>(dlsym(kernels, "known_wait"));
  parts.l2_bytes = reinterpret_cast<decltype(parts.l2_bytes)>(dlsym(kernels, "known_l2_bytes"));
  if (parts.collector == nullptr || parts.open == nullptr || parts.l2_bytes == nullptr) {
    std::fprintf(stderr, "error: not a collector and the known kernels\n");
    std::exit(1);
  }
  parts.host.struct_size = sizeof parts.host;
  parts.host.fail = say;
  parts.host.note = say;
  return parts;
}

xsp_status start(const Parts& parts, const std::vector<const char*>& counters, uint32_t replay) {
  xsp_collector_probe probe{};
  probe.struct_size = sizeof probe;
  const xsp_status status = parts.collector->probe(&parts.host, &probe);
  if (status != XSP_OK) return status;
  if (probe.absent != nullptr) std::printf("       absent: %s\n", probe.absent);
  const xsp_collect_options options{sizeof options,
                                    XSP_LEVEL_BIT(XSP_LEVEL_API) | XSP_LEVEL_BIT(XSP_LEVEL_KERNEL),
                                    counters.data(),
                                    counters.size(),
                                    "cuda:0",
                                    replay,
                                    0,
                                    0};
  return parts.collector->start(&parts.host, &options);
}

bool record(const std::string& path) {
  xsp_options options{};
  options.struct_size = sizeof options;
  options.path = path.c_str();
  return xsp_start(&options) == 0;
}

// Runs the model as the worker does: warm-up, then as many inferences as one count takes.
uint64_t run_cases(const Parts& parts, const std::vector<uint32_t>& sites) {
  static xsp_site model_site = XSP_SITE(XSP_LEVEL_MODEL, "known kernels");
  const auto infer = [&] {
    for (size_t i = 0; i < sites.size(); ++i) {
      xsp_site site{nullptr, nullptr, XSP_LEVEL_LAYER, sites[i]};
      xsp_span layer = xsp_begin(&site);
      const bool is_fine = parts.launch(static_cast<int>(i)) == 0 && parts.wait() == 0;
      xsp_end(&layer);
      if (!is_fine) ++failures;
    }
  };
  xsp_set_levels(0);
  infer();
  xsp_set_levels(XSP_LEVELS_ALL);
  const uint64_t runs = parts.collector->runs_needed();
  for (uint64_t i = 0; i < runs; ++i) {
    xsp_span model = xsp_begin(&model_site);
    parts.collector->begin();
    infer();
    parts.collector->end(&model);
    xsp_end(&model);
  }
  return runs;
}

// The sums over the kernels of each layer, in one inference.
using Sums = std::map<std::string, std::map<std::string, double>>;

Sums sums_of_layers(const Recorded& recorded, uint64_t runs) {
  Sums sums;
  for (const Span& span : recorded.spans) {
    if (span.found.level != XSP_LEVEL_KERNEL) continue;
    const Span* layer = recorded.of_id(span.found.layer_id);
    auto& of_layer = sums[layer == nullptr ? "(no layer)" : layer->name];
    of_layer["kernels"] += 1;
    for (const auto& [name, value] : span.numbers) of_layer[name] += value;
  }
  for (auto& [layer, of_layer] : sums) {
    for (auto& [name, value] : of_layer) value /= static_cast<double>(runs);
  }
  return sums;
}

void check_case(const known_case& expected, std::map<std::string, double>& sums, double l2_bytes) {
  const std::string name = expected.name;
  check(is_near(sums[expected.counter], expected.work), name + ": " + expected.counter,
        sums[expected.counter], expected.work);
  check(sums["kernels"] >= 1 && sums["kernels"] == std::floor(sums["kernels"]), name + ": kernels",
        sums["kernels"], 1);
  if (expected.read_bytes > 0) {
    check(is_near(sums["dram_read_bytes"], expected.read_bytes), name + ": dram_read_bytes",
          sums["dram_read_bytes"], expected.read_bytes);
    check(is_near(sums["l2_read_bytes"], expected.read_bytes), name + ": l2_read_bytes",
          sums["l2_read_bytes"], expected.read_bytes);
    check(is_near(sums["l2_write_bytes"], expected.write_bytes), name + ": l2_write_bytes",
          sums["l2_write_bytes"], expected.write_bytes);
    // Data written before may leave the cache now, and data written now may stay.
    check(std::abs(sums["dram_write_bytes"] - expected.write_bytes) <= l2_bytes,
          name + ": dram_write_bytes, but for the cache", sums["dram_write_bytes"],
          expected.write_bytes);
  }
  if (std::strncmp(expected.counter, "tensor_", 7) == 0) {
    check(sums["tensor_pipe_pct"] > 10, name + ": tensor_pipe_pct is high", sums["tensor_pipe_pct"],
          100);
  }
}

void check_kernels(const Recorded& recorded) {
  double kernels = 0, counted = 0, sensible = 0, adds_up = 0, launched = 0;
  for (const Span& span : recorded.spans) {
    if (span.found.level != XSP_LEVEL_KERNEL) continue;
    ++kernels;
    if (span.numbers.count("flops") == 0) continue;
    ++counted;
    double flops = 0;
    bool is_sensible = span.numbers.at("replay_duration_ns") > 0;
    for (const auto& [name, value] : span.numbers) {
      const bool is_share = name.size() > 4 && name.compare(name.size() - 4, 4, "_pct") == 0;
      if (value < 0 || (is_share && value > 101)) is_sensible = false;
      if (name.size() > 6 && name.compare(name.size() - 6, 6, "_flops") == 0) flops += value;
    }
    sensible += is_sensible ? 1 : 0;
    adds_up += std::abs(flops - span.numbers.at("flops")) <= 1 ? 1 : 0;
    const Span* parent = recorded.parent(span);
    launched += parent != nullptr && parent->found.level == XSP_LEVEL_API ? 1 : 0;
  }
  check(counted == kernels && kernels > 0, "kernels with counters", counted, kernels);
  check(sensible == kernels, "kernels with sensible counters", sensible, kernels);
  check(adds_up == kernels, "kernels whose flops add up", adds_up, kernels);
  check(launched == kernels, "kernels below their launch", launched, kernels);
  double lost = 0;
  for (const trace::Loss& loss : recorded.losses) {
    std::printf("       loss: %s, %s: %llu\n", loss.source.c_str(), loss.cause.c_str(),
                static_cast<unsigned long long>(loss.count));
    lost += static_cast<double>(loss.count);
  }
  check(lost == 0, "lost", lost, 0);
}

void check_replay(const Parts& parts, int cases, uint32_t replay, const std::string& path) {
  std::printf("---- %s replay\n", replay == XSP_REPLAY_KERNEL ? "kernel" : "application");
  if (!record(path) || start(parts, {"roofline"}, replay) != XSP_OK) {
    ++failures;
    return;
  }
  std::vector<uint32_t> sites;
  for (int i = 0; i < cases; ++i) {
    sites.push_back(xsp_intern_site(XSP_LEVEL_LAYER, parts.get(i).name, "case"));
  }
  const auto before = std::chrono::steady_clock::now();
  const uint64_t runs = run_cases(parts, sites);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - before;
  parts.collector->stop();
  xsp_stop();
  std::printf("       %llu inferences of %d cases in %.2f s\n",
              static_cast<unsigned long long>(runs), cases, seconds.count());
  const Result<Recorded> recorded = read_recorded(path);
  if (!recorded.ok()) {
    check(false, recorded.error().text, 0, 1);
    return;
  }
  check_kernels(*recorded);
  Sums sums = sums_of_layers(*recorded, runs);
  for (int i = 0; i < cases; ++i) {
    check_case(parts.get(i), sums[parts.get(i).name], parts.l2_bytes());
  }
  for (const auto& [layer, of_layer] : sums) {
    std::printf("       %s:", layer.c_str());
    for (const auto& [name, value] : of_layer) {
      if (value != 0) std::printf(" %s=%.6g", name.c_str(), value);
    }
    std::printf("\n");
  }
}

void check_names(const Parts& parts) {
  std::printf("---- names\n");
  const xsp_status wrong = start(parts, {"dram__bytes_red.sum"}, XSP_REPLAY_AUTO);
  check(wrong == XSP_NOT_AVAILABLE, "a metric that is none is refused", wrong, XSP_NOT_AVAILABLE);
  const char* names = nullptr;
  const xsp_status status = parts.collector->counter_names(&parts.host, &names);
  const bool has_it = status == XSP_OK && std::strstr(names, ",dram__bytes_read.sum,") != nullptr;
  check(has_it, "the chip's own metrics are listed", has_it ? 1 : 0, 1);
}

// Kernels of a graph cannot be counted one by one: the whole inference is counted, on the model's
// span.
void check_graph(const Parts& parts, const std::string& path) {
  std::printf("---- a CUDA graph\n");
  if (!record(path) || start(parts, {"roofline"}, XSP_REPLAY_AUTO) != XSP_OK) {
    ++failures;
    return;
  }
  static xsp_site model_site = XSP_SITE(XSP_LEVEL_MODEL, "graph");
  bool is_fine = parts.launch_graph() == 0 && parts.wait() == 0;
  const uint64_t runs = parts.collector->runs_needed();
  for (uint64_t i = 0; i < runs; ++i) {
    xsp_span model = xsp_begin(&model_site);
    parts.collector->begin();
    is_fine = parts.launch_graph() == 0 && parts.wait() == 0 && is_fine;
    parts.collector->end(&model);
    xsp_end(&model);
  }
  parts.collector->stop();
  xsp_stop();
  check(is_fine, "graphs run while they are counted", is_fine ? 1 : 0, 1);
  const double wanted = static_cast<double>(runs + 1);
  check(parts.graph_runs() == wanted, "runs of the graph that had their effect", parts.graph_runs(),
        wanted);
  const Result<Recorded> recorded = read_recorded(path);
  if (!recorded.ok()) return check(false, recorded.error().text, 0, 1);
  double written = 0, bytes = 0, wrong = 0;
  for (const Span& span : recorded->spans) {
    if (span.found.level != XSP_LEVEL_MODEL || span.numbers.count("l2_read_bytes") == 0) continue;
    written = span.numbers.at("l2_write_bytes");
    bytes = span.numbers.at("l2_read_bytes");
    wrong += static_cast<double>(span.numbers.count("flops") + span.numbers.count("fp32_flops"));
  }
  check(is_near(bytes, parts.graph_bytes()), "bytes that its kernels read", bytes,
        parts.graph_bytes());
  check(is_near(written, parts.graph_bytes()), "bytes that its kernels write", written,
        parts.graph_bytes());
  check(wrong == 0, "counters that it cannot have", wrong, 0);
}

int main_of_known(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: known COLLECTOR.so libknown_kernels.so TRACE\n");
    return 2;
  }
  const Parts parts = load_parts(argv);
  // This comes before CUDA is used, as in the worker.
  check_names(parts);
  const int cases = parts.open();
  if (cases == 0) return 1;
  const std::string trace = argv[3];
  check_replay(parts, cases, XSP_REPLAY_APPLICATION, trace);
  check_replay(parts, cases, XSP_REPLAY_KERNEL, trace + ".kernel");
  check_graph(parts, trace + ".graph");
  std::printf("%d checks failed\n", failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace xsp::gpu_test

int main(int argc, char** argv) { return xsp::gpu_test::main_of_known(argc, argv); }
