// The adapter `ggml`: language models in GGUF files, by llama.cpp on the CPU. llama.cpp has no
// stable interface, so `xsp doctor --install ggml` builds it together with a shim
// (ggml/shim/shim.h), which the adapter loads at run time. $XSP_GGML names the shim or its folder;
// by default it is in ~/.cache/xsp/frameworks/ggml/lib.
//
// A run is one call of llama_decode. By default it is a prefill: it takes `sequence` tokens at
// once, into an empty cache. With --option context=N each sequence has N tokens before the run's
// own; after a run, the cache is cut back to these. So --input tokens=1x1 makes a run one step of
// decoding. In a generation (keep_tokens) the tokens of each run stay in the cache.
//
// Layers are the nodes of ggml's graph. If they are recorded, the scheduler's callback sees each of
// them. llama.cpp then computes them one by one, and waits for each: fusions of neighbours and the
// overlap between them are lost, which the level's overhead shows. Views compute nothing and are no
// layers.
//
// The shim exists because llama.cpp's releases change structs that are passed by value: 200 lines
// are compiled against its headers, and the adapter is built everywhere. Refused: linking llama.cpp
// at configure time, which takes minutes of every build, and prebuilt wheels, of which there are
// none. The adapter's tests skip themselves where llama.cpp is not installed, as in CI.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>

#include "adapters/ggml/shim/shim.h"
#include "xsp/adapter_model.hpp"
#include "xsp/find_library.hpp"

using xsp::fail;
using xsp::guarded;

namespace {

constexpr size_t kSpansPerDrain = 10'000;
constexpr uint64_t kIntervalsMax = 4'000'000;  // 64 MB
constexpr int64_t kTokensMax = 1'000'000;
constexpr const char* kFile = "libxsp-ggml.so";
constexpr const char* kTokens = "tokens";
constexpr const char* kScores = "scores";

struct Library {
  const xsp_ggml_interface* shim = nullptr;
  std::string path;
  std::string absent;  // why there is none, as an error's text
};

Library load() {
  Library library;
  constexpr const char* kRemedy = ": xsp doctor --install ggml";
  const xsp::FoundLibrary found = xsp::find_library({.variable = "XSP_GGML",
                                                     .file = kFile,
                                                     .beside = "",
                                                     .in_cache = std::string("ggml/lib/") + kFile,
                                                     .linked = {},
                                                     .in_packages = ""},
                                                    RTLD_NOW);
  library.path = found.path;
  library.absent = "llama.cpp: " + found.why + kRemedy;
  if (found.handle == nullptr) return library;
  library.shim = static_cast<const xsp_ggml_interface*>(dlsym(found.handle, XSP_GGML_SHIM_SYMBOL));
  if (library.shim == nullptr || library.shim->version != XSP_GGML_SHIM_VERSION) {
    library.shim = nullptr;
    library.absent = "llama.cpp: " + library.path + " is of another version of xsp" + kRemedy;
  }
  return library;
}

const Library& library() {
  static const Library& loaded = *new Library(load());
  return loaded;
}

struct Interval {
  int64_t start_ns;
  int64_t end_ns;
};

}  // namespace

struct xsp_model : xsp::AdapterModel {
  xsp_ggml* model = nullptr;
  bool records = false;
  int64_t vocabulary = 0;
  int64_t batch = 0;  // 0: inputs are not set
  bool has_run = false;
  // Nodes of one run, in the order of their execution, and the intervals of all runs.
  std::vector<uint32_t> sites;
  std::vector<Interval> intervals;
  size_t nodes_in_run = 0;
  bool studies = false;  // the run in progress creates the sites
  uint32_t thread = 0;
  std::map<std::string, uint32_t> known;  // sites by name and shapes
  std::map<std::string, int> names;       // nodes of a run by name
  std::map<std::string, int> variants;    // sites by name
  // The memory to which results() points.
  std::vector<float> values;
  int64_t result_dimensions[2] = {0, 0};
  xsp_tensor result{};

  ~xsp_model() {
    if (model != nullptr) library().shim->close(model);
  }
};

namespace {

std::vector<int64_t> shape_of(const xsp_ggml_tensor& tensor) {
  const int64_t* begin = tensor.shape;
  const int64_t* const end = tensor.shape + 4;
  while (begin < end - 1 && *begin == 1) ++begin;
  return {begin, end};
}

std::string dtype_of(const xsp_ggml_tensor& tensor) {
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"f32", "float32"}, {"f16", "float16"}, {"bf16", "bfloat16"}, {"i32", "int32"},
      {"i64", "int64"},   {"i8", "int8"},     {"f64", "float64"}};
  for (const auto& [theirs, ours] : kNames) {
    if (std::strcmp(tensor.type, theirs) == 0) return ours;
  }
  return tensor.type;  // a quantised type: "q4_0"
}

// Returns the site of a node. ggml gives several nodes of a graph the same name.
uint32_t site_of(xsp_model* model, const xsp_ggml_node& node) {
  std::vector<std::vector<int64_t>> shapes;
  std::vector<std::string> dtypes;
  int64_t parameter_bytes = 0, activation_bytes = 0;
  for (int i = 0; i < node.source_count; ++i) {
    shapes.push_back(shape_of(node.sources[i]));
    dtypes.push_back(dtype_of(node.sources[i]));
    (node.sources[i].is_weight != 0 ? parameter_bytes : activation_bytes) += node.sources[i].bytes;
  }
  std::string name = node.name;
  const int place = ++model->names[name];
  const std::string inputs = xsp::json_shapes(shapes);
  const std::string output = xsp::json_shapes({shape_of(node.output)});
  const auto [known, is_new] =
      model->known.emplace(name + '\n' + std::to_string(place) + inputs + output, 0);
  if (!is_new) return known->second;
  const int variant = ++model->variants[name];
  if (variant > 1) name += "#" + std::to_string(variant);
  const uint32_t site = xsp_intern_site(XSP_LEVEL_LAYER, name.c_str(), node.op);
  known->second = site;
  if (site == 0) return 0;
  xsp_site_attribute(site, "input_shapes", inputs.c_str());
  xsp_site_attribute(site, "output_shapes", output.c_str());
  xsp_site_attribute(site, "input_dtypes", xsp::json_strings(dtypes).c_str());
  xsp_site_attribute(site, "output_dtypes", xsp::json_strings({dtype_of(node.output)}).c_str());
  xsp_site_attribute(site, "provider", "ggml CPU");
  xsp_site_counter(site, "output_bytes", static_cast<double>(node.output.bytes));
  xsp_site_counter(site, "activation_bytes", static_cast<double>(activation_bytes));
  xsp_site_counter(site, "parameter_bytes", static_cast<double>(parameter_bytes));
  return site;
}

// llama.cpp calls this; no exception may pass through it.
void watch(void* user, int is_end, const void* node) {
  auto* model = static_cast<xsp_model*>(user);
  if (is_end != 0) {
    if (model->nodes_in_run > 0) model->intervals.back().end_ns = xsp_now_ns();
    return;
  }
  (void)guarded(model->host, [&] {
    if (model->studies) {
      xsp_ggml_node facts{};
      library().shim->describe(node, &facts);
      model->sites.push_back(site_of(model, facts));
    }
    ++model->nodes_in_run;
    model->intervals.push_back({0, 0});
    model->intervals.back().start_ns = xsp_now_ns();
    return XSP_OK;
  });
}

xsp_status probe(const xsp_host* host, xsp_probe* probe) {
  return guarded(host, [&] {
    const Library& found = library();
    if (found.shim == nullptr) return fail(host, XSP_NOT_AVAILABLE, found.absent);
    xsp::fill(probe, xsp_probe{0, found.shim->build(), found.path.c_str(), "cpu", ".gguf", nullptr,
                               nullptr});
    return XSP_OK;
  });
}

// Returns the error in the options; empty if there is none.
std::string parse_options(const xsp_open_options& given, int* context) {
  for (size_t i = 0; i < given.option_count; ++i) {
    const std::string key = given.options[i].key;
    if (key != "context") return "option '" + key + "': ggml has no such option: it has context";
    char* end = nullptr;
    const long tokens = std::strtol(given.options[i].value, &end, 10);
    if (*end != '\0' || end == given.options[i].value || tokens < 0 || tokens > kTokensMax) {
      return std::string("option 'context': '") + given.options[i].value +
             "' is no number of tokens: give 0 to 1000000";
    }
    *context = static_cast<int>(tokens);
  }
  return "";
}

xsp_status open(const xsp_host* host, const xsp_open_options* given, xsp_model** result) {
  return guarded(host, [&] {
    if (library().shim == nullptr) return fail(host, XSP_NOT_AVAILABLE, library().absent);
    const auto options = xsp::whole(given);
    int context = 0;
    const std::string why = parse_options(options, &context);
    if (!why.empty()) return fail(host, XSP_FAILED, why);
    if (std::strcmp(options.device, "cpu") != 0) {
      return fail(host, XSP_NOT_AVAILABLE,
                  std::string("device '") + options.device +
                      "': llama.cpp was built for the CPU: use --device cpu");
    }
    auto model = std::make_unique<xsp_model>();
    model->host = host;
    model->records = (options.levels & XSP_LEVEL_BIT(XSP_LEVEL_LAYER)) != 0;
    char text[512] = "";
    const xsp_ggml_settings settings{options.path, static_cast<int>(options.threads), context,
                                     model->records ? watch : nullptr, model.get()};
    std::error_code error;
    const bool is_file = std::filesystem::is_regular_file(options.path, error);
    if (is_file) model->model = library().shim->open(&settings, text, sizeof text);
    if (model->model == nullptr) {
      return fail(host, XSP_BAD_MODEL,
                  std::string(options.path) + ": " +
                      (is_file ? xsp::one_line(text) : "there is no such file") +
                      ": give a GGUF file that llama.cpp with ggml " + library().shim->build() +
                      " knows");
    }
    model->vocabulary = library().shim->vocabulary(model->model);
    model->inputs.describe({{kTokens, XSP_INT32, {-1, -1}, {"batch", "sequence"}}});
    model->outputs.describe({{kScores, XSP_FLOAT32, {-1, model->vocabulary}, {}}});
    if (options.model_site != 0) xsp_site_attribute(options.model_site, "provider", "ggml CPU");
    *result = model.release();
    return XSP_OK;
  });
}

// Emits the spans of the runs so far.
void emit_layers(xsp_model* model) {
  if (model->sites.empty()) return;
  size_t emitted = 0;
  for (size_t i = 0; i < model->intervals.size(); ++i) {
    const uint32_t site = model->sites[i % model->sites.size()];
    if (site == 0) continue;
    xsp_complete_span span{};
    span.struct_size = sizeof span;
    span.site_id = site;
    span.thread = model->thread;
    span.start_ns = model->intervals[i].start_ns;
    span.duration_ns = std::max<int64_t>(model->intervals[i].end_ns - span.start_ns, 0);
    xsp_emit(&span);
    // If spans are emitted faster than the drainer writes, some are lost: so it may catch up from
    // time to time.
    if (++emitted % kSpansPerDrain == 0) xsp_flush();
  }
  model->intervals.clear();
}

xsp_status set_inputs(xsp_model* model, const xsp_tensor* tensors, size_t count) {
  return guarded(model->host, [&] {
    emit_layers(model);
    model->sites.clear();
    model->batch = 0;
    model->has_run = false;
    std::vector<xsp_tensor> ordered;
    const xsp_status status = in_order(*model, tensors, count, &ordered, 1, kTokensMax);
    if (status != XSP_OK) return status;
    const xsp_tensor& tensor = ordered[0];
    const int64_t batch = tensor.dimensions[0], length = tensor.dimensions[1];
    if (batch > kTokensMax / length) return bad_input(*model, kTokens, "they are too many");
    const auto* ids = static_cast<const int32_t*>(tensor.data);
    for (int64_t i = 0; i < batch * length; ++i) {
      if (ids[i] >= 0 && ids[i] < model->vocabulary) continue;
      return bad_input(*model, kTokens,
                       std::to_string(ids[i]) + " is not in the vocabulary of " +
                           std::to_string(model->vocabulary));
    }
    const int failed = library().shim->set_tokens(model->model, ids, static_cast<int>(batch),
                                                  static_cast<int>(length));
    if (failed != 0) {
      return bad_input(*model, kTokens, "llama.cpp cannot make room for so many sequences of them");
    }
    // The nodes that computed the context's tokens are no layers of a run.
    model->intervals.clear();
    model->batch = batch;
    return XSP_OK;
  });
}

xsp_status keep_tokens(xsp_model* model, uint64_t sequences, uint64_t tokens) {
  return guarded(model->host, [&] {
    emit_layers(model);
    const auto most = static_cast<uint64_t>(kTokensMax);
    if (sequences < 1 || tokens < 1 || sequences > most || tokens > most / sequences ||
        library().shim->keep(model->model, static_cast<int>(sequences), static_cast<int>(tokens)) !=
            0) {
      return fail(model->host, XSP_FAILED,
                  "llama.cpp cannot make room for " + std::to_string(sequences) + " sequences of " +
                      std::to_string(tokens) + " tokens: use fewer");
    }
    model->batch = 0;
    return XSP_OK;
  });
}

uint64_t kept_bytes(xsp_model* model) {
  return static_cast<uint64_t>(library().shim->kept_bytes(model->model));
}

xsp_status run(xsp_model* model) {
  if (model->batch == 0) return no_inputs(*model);
  model->studies = model->records && model->sites.empty();
  if (model->studies) model->names.clear();
  const size_t before = model->intervals.size();
  model->nodes_in_run = 0;
  const int status = library().shim->run(model->model);
  if (status != 0) {
    model->intervals.resize(before);
    return fail(model->host, XSP_FAILED,
                "run: llama_decode gave " + std::to_string(status) + ": use fewer tokens");
  }
  model->has_run = true;
  if (!model->records) return XSP_OK;
  model->thread = static_cast<uint32_t>(gettid());
  if (model->nodes_in_run != model->sites.size()) {
    // The graph differs from the one that was studied, so its nodes cannot be identified.
    xsp_count_loss("ggml", "node of a graph that differs from the first", model->nodes_in_run);
    model->intervals.resize(before);
  }
  return XSP_OK;
}

xsp_status results(xsp_model* model, const xsp_tensor** tensors, size_t* count) {
  return guarded(model->host, [&] {
    if (!model->has_run) return fail(model->host, XSP_FAILED, "results: none: run the model first");
    model->values.clear();
    for (int64_t s = 0; s < model->batch; ++s) {
      const float* scores = library().shim->scores(model->model, static_cast<int>(s));
      if (scores == nullptr) return fail(model->host, XSP_FAILED, "results: llama.cpp has none");
      model->values.insert(model->values.end(), scores, scores + model->vocabulary);
    }
    model->result_dimensions[0] = model->batch;
    model->result_dimensions[1] = model->vocabulary;
    model->result = {sizeof(xsp_tensor),
                     kScores,
                     XSP_FLOAT32,
                     2,
                     model->result_dimensions,
                     model->values.data(),
                     model->values.size() * sizeof(float)};
    *tensors = &model->result;
    *count = 1;
    return XSP_OK;
  });
}

xsp_status flush(xsp_model* model) {
  return guarded(model->host, [&] {
    emit_layers(model);
    return XSP_OK;
  });
}

uint64_t runs_max(xsp_model* model) {
  if (!model->records) return 0;
  constexpr uint64_t kNodesTypical = 1000;
  return kIntervalsMax / std::max<uint64_t>(model->sites.size(), kNodesTypical);
}

}  // namespace

extern "C" {
XSP_API extern const xsp_adapter xsp_adapter_entry;
const xsp_adapter xsp_adapter_entry = xsp::adapter_entry<xsp_model>({
    .name = "ggml",
    .help = "xsp doctor --install ggml",
    .probe = probe,
    .open = open,
    .set_inputs = set_inputs,
    .run = run,
    .results = results,
    .flush = flush,
    .runs_max = runs_max,
    .keep_tokens = keep_tokens,
    .kept_bytes = kept_bytes,
});
}
