// The adapter `torch`: TorchScript files and AOTInductor packages, on CPU and CUDA. Files in
// torch/: program (an open file), reuse (memory to read it), weights (what is changed in them),
// signature (its inputs), layers (its operators as they are called), memory (their allocations),
// device and device_graph (where it runs), settings (how it computes), long_run (what a user who
// waits is told). The signature is the file's, by tools/export_torch.py, or the option `signature`.
//
// The adapter is built where its PyTorch is, because libtorch's C++ interface holds for one version
// alone: the installed tree carries the adapter's sources and one command that builds them in
// seconds. Refused: one build per version, which no user's own build would match. CI tests against
// Debian's libtorch 1.13.1, 31 MB to fetch; a wheel of PyTorch 2.11 has 507 MB and, without
// NVIDIA's own wheels, loads only as far as its CPU half.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/jit/passes/tensorexpr_fuser.h>
#include <torch/version.h>

#include <algorithm>
#include <optional>

#include "adapters/torch/device.h"
#include "adapters/torch/device_graph.h"
#include "adapters/torch/layers.h"
#include "adapters/torch/long_run.h"
#include "adapters/torch/program.h"
#include "adapters/torch/repeat.h"
#include "adapters/torch/settings.h"
#include "adapters/torch/tensors.h"
#include "xsp/plugin.hpp"

using xsp::fail;
using xsp::guarded;
using xsp::torch_adapter::Port;
namespace adapter = xsp::torch_adapter;

struct xsp_model {
  const xsp_host* host = nullptr;
  std::string path;
  c10::Device device{c10::DeviceType::CPU};
  adapter::Options options;
  std::unique_ptr<adapter::Program> program;
  adapter::Signature signature;
  adapter::Infos input_infos;
  adapter::Infos output_infos;
  std::vector<at::Tensor> inputs;
  std::vector<xsp_fed_back> fed_back;
  std::shared_ptr<adapter::Memory> memory;
  std::unique_ptr<adapter::Layers> layers;  // NULL if they are not recorded
  std::unique_ptr<adapter::DeviceGraph> graph;
  int runs = 0;                 // since the inputs were set
  bool repeats_layers = false;  // when it is flushed
  // The memory to which results() points.
  std::vector<Port> result_ports;
  std::vector<at::Tensor> result_values;
  std::vector<xsp_tensor> results;
};

namespace {

constexpr int kRunsBeforeCapture = 3;      // after these, torch's executor has finished optimising
constexpr int kRunsBeforeCaptureMax = 20;  // with layers: until they are known
constexpr int kRunsThatCompile = 3;        // the first of each shape
constexpr std::chrono::seconds kLongRun{20};

xsp_status lacks_operator(xsp_model* model, const std::string& name) {
  return fail(model->host, XSP_NOT_AVAILABLE,
              model->path + ": it needs the operator " + name +
                  ", which this torch does not have: give the library that registers it with "
                  "--option library=FILE");
}

// Reports an exception of torch to the caller.
xsp_status thrown(xsp_model* model, const char* what, const std::exception& error) {
  const std::string why = adapter::one_line(error.what());
  const std::string missing = adapter::missing_operator(error.what());
  if (!missing.empty()) return lacks_operator(model, missing);
  const auto says = [&](const char* text) { return why.find(text) != std::string::npos; };
  if (model->memory->take_failure() || says("out of memory") || says("can't allocate memory")) {
    return fail(model->host, XSP_OUT_OF_MEMORY,
                std::string(what) + ": out of memory: " + why + ": use a smaller batch");
  }
  if (says("CUDA error") || says("CUDA driver error") || says("CUDNN_STATUS_EXECUTION_FAILED")) {
    return fail(model->host, XSP_FAILED,
                std::string(what) + ": " + why +
                    ": the device does nothing more in this process: start again");
  }
  return fail(model->host, XSP_FAILED,
              std::string(what) + ": " + why + ": give inputs that suit the model with --input");
}

// Calls `call` with torch's settings for this model.
template <typename Call>
xsp_status in_torch(xsp_model* model, const char* what, Call&& call) {
  return guarded(model->host, [&] {
    const c10::InferenceMode inference;
    const c10::DeviceGuard device(model->device);
    const c10::DebugInfoGuard memory(c10::DebugInfoKind::PROFILER_STATE, model->memory);
    try {
      return call();
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      return thrown(model, what, error);
    }
  });
}

xsp_status probe(const xsp_host* host, xsp_probe* probe) {
  return guarded(host, [&] {
    const bool has_gpu = adapter::gpu_count(nullptr) > 0;
    xsp::fill(probe,
              xsp_probe{0, TORCH_VERSION, adapter::library_path().c_str(),
                        has_gpu ? "cpu,cuda" : "cpu", ".pt,.pth,.ts,.pt2", nullptr, nullptr});
    return XSP_OK;
  });
}

xsp_status take_options(const xsp_host* host, const xsp_open_options& given, xsp_model* model) {
  std::string why = adapter::parse_options(given, &model->options);
  if (!why.empty()) return fail(host, XSP_FAILED, why);
  const auto device = adapter::find_device(given.device, &why);
  if (!device.has_value()) return fail(host, XSP_NOT_AVAILABLE, why);
  model->device = *device;
  if (!model->options.cuda_graph) return XSP_OK;
  if (!model->device.is_cuda()) {
    return fail(host, XSP_NOT_AVAILABLE, "--cuda-graph: a GPU replays it: use --device cuda");
  }
  if (!adapter::has_device_graphs()) {
    return fail(host, XSP_NOT_AVAILABLE,
                "--cuda-graph: the adapter was built without CUDA's headers: build it with them");
  }
  // The same kernels, launched one by one, can be counted.
  if (given.counts_spans != 0) model->options.cuda_graph = false;
  return XSP_OK;
}

xsp_status take_signature(xsp_model* model) {
  std::string text = model->options.signature;
  if (text.empty()) text = model->program->signature_text();
  if (text.empty()) text = model->options.shapes;
  const std::string why = adapter::parse_signature(text, &model->signature);
  if (!why.empty()) {
    return fail(model->host, XSP_BAD_MODEL,
                model->path + ": its signature: " + why + ": export it again");
  }
  if (model->signature.inputs.empty()) {
    std::string example;
    for (const std::string& name : model->program->input_names()) {
      example += " --input " + name + "=1x3x224x224";
    }
    return fail(model->host, XSP_BAD_INPUT,
                model->path + ": it does not say the shapes of its inputs: give them, with their " +
                    "own sizes:" + (example.empty() ? " --input x=1x3x224x224" : example) +
                    " (integers: x=1x128:int64)");
  }
  for (Port& port : model->signature.inputs) {
    const bool is_float =
        port.dtype == XSP_FLOAT32 || port.dtype == XSP_FLOAT16 || port.dtype == XSP_BFLOAT16;
    if (!is_float || model->options.dtype.empty()) continue;
    port.dtype = model->options.dtype == "float16"    ? XSP_FLOAT16
                 : model->options.dtype == "bfloat16" ? XSP_BFLOAT16
                                                      : XSP_FLOAT32;
  }
  model->input_infos.set(model->signature.inputs);
  model->output_infos.set(model->signature.outputs);
  return XSP_OK;
}

xsp_status load_libraries(xsp_model* model) {
  for (const std::string& path : model->options.libraries) {
    const std::string why = adapter::load_operators(path);
    if (why.empty()) continue;
    return fail(model->host, XSP_NOT_AVAILABLE,
                "option 'library': " + path + ": cannot be loaded: " + adapter::one_line(why) +
                    ": give a library that was built for torch " TORCH_VERSION
                    ", and before it, those that it needs");
  }
  return XSP_OK;
}

// Reports torch's error for a file that it cannot read.
xsp_status load(xsp_model* model) {
  try {
    const xsp_status status = load_libraries(model);
    if (status != XSP_OK) return status;
    adapter::Opened opened = adapter::open_program(model->path, model->device, model->options);
    if (opened.program == nullptr) return fail(model->host, opened.status, opened.why);
    model->program = std::move(opened.program);
    return take_signature(model);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    if (const std::string why = adapter::foreign_archive(error.what()); !why.empty()) {
      return fail(model->host, XSP_BAD_MODEL, model->path + ": " + why);
    }
    const std::string why = adapter::one_line(error.what());
    const std::string missing = adapter::missing_operator(error.what());
    if (!missing.empty()) return lacks_operator(model, missing);
    if (why.find("out of memory") != std::string::npos) {
      return fail(model->host, XSP_OUT_OF_MEMORY,
                  model->path + ": out of memory: " + why + ": use a smaller model");
    }
    return fail(model->host, XSP_BAD_MODEL,
                model->path + ": " + why + ": torch " TORCH_VERSION " cannot open it");
  }
}

xsp_status open(const xsp_host* host, const xsp_open_options* given, xsp_model** result) {
  return guarded(host, [&] {
    const auto options = xsp::whole(given);
    const auto records = [&](uint32_t level) {
      return (options.levels & XSP_LEVEL_BIT(level)) != 0;
    };
    auto model = std::make_unique<xsp_model>();
    model->host = host;
    model->path = options.path;
    xsp_status status = take_options(host, options, model.get());
    if (status != XSP_OK) return status;
    if (options.threads > 0) at::set_num_threads(static_cast<int>(options.threads));
    if (model->options.tf32.has_value()) {
      at::globalContext().setAllowTF32CuBLAS(*model->options.tf32);
      at::globalContext().setAllowTF32CuDNN(*model->options.tf32);
    }
    if (model->options.fuser.has_value()) {
      torch::jit::setTensorExprFuserEnabled(*model->options.fuser);
    }
    model->memory = std::make_shared<adapter::Memory>(records(XSP_LEVEL_API));
    model->repeats_layers = options.repeats_layers != 0;
    status = in_torch(model.get(), "open", [&] { return load(model.get()); });
    if (status != XSP_OK) return status;
    if (records(XSP_LEVEL_LAYER)) {
      model->layers = std::make_unique<adapter::Layers>(
          model->options.nested, &model->program->modules(), model->memory.get());
    }
    if (options.model_site != 0) {
      xsp_site_attribute(options.model_site, "provider", model->device.str().c_str());
      adapter::describe_settings(options.model_site, model->program->is_package());
    }
    *result = model.release();
    return XSP_OK;
  });
}

xsp_status inputs(xsp_model* model, const xsp_tensor_info** infos, size_t* count) {
  *infos = model->input_infos.data();
  *count = model->input_infos.size();
  return XSP_OK;
}

xsp_status outputs(xsp_model* model, const xsp_tensor_info** infos, size_t* count) {
  *infos = model->output_infos.data();
  *count = model->output_infos.size();
  return XSP_OK;
}

xsp_status bad_input(xsp_model* model, const std::string& name, const std::string& why) {
  return fail(model->host, XSP_BAD_INPUT,
              "input '" + name + "': " + why + ": see the model's signature");
}

// Returns the tensors of numbers that the last run gave.
std::vector<at::Tensor> last_results(const xsp_model& model) {
  std::vector<at::Tensor> tensors;
  if (model.fed_back.empty() || model.runs == 0) return tensors;
  for (const auto& [name, tensor] : model.program->results()) {
    if (adapter::dtype_of(tensor.scalar_type()) != 0) tensors.push_back(tensor);
  }
  return tensors;
}

// Returns the input that is an output of the last run; an undefined tensor: it is none. `why` gets
// why it does not suit.
at::Tensor taken_back(const xsp_model& model, size_t input, const std::vector<at::Tensor>& outputs,
                      bool is_of_graph, std::string* why) {
  for (const xsp_fed_back& pair : model.fed_back) {
    if (pair.input != input || pair.output >= outputs.size()) continue;
    const at::Tensor& output = outputs[pair.output];
    *why = adapter::mismatch(model.signature.inputs[input], output);
    const at::Tensor value = adapter::as_input(output, model.device);
    // A graph's outputs lie in memory of its own.
    return is_of_graph && value.is_same(output) ? value.clone() : value;
  }
  return {};
}

xsp_status take_inputs(xsp_model* model, const xsp_tensor* tensors, size_t count,
                       const std::vector<at::Tensor>& last, bool is_of_graph) {
  const std::vector<Port>& ports = model->signature.inputs;
  std::vector<at::Tensor> values(ports.size());
  for (size_t i = 0; i < count; ++i) {
    const auto tensor = xsp::whole(xsp_tensor_at(tensors, i));
    const auto port = std::find_if(ports.begin(), ports.end(),
                                   [&](const Port& one) { return one.name == tensor.name; });
    if (port == ports.end()) return bad_input(model, tensor.name, "the model has no such input");
    const std::string why = adapter::mismatch(*port, tensor);
    if (!why.empty()) return bad_input(model, tensor.name, why);
    values[static_cast<size_t>(port - ports.begin())] =
        adapter::as_input(tensor, model->device, model->options.channels_last);
  }
  for (size_t i = 0; i < ports.size(); ++i) {
    std::string why = "it is missing";
    if (!values[i].defined()) values[i] = taken_back(*model, i, last, is_of_graph, &why);
    if (!values[i].defined() || (!why.empty() && why != "it is missing")) {
      return bad_input(model, ports[i].name, why);
    }
  }
  adapter::wait_for(model->device);
  model->inputs = std::move(values);
  return XSP_OK;
}

xsp_status set_inputs(xsp_model* model, const xsp_tensor* tensors, size_t count) {
  return in_torch(model, "set inputs", [&] {
    const std::vector<at::Tensor> last = last_results(*model);
    const bool is_of_graph = model->graph != nullptr;
    model->inputs.clear();
    model->graph.reset();
    model->program->release_results();
    model->runs = 0;
    if (model->layers != nullptr) model->layers->forget();
    return take_inputs(model, tensors, count, last, is_of_graph);
  });
}

// Runs one inference, with its layers observed, without waiting for the device.
void run_once(xsp_model* model) {
  if (model->layers == nullptr) return model->program->run(model->inputs);
  adapter::Activations memory;
  if (!model->layers->is_settled()) {
    for (const at::Tensor& input : model->inputs) memory.insert(adapter::memory_of(input));
  }
  struct Run {
    adapter::Layers* layers;
    ~Run() { layers->end_run(); }
  };
  model->layers->begin_run(memory, model->program->is_package());
  const Run run{model->layers.get()};
  model->program->run(model->inputs);
}

void warm_up_for_capture(xsp_model* model) {
  const auto is_warm = [&](int runs) {
    const bool knows_layers = model->layers == nullptr || model->layers->is_settled();
    return runs >= kRunsBeforeCaptureMax || (runs >= kRunsBeforeCapture && knows_layers);
  };
  for (int runs = 0; !is_warm(runs); ++runs) {
    model->program->release_results();
    run_once(model);
  }
}

void capture_graph(xsp_model* model) {
  warm_up_for_capture(model);
  model->program->release_results();
  model->graph = adapter::capture(model->device.index(), [&] { run_once(model); });
}

xsp_status run(xsp_model* model) {
  if (model->inputs.empty()) return bad_input(model, "", "inputs are not set");
  std::optional<adapter::LongRunNote> long_run;
  if (model->runs < kRunsThatCompile && model->device.is_cuda() && !model->program->is_package() &&
      torch::jit::tensorExprFuserEnabled()) {
    long_run.emplace(model->host,
                     "an inference has taken " + std::to_string(kLongRun.count()) +
                         " s: TorchScript may be compiling fused kernels: --option fuser=0 "
                         "measures the model without them",
                     kLongRun);
  }
  return in_torch(model, "run", [&] {
    if (model->options.cuda_graph && model->graph == nullptr) capture_graph(model);
    if (model->graph != nullptr) {
      model->graph->replay();
    } else {
      model->program->release_results();
      run_once(model);
    }
    adapter::wait_for(model->device);
    ++model->runs;
    return XSP_OK;
  });
}

xsp_status results(xsp_model* model, const xsp_tensor** tensors, size_t* count) {
  return in_torch(model, "results", [&] {
    if (model->runs == 0) {
      return fail(model->host, XSP_FAILED, "results: none: run the model first");
    }
    model->results.clear();
    model->result_values.clear();
    model->result_ports.clear();
    for (auto& [name, tensor] : model->program->results()) {
      const uint32_t dtype = adapter::dtype_of(tensor.scalar_type());
      if (dtype == 0) {
        xsp::note(model->host, "output '" + name + "' is not of a type of numbers: not kept");
        continue;
      }
      const size_t place = model->result_ports.size();
      const bool stays = std::any_of(model->fed_back.begin(), model->fed_back.end(),
                                     [&](const auto& pair) { return pair.output == place; });
      const at::Tensor value = stays ? at::Tensor() : tensor.to(c10::DeviceType::CPU).contiguous();
      Port port{name, dtype, tensor.sizes().vec(), {}};
      port.symbols.resize(port.dimensions.size());
      model->result_ports.push_back(std::move(port));
      model->result_values.push_back(value);
    }
    for (size_t i = 0; i < model->result_ports.size(); ++i) {
      const Port& port = model->result_ports[i];
      const at::Tensor& value = model->result_values[i];
      model->results.push_back(
          {sizeof(xsp_tensor), port.name.c_str(), port.dtype,
           static_cast<uint32_t>(port.dimensions.size()), port.dimensions.data(),
           value.defined() ? value.data_ptr() : nullptr, value.defined() ? value.nbytes() : 0});
    }
    model->output_infos.set(model->result_ports);
    *tensors = model->results.data();
    *count = model->results.size();
    return XSP_OK;
  });
}

// Repeats each layer alone, for a model that can be captured as a CUDA graph. If a model cannot be
// captured, the run does not fail.
void repeat(xsp_model* model) {
  const xsp_host* host = model->host;
  const auto note = [host](const std::string& text) { xsp::note(host, text); };
  std::string why = adapter::no_repetition();
  if (!model->device.is_cuda()) why = "layers are repeated on a GPU alone";
  if (!why.empty()) return note("layer_energy: not measured: " + why);
  xsp_host listener = *host;
  listener.context = &why;
  listener.fail = [](void* text, const char* said) { *static_cast<std::string*>(text) = said; };
  model->host = &listener;
  model->graph.reset();
  const xsp_status status = in_torch(model, "layer_energy", [&] {
    if (model->layers == nullptr) {
      model->layers =
          std::make_unique<adapter::Layers>(false, &model->program->modules(), model->memory.get());
    }
    warm_up_for_capture(model);
    model->program->release_results();
    adapter::repeat_layers(
        model->device.index(), model->options.repeat_s, model->layers.get(),
        [&] { run_once(model); }, note);
    return XSP_OK;
  });
  model->host = host;
  if (status != XSP_OK) note("layer_energy: not measured: " + why);
}

xsp_status flush(xsp_model* model) {
  if (!model->repeats_layers || model->runs == 0) return XSP_OK;
  model->repeats_layers = false;
  repeat(model);
  return XSP_OK;
}

xsp_status feed_back(xsp_model* model, const xsp_fed_back* pairs, size_t count) {
  return guarded(model->host, [&] {
    for (size_t i = 0; i < count; ++i) {
      if (pairs[i].input < model->signature.inputs.size()) continue;
      return fail(model->host, XSP_BAD_INPUT, "feed back: the model has no such input");
    }
    model->fed_back.assign(pairs, pairs + count);
    return XSP_OK;
  });
}

void record_details(xsp_model* model, uint32_t on) { model->memory->record(on != 0); }

void close(xsp_model* model) { delete model; }

}  // namespace

extern "C" {
XSP_API extern const xsp_adapter xsp_adapter_entry;
const xsp_adapter xsp_adapter_entry = {
    .struct_size = sizeof(xsp_adapter),
    .abi = XSP_PLUGIN_ABI,
    .name = "torch",
    .help = "pip install torch, then lib/xsp/adapters/src/build_torch_adapter.sh",
    .probe = probe,
    .open = open,
    .inputs = inputs,
    .outputs = outputs,
    .set_inputs = set_inputs,
    .run = run,
    .results = results,
    .flush = flush,
    .close = close,
    .runs_max = nullptr,
    .record_details = record_details,
    .keep_tokens = nullptr,
    .kept_bytes = nullptr,
    .opens_several = 0,
    .feed_back = feed_back,
};
}
