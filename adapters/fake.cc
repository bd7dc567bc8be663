// The adapter `fake`: a model whose every answer is known, and the template for new adapters.
//
// To write an adapter, copy this file, and replace the parts marked (1) to (5). The build finds it
// by its name, and tests/contract runs its conformance suite on it. If an adapter is too large for
// one file, its other sources are in the folder of its name.
//
// The model's path describes it; if the path does not begin with "fake:", the text of the file at
// that path does. Settings are separated by commas, spaces or line ends:
//
//   fake:layers=4,us=200,wait=sleep,threads=2,nested,fault=crash@3
//
// clang-format off
//   layers=N      N layers, layer_0 ... layer_<N-1>, of the types Conv, Relu, MatMul in turn
//   us=N          microseconds that each layer takes (default 100)
//   wait=spin     busy, like a computation (the default); wait=sleep: idle
//   width=N       the second dimension of x and y (default 8)
//   threads=N     layer i runs on thread i modulo N (default 1: the caller's)
//   nested        each layer holds a layer layer_<i>/inner, of half its time
//   late          flush emits the layers, as for a framework that keeps its own profile
//   tokens        a second input, tokens int64[batch, sequence]
//   cuda          may be asked to run on cuda, where it does the same as on the CPU
//   fault=KIND@N  in run N, counted from 0; or @open, in open:
//                 crash   SIGSEGV                 kill    SIGKILL, as when memory is out
//                 hang    never returns           memory  asks for more than there is
//                 fail    fails cleanly           exit    ends the process with status 3
//   when=layer    the fault happens only if layers are recorded
//   above=N       the fault happens only in runs with a batch larger than N
// clang-format on
//
// Input x, float32[batch, width]; output y, float32[batch, width]. Layer k maps v to v / 2 + k, and
// the sum of an item's tokens is added at the end. The layers' sites carry shapes, types and sizes.
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "adapters/fake/description.h"
#include "adapters/fake/helper.h"
#include "xsp/plugin.hpp"

namespace {

using xsp::fake::Description;
using xsp::fake::Helper;

// ---- (1) An open model --------------------------------------------------------------------------

struct Layer {
  std::string name;
  std::string inner_name;
  const char* type;
  xsp_site site;  // created by open, so that a run takes no lock
  xsp_site inner_site;
};

// Describes a layer that has run and is not emitted yet (late).
struct Ran {
  uint32_t site_id;
  uint32_t thread;
  int64_t start_ns;
  int64_t end_ns;
};

std::string shape_json(const std::vector<int64_t>& dimensions) {
  std::string text = "[[";
  for (size_t i = 0; i < dimensions.size(); ++i) {
    text += (i == 0 ? "" : ",") + std::to_string(dimensions[i]);
  }
  return text + "]]";
}

}  // namespace

// The type has the C interface's own name. A value belongs to the worker from open to close.
struct xsp_model {
  const xsp_host* host;
  Description description;
  uint32_t levels;
  std::vector<Layer> layers;
  std::vector<std::unique_ptr<Helper>> helpers;
  int64_t runs = 0;
  std::vector<Ran> ran;
  // Inputs and the result of the last run.
  int64_t batch = 0;
  int64_t sequence = 0;
  std::vector<float> x;
  std::vector<int64_t> tokens;
  std::vector<float> y;
  // The arrays to which inputs(), outputs() and results() point.
  int64_t x_dimensions[2];
  xsp_tensor_info input_infos[2];
  xsp_tensor_info output_info;
  int64_t y_dimensions[2];
  xsp_tensor result;
};

namespace {

using xsp::fail;
using xsp::guarded;

void wait(const Description& description, int64_t us) {
  if (description.sleeps) {
    std::this_thread::sleep_for(std::chrono::microseconds(us));
    return;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(us);
  while (std::chrono::steady_clock::now() < end) {
  }
}

// Returns whether the conditions of the fault hold. During open the batch is unknown, and 0 stands
// for it.
bool has_fault(const xsp_model& model) {
  const bool records = (model.levels & XSP_LEVEL_BIT(XSP_LEVEL_LAYER)) != 0;
  if (model.description.fault_with_layers && !records) return false;
  return model.batch > model.description.fault_above;
}

xsp_status take_fault(xsp_model* model, const std::string& kind) {
  if (kind == "crash") std::raise(SIGSEGV);
  if (kind == "kill") std::raise(SIGKILL);
  if (kind == "exit") _exit(3);
  while (kind == "hang") pause();
  if (kind == "memory") {
    // The kernel refuses a mapping larger than the address space in the same way as any other that
    // is too large.
    constexpr size_t kTooMuch = size_t{1} << 62;
    void* memory = mmap(nullptr, kTooMuch, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
  }
  return fail(model->host, XSP_FAILED,
              "fake: run " + std::to_string(model->runs) +
                  ": failed as its description asks: choose another fault");
}

// ---- (2) Probe and open -------------------------------------------------------------------------

xsp_status probe(const xsp_host*, xsp_probe* probe) {
  // For a framework that may be absent, probe returns XSP_NOT_AVAILABLE, and says where it looked.
  xsp::fill(probe, xsp_probe{0, "1", "built in", "cpu", ".fake", nullptr, nullptr});
  return XSP_OK;
}

// Sets the facts about a layer that hold for each of its executions. Shapes are known once inputs
// are set.
void set_facts(const xsp_model& model, const Layer& layer) {
  const std::string shape = shape_json({model.batch, model.description.width});
  const double bytes = static_cast<double>(model.batch * model.description.width) * sizeof(float);
  for (const uint32_t site : {layer.site.id, layer.inner_site.id}) {
    if (site == 0) continue;
    xsp_site_attribute(site, "input_shapes", shape.c_str());
    xsp_site_attribute(site, "output_shapes", shape.c_str());
    xsp_site_attribute(site, "input_dtypes", "[\"float32\"]");
    xsp_site_attribute(site, "output_dtypes", "[\"float32\"]");
    xsp_site_attribute(site, "provider", "fake");
    xsp_site_counter(site, "output_bytes", bytes);
    xsp_site_counter(site, "activation_bytes", bytes);
    xsp_site_counter(site, "parameter_bytes", 0);
    xsp_site_counter(site, "allocated_bytes", bytes);
  }
}

void make_layers(xsp_model* model) {
  constexpr const char* kTypes[] = {"Conv", "Relu", "MatMul"};
  const bool records = (model->levels & XSP_LEVEL_BIT(XSP_LEVEL_LAYER)) != 0;
  model->layers.resize(static_cast<size_t>(model->description.layers));
  for (size_t i = 0; i < model->layers.size(); ++i) {
    Layer& layer = model->layers[i];
    layer.name = "layer_" + std::to_string(i);
    layer.inner_name = layer.name + "/inner";
    layer.type = kTypes[i % std::size(kTypes)];
    layer.site = {layer.name.c_str(), layer.type, XSP_LEVEL_LAYER, 0};
    layer.inner_site = {layer.inner_name.c_str(), "Inner", XSP_LEVEL_LAYER, 0};
    if (!records) continue;
    layer.site.id = xsp_intern_site(XSP_LEVEL_LAYER, layer.site.name, layer.site.type);
    if (model->description.nested) {
      layer.inner_site.id =
          xsp_intern_site(XSP_LEVEL_LAYER, layer.inner_site.name, layer.inner_site.type);
    }
  }
}

void make_infos(xsp_model* model) {
  static constexpr int64_t kTokensDimensions[] = {-1, -1};
  static constexpr const char* kSymbols[] = {"batch", ""};
  static constexpr const char* kTokensSymbols[] = {"batch", "sequence"};
  model->x_dimensions[0] = -1;
  model->x_dimensions[1] = model->description.width;
  model->input_infos[0] = {
      sizeof(xsp_tensor_info), "x", XSP_FLOAT32, 2, model->x_dimensions, kSymbols, 0};
  model->input_infos[1] = {sizeof(xsp_tensor_info), "tokens",       XSP_INT64, 2,
                           kTokensDimensions,       kTokensSymbols, 0};
  model->output_info = model->input_infos[0];
  model->output_info.name = "y";
}

xsp_status read_description(const xsp_host* host, const std::string& path,
                            Description* description) {
  std::string text = path;
  if (path.rfind("fake:", 0) != 0) {
    std::ifstream file(path);
    std::ostringstream content;
    if (!(content << file.rdbuf())) {
      return fail(host, XSP_BAD_MODEL,
                  path + ": cannot be read: check its name, or write fake:...");
    }
    text = content.str();
  }
  const auto why = xsp::fake::parse_description(std::move(text), description);
  if (!why.has_value()) return XSP_OK;
  return fail(host, XSP_BAD_MODEL, path + ": " + *why + ": adapters/fake.cc has the settings");
}

xsp_status open(const xsp_host* host, const xsp_open_options* given, xsp_model** result) {
  return guarded(host, [&] {
    const auto options = xsp::whole(given);
    auto model = std::make_unique<xsp_model>();
    model->host = host;
    model->levels = options.levels;
    const xsp_status status = read_description(host, options.path, &model->description);
    if (status != XSP_OK) return status;
    const bool is_cuda = std::strncmp(options.device, "cuda", 4) == 0;
    if (std::strcmp(options.device, "cpu") != 0 && !(is_cuda && model->description.cuda)) {
      return fail(host, XSP_NOT_AVAILABLE,
                  std::string("device ") + options.device +
                      ": not available: fake runs on cpu, and with the setting cuda on cuda");
    }
    for (size_t i = 0; i < options.option_count; ++i) {
      return fail(host, XSP_FAILED,
                  std::string("option ") + options.options[i].key + ": unknown: fake has none");
    }
    if (model->description.fault_at == xsp::fake::kAtOpen && has_fault(*model)) {
      const xsp_status fault = take_fault(model.get(), model->description.fault);
      if (fault != XSP_OK) return fault;
    }
    for (int64_t i = 1; i < model->description.threads; ++i) {
      model->helpers.push_back(std::make_unique<Helper>());
    }
    make_layers(model.get());
    make_infos(model.get());
    if (options.model_site != 0) xsp_site_attribute(options.model_site, "provider", "fake");
    *result = model.release();
    return XSP_OK;
  });
}

// ---- (3) Inputs and outputs ---------------------------------------------------------------------

xsp_status inputs(xsp_model* model, const xsp_tensor_info** infos, size_t* count) {
  *infos = model->input_infos;
  *count = model->description.tokens ? 2 : 1;
  return XSP_OK;
}

xsp_status outputs(xsp_model* model, const xsp_tensor_info** infos, size_t* count) {
  *infos = &model->output_info;
  *count = 1;
  return XSP_OK;
}

xsp_status bad_input(xsp_model* model, const std::string& name, const char* why) {
  return fail(model->host, XSP_BAD_INPUT,
              "input '" + name + "': " + why + ": the model takes x float32[batch," +
                  std::to_string(model->description.width) + "]" +
                  (model->description.tokens ? ", tokens int64[batch,sequence]" : ""));
}

xsp_status set_inputs(xsp_model* model, const xsp_tensor* tensors, size_t count) {
  return guarded(model->host, [&] {
    std::optional<xsp_tensor> x, tokens;
    for (size_t i = 0; i < count; ++i) {
      const auto tensor = xsp::whole(xsp_tensor_at(tensors, i));
      const bool is_tokens = model->description.tokens && std::strcmp(tensor.name, "tokens") == 0;
      if (!is_tokens && std::strcmp(tensor.name, "x") != 0) {
        return bad_input(model, tensor.name, "there is no such input");
      }
      const size_t element = is_tokens ? sizeof(int64_t) : sizeof(float);
      if (tensor.dtype != (is_tokens ? XSP_INT64 : XSP_FLOAT32)) {
        return bad_input(model, tensor.name, "it has another type");
      }
      if (tensor.rank != 2 || tensor.dimensions[0] < 1 ||
          (!is_tokens && tensor.dimensions[1] != model->description.width) ||
          tensor.data_bytes !=
              static_cast<size_t>(tensor.dimensions[0] * tensor.dimensions[1]) * element) {
        return bad_input(model, tensor.name, "it has another shape");
      }
      (is_tokens ? tokens : x) = tensor;
    }
    if (!x.has_value()) return bad_input(model, "x", "missing");
    if (model->description.tokens && !tokens.has_value())
      return bad_input(model, "tokens", "missing");
    if (tokens.has_value() && tokens->dimensions[0] != x->dimensions[0]) {
      return bad_input(model, "tokens", "its batch is not that of x");
    }
    model->batch = x->dimensions[0];
    const auto* values = static_cast<const float*>(x->data);
    model->x.assign(values, values + x->data_bytes / sizeof(float));
    if (tokens.has_value()) {
      model->sequence = tokens->dimensions[1];
      const auto* ids = static_cast<const int64_t*>(tokens->data);
      model->tokens.assign(ids, ids + tokens->data_bytes / sizeof(int64_t));
    }
    for (const Layer& layer : model->layers) {
      if (layer.site.id != 0) set_facts(*model, layer);
    }
    return XSP_OK;
  });
}

// ---- (4) One inference, and its layers ----------------------------------------------------------

void compute(xsp_model* model, size_t index, int64_t us) {
  wait(model->description, us);
  for (float& v : model->y) v = v / 2 + static_cast<float>(index);
}

// Runs a layer and emits it at once. Spans of one thread nest; a level that is not recorded costs a
// branch.
void run_layer(xsp_model* model, size_t index) {
  Layer& layer = model->layers[index];
  xsp_span span = xsp_begin(&layer.site);
  if (model->description.nested) {
    const int64_t half = model->description.us / 2;
    xsp_span inner = xsp_begin(&layer.inner_site);
    wait(model->description, half);
    xsp_end(&inner);
    compute(model, index, model->description.us - half);
  } else {
    compute(model, index, model->description.us);
  }
  xsp_end(&span);
}

// Runs a layer and keeps its times, which flush emits.
void run_layer_late(xsp_model* model, size_t index) {
  const Layer& layer = model->layers[index];
  const int64_t begin = xsp_now_ns();
  compute(model, index, model->description.us);
  if (layer.site.id == 0) return;
  model->ran.push_back({layer.site.id, static_cast<uint32_t>(gettid()), begin, xsp_now_ns()});
}

xsp_status run(xsp_model* model) {
  return guarded(model->host, [&] {
    if (model->batch == 0) return bad_input(model, "x", "not set");
    if (model->description.fault_at == model->runs && has_fault(*model)) {
      const xsp_status status = take_fault(model, model->description.fault);
      if (status != XSP_OK) return status;
    }
    ++model->runs;
    model->y = model->x;
    for (size_t i = 0; i < model->layers.size(); ++i) {
      const size_t thread = i % (model->helpers.size() + 1);
      const auto layer = [&] {
        model->description.late ? run_layer_late(model, i) : run_layer(model, i);
      };
      if (thread == 0) {
        layer();
      } else {
        model->helpers[thread - 1]->run(layer);
      }
    }
    for (size_t i = 0; i < model->tokens.size(); ++i) {
      const size_t item = i / static_cast<size_t>(model->sequence);
      const size_t width = static_cast<size_t>(model->description.width);
      for (size_t j = 0; j < width; ++j) {
        model->y[item * width + j] += static_cast<float>(model->tokens[i]);
      }
    }
    return XSP_OK;
  });
}

xsp_status results(xsp_model* model, const xsp_tensor** tensors, size_t* count) {
  if (model->y.empty()) return fail(model->host, XSP_FAILED, "fake: no results: run it first");
  model->y_dimensions[0] = model->batch;
  model->y_dimensions[1] = model->description.width;
  model->result = {sizeof(xsp_tensor),
                   "y",
                   XSP_FLOAT32,
                   2,
                   model->y_dimensions,
                   model->y.data(),
                   model->y.size() * sizeof(float)};
  *tensors = &model->result;
  *count = 1;
  return XSP_OK;
}

xsp_status flush(xsp_model* model) {
  // If spans are emitted faster than the drainer writes, some are lost: so it may catch up from
  // time to time.
  constexpr size_t kSpansPerDrain = 10'000;
  size_t emitted = 0;
  for (const Ran& ran : model->ran) {
    xsp_complete_span span{};
    span.struct_size = sizeof span;
    span.site_id = ran.site_id;
    span.thread = ran.thread;
    span.start_ns = ran.start_ns;
    span.duration_ns = ran.end_ns - ran.start_ns;
    xsp_emit(&span);
    if (++emitted % kSpansPerDrain == 0) xsp_flush();
  }
  model->ran.clear();
  return XSP_OK;
}

void close(xsp_model* model) { delete model; }

}  // namespace

// ---- (5) The interface that the worker uses -----------------------------------------------------

extern "C" {
XSP_API extern const xsp_adapter xsp_adapter_entry;
const xsp_adapter xsp_adapter_entry = {
    .struct_size = sizeof(xsp_adapter),
    .abi = XSP_PLUGIN_ABI,
    .name = "fake",
    .help = "built in",
    .probe = probe,
    .open = open,
    .inputs = inputs,
    .outputs = outputs,
    .set_inputs = set_inputs,
    .run = run,
    .results = results,
    .flush = flush,
    .close = close,
    .runs_max = nullptr,  // spans are emitted during the run, and written continuously
    .record_details = nullptr,
    .keep_tokens = nullptr,
    .kept_bytes = nullptr,
    .opens_several = 1,
    .feed_back = nullptr,
};
}
