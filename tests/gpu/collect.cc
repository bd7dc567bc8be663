// collect: runs the collector cupti on a real GPU, and compares its records with the work that the
// GPU was given.
//
//   collect COLLECTOR.so libcollect_work.so TRACE
//       prints every check; exits 1 if one failed
//   collect COLLECTOR.so libcollect_work.so TRACE --cost LEVELS KERNELS INFERENCES [graph]
//       prints the microseconds per inference of KERNELS small kernels with these levels recorded:
//       none, kernel or api,kernel
//
// nvcc builds the work, collect_work.cu, on the machine with the GPU.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "collect_work.h"
#include "recorded.h"
#include "xsp/plugin.h"

namespace xsp::gpu_test {
namespace {

int failures = 0;

void check(bool is_right, const char* what, double found, double expected) {
  std::printf("%-6s %-58s %12.0f of %12.0f\n", is_right ? "ok" : "FAILED", what, found, expected);
  if (!is_right) ++failures;
}
void check_equal(const char* what, double found, double expected) {
  check(found == expected, what, found, expected);
}

// ---- Layers, as an adapter would emit them ----

constexpr int kLayers = 32;
uint32_t layer_sites[kLayers];
std::atomic<uint32_t> instances{0};
thread_local xsp_layer_mark open_mark{0, 0};
thread_local xsp_span open_span{0, 0, 0, 0};

xsp_layer_mark open_layer() { return open_mark; }

void on_layer(int layer) {
  if (layer < 0) {
    open_mark = {0, 0};
    xsp_end(&open_span);
    return;
  }
  xsp_site site{nullptr, nullptr, XSP_LEVEL_LAYER, layer_sites[layer]};
  open_mark = {layer_sites[layer], ++instances};
  open_span = xsp_begin(&site);
}

void make_layers() {
  for (int i = 0; i < kLayers; ++i) {
    layer_sites[i] =
        xsp_intern_site(XSP_LEVEL_LAYER, ("layer " + std::to_string(i)).c_str(), "test");
  }
  xsp_offer_open_layer(open_layer);
}

// ---- The collector and the work ----

void say(void*, const char* text) { std::fprintf(stderr, "%s\n", text); }

struct Parts {
  const xsp_collector* collector = nullptr;
  decltype(&::work_run) run = nullptr;
  decltype(&::work_names) names = nullptr;
  decltype(&::work_inference) inference = nullptr;
  xsp_host host{};
};

void* load(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  std::fprintf(stderr, "error: %s\n", dlerror());
  std::exit(1);
}

Parts load_parts(char** argv) {
  Parts parts;
  parts.collector = static_cast<const xsp_collector*>(dlsym(load(argv[1]), XSP_COLLECTOR_SYMBOL));
  void* work = load(argv[2]);
  parts.run = reinterpret_cast<decltype(&::work_run)>(dlsym(work, "work_run"));
  parts.names = reinterpret_cast<decltype(&::work_names)>(dlsym(work, "work_names"));
  parts.inference = reinterpret_cast<decltype(&::work_inference)>(dlsym(work, "work_inference"));
  if (parts.collector == nullptr || parts.run == nullptr || parts.inference == nullptr) {
    std::fprintf(stderr, "error: not a collector and its work\n");
    std::exit(1);
  }
  parts.host.struct_size = sizeof parts.host;
  parts.host.fail = say;
  parts.host.note = say;
  parts.host.scratch_folder = "/tmp";
  return parts;
}

void record(const char* path) {
  xsp_options options{};
  options.struct_size = sizeof options;
  options.path = path;
  if (xsp_start(&options) != 0) std::exit(1);
}

bool collect(const Parts& parts, uint32_t levels) {
  xsp_collector_probe probe{};
  probe.struct_size = sizeof probe;
  if (parts.collector->probe(&parts.host, &probe) != XSP_OK) return false;
  xsp_collect_options options{};
  options.struct_size = sizeof options;
  options.levels = levels;
  options.device = "cuda";
  return parts.collector->start(&parts.host, &options) == XSP_OK;
}

constexpr uint32_t kBoth = XSP_LEVEL_BIT(XSP_LEVEL_API) | XSP_LEVEL_BIT(XSP_LEVEL_KERNEL);

// ---- The checks ----

double count_if(const Recorded& recorded, auto&& is_wanted) {
  return static_cast<double>(
      std::count_if(recorded.spans.begin(), recorded.spans.end(), is_wanted));
}

bool is_type(const Span& span, uint32_t level, const char* type) {
  return span.found.level == level && span.type == type;
}

void check_counts(const Recorded& recorded, const work_counts& asked) {
  const auto of = [&](uint32_t level, const char* type) {
    return count_if(recorded, [&](const Span& span) { return is_type(span, level, type); });
  };
  check_equal("kernels", of(XSP_LEVEL_KERNEL, "kernel"), asked.kernels);
  check_equal("copies", of(XSP_LEVEL_KERNEL, "memcpy"), asked.copies);
  check_equal("memsets", of(XSP_LEVEL_KERNEL, "memset"), asked.sets);
  double bytes = 0;
  for (const Span& span : recorded.spans) {
    if (is_type(span, XSP_LEVEL_KERNEL, "memcpy")) bytes += span.numbers.at("bytes");
  }
  check_equal("bytes copied", bytes, asked.copied_bytes);
  check_equal("launches that succeeded",
              count_if(recorded,
                       [](const Span& span) {
                         return is_type(span, XSP_LEVEL_API, "launch") &&
                                span.numbers.count("error") == 0;
                       }),
              asked.launches);
  check_equal("launches that failed",
              count_if(recorded,
                       [](const Span& span) {
                         return is_type(span, XSP_LEVEL_API, "launch") &&
                                span.numbers.count("error") != 0;
                       }),
              1);
  check_equal("launches of graphs", of(XSP_LEVEL_API, "graph_launch"), asked.graph_launches);
  const auto named = [&](const char* name) {
    return count_if(recorded, [&](const Span& span) {
      return is_type(span, XSP_LEVEL_API, "memory") && span.name == name;
    });
  };
  check(named("allocate") >= asked.allocations, "allocations", named("allocate"),
        asked.allocations);
  check(named("free") >= asked.allocations, "releases", named("free"), asked.allocations);
}

void check_losses(const Recorded& recorded) {
  for (const trace::Loss& loss : recorded.losses) {
    std::printf("       loss: %s, %s: %llu\n", loss.source.c_str(), loss.cause.c_str(),
                static_cast<unsigned long long>(loss.count));
  }
  check_equal("losses", static_cast<double>(recorded.losses.size()), 0);
  check_equal("trace is complete", recorded.is_complete, 1);
  const correlate::Facts& facts = recorded.facts;
  check_equal("executions without a launch", static_cast<double>(facts.executions_unmatched), 0);
  check_equal("launches without an execution", static_cast<double>(facts.launches_unmatched), 0);
  std::printf("       unattributed: %llu\n", static_cast<unsigned long long>(facts.unattributed));
}

void check_parents(const Recorded& recorded) {
  double executions = 0, layered = 0, after_launch = 0, in_frame = 0;
  const Span* frame = nullptr;
  for (const Span& span : recorded.spans) {
    if (span.name == "frame") frame = &span;
  }
  for (const Span& span : recorded.spans) {
    if (span.found.level != XSP_LEVEL_KERNEL) continue;
    ++executions;
    layered += recorded.of_id(span.found.layer_id) != nullptr ? 1 : 0;
    in_frame += frame != nullptr && span.found.start_ns >= frame->found.start_ns &&
                        span.found.end_ns <= frame->found.end_ns
                    ? 1
                    : 0;
    const Span* launch = nullptr;
    for (const Span* at = recorded.parent(span); at != nullptr; at = recorded.parent(*at)) {
      if (at->found.level == XSP_LEVEL_API) launch = at;
    }
    after_launch += launch == nullptr || span.found.start_ns >= launch->found.start_ns ? 1 : 0;
  }
  check_equal("executions that have a layer", layered, executions);
  check_equal("executions within the program's own span", in_frame, executions);
  check_equal("executions not before their launch", after_launch, executions);
  double calls = 0, held = 0;
  for (const Span& span : recorded.spans) {
    if (!is_type(span, XSP_LEVEL_API, "launch")) continue;
    ++calls;
    const Span* parent = recorded.parent(span);
    held += parent != nullptr && parent->found.level == XSP_LEVEL_LAYER &&
                    parent->found.start_ns <= span.found.start_ns &&
                    span.found.end_ns <= parent->found.end_ns
                ? 1
                : 0;
  }
  check_equal("launches inside their layer", held, calls);
}

void check_graph(const Recorded& recorded) {
  std::map<std::string, double> kernels;
  double layers = 0;
  for (const Span& span : recorded.spans) {
    if (span.found.level == XSP_LEVEL_LAYER && span.found.on_device) ++layers;
    if (span.found.level != XSP_LEVEL_KERNEL) continue;
    const Span* layer = recorded.of_id(span.found.layer_id);
    if (layer == nullptr || !layer->found.on_device) continue;
    ++kernels[layer->name + ' ' + span.name.substr(span.name.rfind(':') + 1)];
  }
  check_equal("layers on the device", layers, WORK_GRAPH_REPLAYS * (WORK_GRAPH_LAYERS + 1));
  for (const auto& [name, count] : kernels) std::printf("       %s: %.0f\n", name.c_str(), count);
  double right = 0;
  for (const auto& [name, count] : kernels) {
    const bool is_relu = name.find("relu") != name.npos;
    const bool is_axpy = name.find("axpy") != name.npos;
    if (name.rfind("layer 11", 0) == 0 ? is_relu : is_axpy && name.rfind("layer 13", 0) != 0) {
      right += count;
    }
  }
  check_equal("kernels of graphs in their own layer", right,
              WORK_GRAPH_REPLAYS * WORK_GRAPH_LAYERS * WORK_GRAPH_KERNELS);
}

void check_facts(const Recorded& recorded) {
  std::set<std::string> grids;
  std::set<uint32_t> threads, streams;
  double described = 0, kernels = 0, possible = 0;
  for (const Span& span : recorded.spans) {
    if (is_type(span, XSP_LEVEL_API, "launch")) threads.insert(span.found.thread);
    if (!is_type(span, XSP_LEVEL_KERNEL, "kernel")) continue;
    ++kernels;
    streams.insert(span.found.stream);
    if (span.name.find("scale<float>") != span.name.npos) grids.insert(span.attributes.at("grid"));
    described += span.attributes.count("mangled_name") != 0 &&
                         span.counters.count("theoretical_occupancy_pct") != 0 &&
                         span.attributes.count("occupancy_limiter") != 0
                     ? 1
                     : 0;
    const auto pct = span.counters.find("theoretical_occupancy_pct");
    possible += pct != span.counters.end() && pct->second > 0 && pct->second <= 100 ? 1 : 0;
  }
  check_equal("kernels with names, geometry and occupancy", described, kernels);
  check_equal("occupancies between 0 and 100 %", possible, kernels);
  check_equal("geometries of one kernel", static_cast<double>(grids.size()), 3);
  check_equal("threads that launch", static_cast<double>(threads.size()), 5);
  check(streams.size() >= 5, "streams", static_cast<double>(streams.size()), 5);
}

void print_names(const Recorded& recorded) {
  std::map<std::string, std::pair<double, double>> names;
  for (const Span& span : recorded.spans) {
    if (span.found.level < XSP_LEVEL_API) continue;
    auto& [count, ns] = names[span.type + ": " + span.name];
    ++count;
    ns += static_cast<double>(span.found.end_ns - span.found.start_ns);
  }
  for (const auto& [name, sums] : names) {
    std::printf("       %7.0f x %10.0f ns  %s\n", sums.first, sums.second / sums.first,
                name.substr(0, 100).c_str());
  }
}

int run_checks(char** argv) {
  const Parts parts = load_parts(argv);
  record(argv[3]);
  make_layers();
  if (!collect(parts, kBoth)) return 1;
  static xsp_site frame_site = XSP_SITE(XSP_LEVEL_APPLICATION, "frame");
  static xsp_site model_site = XSP_SITE(XSP_LEVEL_MODEL, "model");
  xsp_span frame = xsp_begin(&frame_site);
  work_counts asked{};
  std::istringstream names(parts.names());
  for (std::string name; std::getline(names, name, ',');) {
    xsp_span model = xsp_begin(&model_site);
    const int error = parts.run(name.c_str(), on_layer, &asked);
    xsp_end(&model);
    check_equal(("work " + name + ": CUDA's error").c_str(), error, 0);
  }
  xsp_end(&frame);
  parts.collector->stop();
  xsp_offer_open_layer(nullptr);
  xsp_stop();
  const Result<Recorded> recorded = read_recorded(argv[3]);
  if (!recorded.ok()) {
    std::fprintf(stderr, "error: %s\n", recorded.error().text.c_str());
    return 1;
  }
  print_names(*recorded);
  check_counts(*recorded, asked);
  check_losses(*recorded);
  check_parents(*recorded);
  check_graph(*recorded);
  check_facts(*recorded);
  std::printf("%d checks failed\n", failures);
  return failures == 0 ? 0 : 1;
}

// ---- The cost ----

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int measure_cost(int argc, char** argv) {
  const Parts parts = load_parts(argv);
  const std::string levels = argv[5];
  const int kernels = std::atoi(argv[6]);
  const int inferences = std::atoi(argv[7]);
  const int as_graph = argc > 8 ? 1 : 0;
  record(argv[3]);
  const uint32_t bits = levels == "none"     ? 0
                        : levels == "kernel" ? XSP_LEVEL_BIT(XSP_LEVEL_KERNEL)
                                             : kBoth;
  if (bits != 0 && !collect(parts, bits)) return 1;
  std::vector<double> times_us;
  for (int i = 0; i < inferences; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const int error = parts.inference(kernels, as_graph);
    const auto end = std::chrono::steady_clock::now();
    if (error != 0) return 1;
    if (i >= inferences / 10) {
      times_us.push_back(std::chrono::duration<double, std::micro>(end - begin).count());
    }
  }
  if (bits != 0) parts.collector->stop();
  xsp_stop();
  std::printf("%-10s %s %9.2f us per inference, %6.3f us per kernel\n", levels.c_str(),
              as_graph != 0 ? "graph " : "eager ", median(times_us), median(times_us) / kernels);
  return 0;
}

}  // namespace
}  // namespace xsp::gpu_test

int main(int argc, char** argv) {
  if (argc == 4) return xsp::gpu_test::run_checks(argv);
  if (argc >= 8 && std::strcmp(argv[4], "--cost") == 0) {
    return xsp::gpu_test::measure_cost(argc, argv);
  }
  std::fprintf(stderr,
               "usage: collect COLLECTOR WORK TRACE [--cost LEVELS KERNELS INFERENCES [graph]]\n");
  return 2;
}
