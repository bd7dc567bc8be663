// The adapter `tensorrt`: ONNX files, and engines that TensorRT 10 has built, on NVIDIA's GPUs.
//
// An engine is built of an ONNX file when the shapes of its inputs are set, and kept
// (xsp/compiled_cache.hpp). At the level model, run() is one call of enqueueV3 and a wait for
// the device; NVTX is quiet and there is no profiler.
//
// Layers are those of the engine, most of them fused from several of the model, which they name.
// Their spans are the host's launches, by ranges of NVTX, which contain their kernels and cost next
// to nothing. IProfiler has the time of each layer on the device, but records an event between two
// layers: it made an inference of BERT-base 1.9 times as long. So it is on in inferences of its own
// after those that are measured, where neither kernels nor calls are recorded, and its times are
// counters of the layers, `iprofiler_ns`. With --option layers=device, the spans are its times.
//
// Refused: spans by IProfiler as the rule, because the run with the layers was then slower than the
// runs with kernels; the order of kernels as the tie to layers, because a layer may launch several;
// an engine for each process (no cache), because two builds choose different kernels.
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "adapters/tensorrt/builder.h"
#include "adapters/tensorrt/device.h"
#include "adapters/tensorrt/inspection.h"
#include "adapters/tensorrt/layers.h"
#include "adapters/tensorrt/library.h"
#include "adapters/tensorrt/options.h"
#include "adapters/tensorrt/ranges.h"
#include "adapters/tensorrt/session.h"
#include "xsp/adapter_model.hpp"

using xsp::fail;
using xsp::guarded;
using xsp::tensorrt::library;
namespace adapter = xsp::tensorrt;

namespace {

// Limit of the recorded times of layers, which are kept in memory: 16 bytes each.
constexpr uint64_t kTimesMax = 10'000'000;
constexpr int kProfiledRuns = 30;  // of IProfiler, after the measured ones

enum class Source { kNone, kRanges, kProfiler };

}  // namespace

struct xsp_model : xsp::AdapterModel {
  std::string path;
  adapter::Options options;
  uint32_t model_site = 0;
  adapter::Device device;
  std::unique_ptr<adapter::Builder> builder;  // null: the model is an engine
  std::unique_ptr<adapter::Session> session;
  std::vector<std::vector<int64_t>> shapes;  // shapes for which the session's engine was made
  Source source = Source::kNone;             // of layers
  bool profiles_last = false;                // IProfiler's inferences follow on flush
  adapter::Layers layers;
  adapter::Recorder recorder{&layers};
  bool has_inputs = false;
  bool has_run = false;
  // The memory to which results() points.
  std::vector<adapter::Value> values;
  std::vector<xsp_tensor> results;

  ~xsp_model() {
    session.reset();  // before the device
    builder.reset();
  }
};

namespace {

xsp_status probe(const xsp_host* host, xsp_probe* probe) {
  return guarded(host, [&] {
    if (!library().absent.empty()) return fail(host, XSP_NOT_AVAILABLE, library().absent);
    std::string why;
    if (adapter::gpu_count(&why) == 0) {
      return fail(host, XSP_NOT_AVAILABLE, "TensorRT: " + why + ": it runs on NVIDIA's GPUs alone");
    }
    xsp::fill(probe, xsp_probe{0, library().version.c_str(), library().path.c_str(), "cuda",
                               ".onnx,.plan,.engine,.trt", nullptr, nullptr});
    return XSP_OK;
  });
}

xsp_status open_device(xsp_model* model, const char* name) {
  const std::string what = "device '" + std::string(name) + "': ";
  const int index = adapter::device_index(name);
  if (index < 0) {
    return fail(model->host, XSP_NOT_AVAILABLE,
                what + "TensorRT runs models on GPUs: choose cuda or cuda:N with --device");
  }
  std::string why;
  const int count = adapter::gpu_count(&why);
  if (index >= count) {
    if (why.empty()) why = "there are " + std::to_string(count) + " GPUs here";
    return fail(model->host, XSP_NOT_AVAILABLE,
                what + why + ": use " + (count == 0 ? "another --framework" : "--device cuda:0"));
  }
  why = model->device.open(index);
  return why.empty() ? XSP_OK : fail(model->host, XSP_NOT_AVAILABLE, what + why);
}

bool is_engine(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension();
  return ending == ".plan" || ending == ".engine" || ending == ".trt";
}

// Chooses the way in which layers are recorded.
void choose_source(xsp_model* model, uint32_t levels) {
  if ((levels & XSP_LEVEL_BIT(XSP_LEVEL_LAYER)) == 0) return;
  constexpr uint32_t kBelow = XSP_LEVEL_BIT(XSP_LEVEL_LIBRARY) | XSP_LEVEL_BIT(XSP_LEVEL_API) |
                              XSP_LEVEL_BIT(XSP_LEVEL_KERNEL);
  model->source = Source::kRanges;
  if ((levels & kBelow) != 0 || model->options.layers == "host") return;
  if (model->options.cuda_graph) {
    if (model->options.layers != "device") return;
    return xsp::note(model->host, "layers: on the host: IProfiler has no times of a CUDA graph");
  }
  model->profiles_last = model->options.layers != "device";
  if (!model->profiles_last) model->source = Source::kProfiler;
}

// Describes the layers of the session's engine.
void describe_layers(xsp_model* model, const std::vector<xsp_tensor>& inputs) {
  adapter::Model known;
  if (model->builder != nullptr) {
    known.graph = model->builder->graph();
    std::map<std::string, int64_t> symbols;
    for (const xsp::formats::ValueInfo& value : known.graph.inputs) {
      for (const xsp_tensor& input : inputs) {
        if (value.name != input.name) continue;
        for (size_t d = 0; d < value.dimensions.size() && d < input.rank; ++d) {
          symbols[value.dimensions[d].symbol] = input.dimensions[d];
        }
      }
    }
    auto values = xsp::formats::infer_shapes(known.graph, symbols);
    if (values.ok()) known.values = std::move(values).value();
  }
  model->layers.describe(adapter::read_inspection(model->session->inspection()), known);
}

void describe_model(const xsp_model& model) {
  if (model.model_site == 0) return;
  xsp_site_attribute(model.model_site, "provider", ("TensorRT " + library().version).c_str());
  if (model.builder == nullptr) return;
  // A build in which 32-bit layers may run in half precision may still run them in TF32.
  const char* tf32 = model.options.precision == "fp32" ? "false" : "true";
  xsp_site_attribute(model.model_site, "setting.cudnn_tf32", tf32);
  xsp_site_attribute(model.model_site, "setting.matmul_tf32", tf32);
  xsp_site_attribute(model.model_site, "setting.precision", model.options.precision.c_str());
}

xsp_status open_model(xsp_model* model) {
  model->session = std::make_unique<adapter::Session>(model->host, &model->device);
  if (!is_engine(model->path)) {
    model->builder = std::make_unique<adapter::Builder>();
    const xsp_status status = model->builder->open(model->host, model->path, model->options);
    if (status != XSP_OK) return status;
    model->inputs.describe(model->builder->inputs());
    model->outputs.describe(model->builder->outputs());
    return XSP_OK;
  }
  xsp::FileBytes plan;
  if (!xsp::read_file(model->path, &plan)) {
    return fail(model->host, XSP_BAD_MODEL, model->path + ": cannot be read: check its name");
  }
  const xsp_status status = model->session->load(plan, model->path);
  if (status != XSP_OK) return status;
  model->inputs.describe(model->session->inputs());
  model->outputs.describe(model->session->outputs());
  return XSP_OK;
}

xsp_status open(const xsp_host* host, const xsp_open_options* given, xsp_model** result) {
  return guarded(host, [&] {
    if (!library().absent.empty()) return fail(host, XSP_NOT_AVAILABLE, library().absent);
    const auto options = xsp::whole(given);
    auto model = std::make_unique<xsp_model>();
    model->host = host;
    model->path = options.path;
    model->model_site = options.model_site;
    const std::string why = adapter::parse_options(options, &model->options);
    if (!why.empty()) return fail(host, XSP_FAILED, why);
    // The same kernels, launched one by one, can be counted.
    if (options.counts_spans != 0) model->options.cuda_graph = false;
    xsp_status status = open_device(model.get(), options.device);
    if (status == XSP_OK) status = open_model(model.get());
    if (status != XSP_OK) return status;
    for (const xsp_tensor_info& info : model->inputs.infos()) {
      if (info.dtype != 0) continue;
      return fail(host, XSP_BAD_MODEL,
                  model->path + ": its input '" + info.name +
                      "' is of a type that xsp does not know: export it with another");
    }
    choose_source(model.get(), options.levels);
    describe_model(*model);
    *result = model.release();
    return XSP_OK;
  });
}

// Makes the session ready to run inputs of these shapes.
xsp_status load_engine(xsp_model* model, const std::vector<xsp_tensor>& inputs) {
  std::vector<std::vector<int64_t>> shapes;
  for (const xsp_tensor& input : inputs) {
    shapes.emplace_back(input.dimensions, input.dimensions + input.rank);
  }
  if (model->session->is_loaded() && (model->builder == nullptr || shapes == model->shapes)) {
    return XSP_OK;
  }
  xsp::FileBytes plan;
  xsp_status status = model->builder->engine(model->device, inputs, &plan);
  if (status == XSP_OK) status = model->session->load(plan, model->path);
  if (status != XSP_OK) return status;
  // TensorRT reads some types of ONNX as others.
  for (const xsp::Port& port : model->session->inputs()) {
    for (const xsp_tensor& input : inputs) {
      if (port.name != input.name || port.dtype == input.dtype) continue;
      return fail(model->host, XSP_BAD_MODEL,
                  model->path + ": TensorRT takes its input '" + port.name + "' as " +
                      xsp::dtype_name(port.dtype) + ": export it with that type");
    }
  }
  model->shapes = std::move(shapes);
  return XSP_OK;
}

// Lets IProfiler and NVTX report what the source needs.
void attend(xsp_model* model, Source source) {
  using nvinfer1::ProfilingVerbosity;
  nvinfer1::IExecutionContext* context = model->session->context();
  const bool is_loud = source == Source::kRanges;
  (void)context->setNvtxVerbosity(is_loud ? model->session->engine().getProfilingVerbosity()
                                          : ProfilingVerbosity::kNONE);
  context->setProfiler(source == Source::kProfiler ? &model->recorder : nullptr);
}

xsp_status set_inputs(xsp_model* model, const xsp_tensor* tensors, size_t count) {
  return guarded(model->host, [&] {
    model->has_inputs = false;
    model->has_run = false;
    model->device.forget_graph();
    std::vector<xsp_tensor> ordered;
    xsp_status status = in_order(*model, tensors, count, &ordered, 0, INT32_MAX);
    if (status != XSP_OK) return status;
    const std::string why = model->device.make_current();
    if (!why.empty()) return fail(model->host, XSP_FAILED, "inputs: " + why);
    status = load_engine(model, ordered);
    if (status == XSP_OK) status = model->session->set_inputs(ordered);
    if (status != XSP_OK) return status;
    if (model->source != Source::kNone) describe_layers(model, ordered);
    attend(model, model->source);
    model->has_inputs = true;
    return XSP_OK;
  });
}

xsp_status run_failed(xsp_model* model, const std::string& why) {
  const bool is_memory = why.find("out of memory") != std::string::npos;
  return fail(model->host, is_memory ? XSP_OUT_OF_MEMORY : XSP_FAILED,
              "run: " + why + (is_memory ? ": use a smaller batch" : ": start again"));
}

// Gives one inference to the device, with its layers recorded if they are ranges.
bool enqueue(xsp_model* model) {
  const adapter::RecordRanges record(model->source == Source::kRanges ? &model->layers : nullptr);
  return model->session->enqueue();
}

xsp_status capture_graph(xsp_model* model) {
  // The first inference with new shapes sets TensorRT up, which cannot be captured.
  if (!model->session->enqueue()) return run_failed(model, adapter::take_errors());
  std::string why = model->device.wait();
  if (why.empty()) why = model->device.capture([model] { return enqueue(model); });
  if (why.empty()) return XSP_OK;
  return fail(model->host, XSP_FAILED, "--cuda-graph: " + why + ": this model runs without it");
}

xsp_status run(xsp_model* model) {
  if (!model->has_inputs) return no_inputs(*model);
  return guarded(model->host, [&] {
    std::string why;
    const bool is_timed = model->source == Source::kProfiler;
    const int64_t start_ns = is_timed ? xsp_now_ns() : 0;
    if (model->options.cuda_graph) {
      if (!model->device.has_graph()) {
        const xsp_status status = capture_graph(model);
        if (status != XSP_OK) return status;
      }
      why = model->device.replay();
    } else if (!enqueue(model)) {
      why = adapter::take_errors();
    }
    if (why.empty()) why = model->device.wait();
    if (!why.empty()) return run_failed(model, why);
    if (is_timed) model->recorder.end_run(start_ns, xsp_now_ns());
    model->has_run = true;
    return XSP_OK;
  });
}

xsp_status results(xsp_model* model, const xsp_tensor** tensors, size_t* count) {
  return guarded(model->host, [&] {
    if (!model->has_run) return fail(model->host, XSP_FAILED, "results: none: run the model first");
    model->results.clear();
    const xsp_status status = model->session->results(&model->values);
    if (status != XSP_OK) return status;
    for (const adapter::Value& value : model->values) {
      model->results.push_back({sizeof(xsp_tensor), value.name.c_str(), value.dtype,
                                static_cast<uint32_t>(value.dimensions.size()),
                                value.dimensions.data(), value.data.data(), value.data.size()});
    }
    *tensors = model->results.data();
    *count = model->results.size();
    return XSP_OK;
  });
}

// Runs inferences with IProfiler, and adds its times to the layers.
xsp_status profile_layers(xsp_model* model) {
  attend(model, Source::kProfiler);
  std::string why;
  for (int i = 0; i < kProfiledRuns && why.empty(); ++i) {
    if (!model->session->enqueue()) why = adapter::take_errors();
    if (why.empty()) why = model->device.wait();
    model->recorder.end_run(0, 0);
  }
  attend(model, model->source);
  if (!why.empty()) return run_failed(model, why);
  model->recorder.add_counters();
  return XSP_OK;
}

xsp_status flush(xsp_model* model) {
  return guarded(model->host, [&] {
    if (model->source == Source::kProfiler) {
      model->recorder.emit(static_cast<uint32_t>(gettid()));
    }
    if (!model->profiles_last || !model->has_run) return XSP_OK;
    model->profiles_last = false;
    return profile_layers(model);
  });
}

uint64_t runs_max(xsp_model* model) {
  if (model->source != Source::kProfiler) return 0;
  return std::max<uint64_t>(kTimesMax / (model->layers.count() + 1), 1);
}

}  // namespace

extern "C" {
XSP_API extern const xsp_adapter xsp_adapter_entry;
const xsp_adapter xsp_adapter_entry = xsp::adapter_entry<xsp_model>({
    .name = "tensorrt",
    .help = "xsp doctor --install tensorrt, on a machine with an NVIDIA GPU",
    .probe = probe,
    .open = open,
    .set_inputs = set_inputs,
    .run = run,
    .results = results,
    .flush = flush,
    .runs_max = runs_max,
});
}
