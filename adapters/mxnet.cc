// The adapter `mxnet`: symbols and parameters of MXNet 1, on the CPU library of its PyPI wheel,
// which is loaded at run time. Files in mxnet/: library, symbol (the graph as JSON), network (an
// open model), executor (bound to memory; its layers), profile (MXNet's own).
//
// At the level model, all settings are MXNet's defaults: the engine executes the layers in bulk, on
// threads of its own. The profile shows layers of a bulk only together. So with the level layer
// each layer is an operation of its own, and the engine is the one that executes them on the
// calling thread in the order of the graph (NaiveEngine); a process chooses its engine once. The
// profile names operators, not layers, and the order identifies the layers. The cost of this is
// part of the level's overhead. The profiler is on only during runs; flush() reads the file that it
// writes. Times are in whole microseconds.
//
// Refused: the executor's monitor, which receives results and no times. On threads the profile
// names the operator and not the layer, and the order of two equal operators is unknown.
//
// A process that ran MXNet ends without the destructors of its statics: of sixteen exits, ten ended
// by std::terminate or with leaks, because threads of its engine still ran. With MXNotifyShutdown,
// every exit did, so that is refused. Fused layers come from the executed graph
// (MXExecutorGetOptimizedSymbol), whose nodes hold the graphs from which they were fused. MXNet
// 1.9.1 is the last release; the project is retired. Outputs of zoo models agree with ONNX
// Runtime's to 4.3e-7 of the largest for ResNet-50 and 9.3e-7 for MobileNet v2 (a test asks for
// 1e-5).
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "adapters/mxnet/executor.h"
#include "adapters/mxnet/profile.h"
#include "xsp/adapter_model.hpp"

using xsp::fail;
using xsp::guarded;
using xsp::mxnet::check;
using xsp::mxnet::library;
using xsp::mxnet::Owned;
using xsp::mxnet::Shape;
namespace adapter = xsp::mxnet;

namespace {

constexpr uint64_t kEventsMax = 250'000;  // events of a profile: some 700 bytes each
constexpr size_t kSpansPerDrain = 10'000;

struct Window {
  int64_t start_ns;
  int64_t end_ns;
};

}  // namespace

struct xsp_model : xsp::AdapterModel {
  bool records = false;
  adapter::Network network;
  std::unique_ptr<adapter::Executor> executor;  // null: inputs are not set
  adapter::Layers layers;
  std::vector<adapter::Layer> sequence;  // layers of the executor
  std::string profile;                   // path of MXNet's profile
  std::vector<Window> windows;           // times of the recorded runs
  int64_t thread = 0;
  bool has_run = false;
  // The memory to which results() points.
  std::vector<std::vector<std::byte>> result_values;
  std::vector<std::vector<int64_t>> result_dimensions;
  std::vector<xsp_tensor> results;

  ~xsp_model() {
    adapter::leave_at_exit();
    if (profile.empty()) return;
    // Otherwise MXNet would write recorded events that were not flushed when the process ends.
    if (!windows.empty()) (void)library().DumpProcessProfile(1, 0, nullptr);
    std::error_code error;
    std::filesystem::remove(profile, error);
  }
};

namespace {

// Calls `call`, which may throw an error of MXNet.
template <typename Call>
xsp_status in_mxnet(xsp_model* model, const char* what, xsp_status status, Call&& call) {
  return guarded(model->host, [&] {
    try {
      return call();
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      const std::string why = error.what();
      if (why.find("llocate") != std::string::npos) {
        return fail(model->host, XSP_OUT_OF_MEMORY,
                    std::string(what) + ": out of memory: " + why + ": use a smaller batch");
      }
      return fail(
          model->host, status,
          std::string(what) + ": " + why + ": give inputs that suit the model with --input");
    }
  });
}

xsp_status probe(const xsp_host* host, xsp_probe* probe) {
  return guarded(host, [&] {
    const auto& found = library();
    if (!found.absent.empty()) return fail(host, XSP_NOT_AVAILABLE, found.absent);
    xsp::fill(probe, xsp_probe{0, found.version.c_str(), found.path.c_str(), "cpu", ".json,.params",
                               "-symbol.json+-#.params", nullptr});
    return XSP_OK;
  });
}

void configure_profile(xsp_model* model) {
  static std::atomic<int> opened{0};
  model->profile = std::string(model->host->scratch_folder) + "/mxnet-" + std::to_string(getpid()) +
                   "-" + std::to_string(opened.fetch_add(1)) + ".json";
  const char* keys[] = {"filename",    "profile_symbolic", "profile_imperative", "profile_memory",
                        "profile_api", "aggregate_stats",  "continuous_dump"};
  const char* values[] = {model->profile.c_str(), "1", "0", "0", "0", "0", "0"};
  check(
      library().SetProcessProfilerConfig(static_cast<int>(std::size(keys)), keys, values, nullptr));
}

xsp_status open(const xsp_host* host, const xsp_open_options* given, xsp_model** result) {
  return guarded(host, [&] {
    if (!library().absent.empty()) return fail(host, XSP_NOT_AVAILABLE, library().absent);
    const auto options = xsp::whole(given);
    if (std::strcmp(options.device, "cpu") != 0) {
      return fail(host, XSP_NOT_AVAILABLE,
                  std::string("device '") + options.device +
                      "': MXNet's wheel runs on the CPU: use --device cpu");
    }
    auto model = std::make_unique<xsp_model>();
    model->host = host;
    model->records = (options.levels & XSP_LEVEL_BIT(XSP_LEVEL_LAYER)) != 0;
    adapter::leave_at_exit();
    // MXNet reads this when it creates the first array.
    if (model->records) setenv("MXNET_ENGINE_TYPE", "NaiveEngine", 0);
    if (options.threads > 0) check(library().SetNumOMPThreads(static_cast<int>(options.threads)));
    const xsp_status status = open_network(host, options, &model->network);
    if (status != XSP_OK) return status;
    model->inputs.describe(model->network.inputs);
    model->outputs.describe(model->network.outputs);
    if (model->records) configure_profile(model.get());
    if (options.model_site != 0) {
      xsp_site_attribute(options.model_site, "provider", "MXNet CPU");
      if (model->records) xsp_site_counter(options.model_site, "layer_resolution_ns", 1000);
    }
    *result = model.release();
    return XSP_OK;
  });
}

void emit_layers(xsp_model* model);

xsp_status set_inputs(xsp_model* model, const xsp_tensor* tensors, size_t count) {
  return in_mxnet(model, "inputs", XSP_BAD_INPUT, [&] {
    std::vector<xsp_tensor> ordered;
    model->has_run = false;
    const xsp_status status = in_order(*model, tensors, count, &ordered, 1, INT32_MAX);
    if (status != XSP_OK) {
      model->executor.reset();
      return status;
    }
    std::map<std::string, Shape> shapes;
    for (const xsp_tensor& tensor : ordered) {
      shapes[tensor.name] = Shape(tensor.dimensions, tensor.dimensions + tensor.rank);
    }
    if (model->executor == nullptr || model->executor->input_shapes != shapes) {
      emit_layers(model);
      model->executor.reset();
      model->executor = std::make_unique<adapter::Executor>(
          adapter::bind(model->network, shapes, model->records));
      if (model->records) {
        model->sequence = model->layers.describe(model->network, *model->executor);
      }
    }
    for (size_t i = 0; i < ordered.size(); ++i) {
      const size_t elements = ordered[i].data_bytes / xsp::dtype_bytes(ordered[i].dtype);
      check(library().NDArraySyncCopyFromCPU(model->executor->inputs[i].get(), ordered[i].data,
                                             elements));
    }
    check(library().NDArrayWaitAll());
    return XSP_OK;
  });
}

void forward(xsp_model* model) {
  check(library().ExecutorForward(model->executor->handle.get(), 0));
  for (const Owned& output : model->executor->outputs) {
    check(library().NDArrayWaitToRead(output.get()));
  }
}

xsp_status run(xsp_model* model) {
  if (model->executor == nullptr) return no_inputs(*model);
  return in_mxnet(model, "run", XSP_FAILED, [&] {
    model->has_run = true;
    if (!model->records) {
      forward(model);
      return XSP_OK;
    }
    check(library().SetProcessProfilerState(1, 0, nullptr));
    const int64_t start_ns = xsp_now_ns();
    forward(model);
    model->windows.push_back({start_ns, xsp_now_ns()});
    model->thread = gettid();
    check(library().SetProcessProfilerState(0, 0, nullptr));
    return XSP_OK;
  });
}

xsp_status results(xsp_model* model, const xsp_tensor** tensors, size_t* count) {
  return in_mxnet(model, "results", XSP_FAILED, [&] {
    if (!model->has_run) return fail(model->host, XSP_FAILED, "results: none: run the model first");
    const size_t total = model->executor->outputs.size();
    model->results.clear();
    model->result_values.assign(total, {});
    model->result_dimensions.assign(total, {});
    for (size_t i = 0; i < total; ++i) {
      const auto array = model->executor->outputs[i].get();
      int rank = 0, type = 0;
      const int* shape = nullptr;
      check(library().NDArrayGetShapeEx(array, &rank, &shape));
      check(library().NDArrayGetDType(array, &type));
      std::vector<int64_t>& dimensions = model->result_dimensions[i];
      dimensions.assign(shape, shape + std::max(rank, 0));
      size_t elements = 1;
      for (const int64_t d : dimensions) elements *= static_cast<size_t>(d);
      const uint32_t dtype = adapter::dtype_of(type);
      std::vector<std::byte>& values = model->result_values[i];
      values.resize(elements * xsp::dtype_bytes(dtype));
      check(library().NDArraySyncCopyToCPU(array, values.data(), elements));
      model->results.push_back({sizeof(xsp_tensor), model->outputs[i].name.c_str(), dtype,
                                static_cast<uint32_t>(dimensions.size()), dimensions.data(),
                                values.data(), values.size()});
    }
    *tensors = model->results.data();
    *count = total;
    return XSP_OK;
  });
}

// Emits one layer of a run, clipped to the run.
void emit(const xsp_model& model, uint32_t site, const Window& run,
          const adapter::OperatorEvent& event) {
  if (site == 0) return;
  xsp_complete_span span{};
  span.struct_size = sizeof span;
  span.site_id = site;
  span.thread = static_cast<uint32_t>(model.thread);
  span.start_ns = std::clamp(event.start_us * 1000, run.start_ns, run.end_ns);
  span.duration_ns = std::clamp(event.end_us * 1000, span.start_ns, run.end_ns) - span.start_ns;
  xsp_emit(&span);
}

// Emits the layers of the runs so far, and forgets them.
void emit_layers(xsp_model* model) {
  if (model->windows.empty()) return;
  check(library().DumpProcessProfile(0, 0, nullptr));
  std::ifstream file(model->profile);
  size_t run = 0, next = 0, emitted = 0;
  const std::vector<adapter::Layer>& sequence = model->sequence;
  adapter::OperatorEvent event;
  while (run < model->windows.size() && next_operator(file, &event)) {
    // Operators that are no layers, such as copies, are skipped.
    const auto layer =
        std::find_if(sequence.begin() + static_cast<ptrdiff_t>(next), sequence.end(),
                     [&](const adapter::Layer& one) { return one.op == event.name; });
    if (layer == sequence.end()) continue;
    emit(*model, layer->site, model->windows[run], event);
    next = static_cast<size_t>(layer - sequence.begin()) + 1;
    if (next == sequence.size()) {
      ++run;
      next = 0;
    }
    // If spans are emitted faster than the drainer writes, some are lost: so it may catch up from
    // time to time.
    if (++emitted % kSpansPerDrain == 0) xsp_flush();
  }
  const size_t expected = model->windows.size() * sequence.size();
  if (emitted < expected) {
    xsp_count_loss("mxnet", "operator that its profile does not tell", expected - emitted);
  }
  model->windows.clear();
}

xsp_status flush(xsp_model* model) {
  return in_mxnet(model, "layers", XSP_FAILED, [&] {
    emit_layers(model);
    return XSP_OK;
  });
}

uint64_t runs_max(xsp_model* model) {
  if (!model->records) return 0;
  return std::max<uint64_t>(kEventsMax / std::max<size_t>(model->sequence.size(), 1), 1);
}

}  // namespace

extern "C" {
XSP_API extern const xsp_adapter xsp_adapter_entry;
const xsp_adapter xsp_adapter_entry = xsp::adapter_entry<xsp_model>({
    .name = "mxnet",
    .help = "xsp doctor --install mxnet",
    .probe = probe,
    .open = open,
    .set_inputs = set_inputs,
    .run = run,
    .results = results,
    .flush = flush,
    .runs_max = runs_max,
});
}
