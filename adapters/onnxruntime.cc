// The adapter `onnxruntime`: ONNX files, on the devices of ONNX Runtime.
//
// At the level model, all of the runtime's profiling is off, and run() is one call of OrtApi::Run.
// With the level layer, the session's own profiler is on. It keeps its events in memory (some 2 kB
// each, at most 1,000,000). flush() reads them from the file that the profiler writes, converts
// them to spans, and ends the recording. Times are in whole microseconds, rounded down by the
// runtime, so that a span may be up to 1 us early at its beginning and 2 us at its end; it is
// clipped to its run.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "adapters/onnxruntime/binding.h"
#include "adapters/onnxruntime/emit.h"
#include "adapters/onnxruntime/layers.h"
#include "adapters/onnxruntime/library.h"
#include "adapters/onnxruntime/profile.h"
#include "adapters/onnxruntime/providers.h"
#include "adapters/onnxruntime/session.h"
#include "xsp/adapter.hpp"

namespace {

using xsp::fail;
using xsp::guarded;
using xsp::ort::Handle;
using xsp::ort::library;
using xsp::ort::Problem;
using xsp::ort::Signature;
using xsp::ort::take;

// Limits of the runtime's profile: 250,000 events take some 500 MB of its memory, and it stops at
// 1,000,000.
constexpr uint64_t kEventsMax = 250'000;
constexpr uint64_t kEventsPerRun = 2;  // besides those of nodes
constexpr size_t kAlignment = 64;      // alignment of inputs, as in the runtime's own allocations

struct Freed {
  void operator()(void* memory) const { std::free(memory); }
};

// Holds an input's value in the host's memory, which the adapter owns.
struct Input {
  std::unique_ptr<void, Freed> memory;
  Handle<OrtValue> value{nullptr, nullptr};
};

xsp_tensor_info info_of(const Signature& signature) {
  return {sizeof(xsp_tensor_info),
          signature.name.c_str(),
          signature.dtype,
          static_cast<uint32_t>(signature.dimensions.size()),
          signature.dimensions.data(),
          signature.symbol_pointers.data(),
          0};
}

}  // namespace

struct xsp_model {
  const xsp_host* host = nullptr;
  xsp::ort::Session session;
  std::unique_ptr<xsp::ort::Binding> binding;  // of inputs and outputs on a GPU; null: on the host
  xsp::ort::Layers layers;
  std::string prefix;  // prefix of all files that this model creates in the scratch folder
  std::vector<Signature> inputs;
  std::vector<Signature> outputs;
  std::vector<xsp_tensor_info> input_infos;
  std::vector<xsp_tensor_info> output_infos;  // those that are tensors of numbers
  std::vector<const char*> input_names;
  std::vector<const char*> output_names;
  std::vector<Input> values;
  std::vector<const OrtValue*> input_values;
  std::vector<OrtValue*> output_values;      // results of the last run
  std::vector<xsp_fed_back> fed_back;        // the outputs are places in `outputs`
  std::vector<Handle<OrtValue>> taken_back;  // outputs of the last run that are inputs
  bool has_inputs = false;
  bool has_run = false;                   // with these inputs
  std::vector<xsp::ort::Window> windows;  // times of the recorded runs
  // The memory to which results() points.
  std::vector<std::vector<int64_t>> result_dimensions;
  std::vector<std::vector<std::byte>> downloads;  // of results that are on a GPU
  std::vector<xsp_tensor> results;

  void release_outputs() {
    for (OrtValue*& value : output_values) {
      if (value != nullptr) library().api->ReleaseValue(value);
      value = nullptr;
    }
  }
  // Ends the profiler, if it is on, and returns the file that it wrote; empty if there is none.
  std::string end_profiling() {
    if (!session.records || session.session == nullptr) return "";
    session.records = false;
    OrtAllocator* allocator = nullptr;
    char* path_made = nullptr;
    const OrtApi* api = library().api;
    if (take(api->GetAllocatorWithDefaultOptions(&allocator))) return "";
    if (take(api->SessionEndProfiling(session.session.get(), allocator, &path_made))) return "";
    const std::string profile = path_made;
    (void)take(api->AllocatorFree(allocator, path_made));
    return profile;
  }
  ~xsp_model() {
    release_outputs();
    taken_back.clear();
    (void)end_profiling();
    binding.reset();
    session.session.reset();  // a session that failed to open leaves a profile, too
    const std::filesystem::path mine(prefix);
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(mine.parent_path(), error)) {
      const std::string name = entry.path().filename();
      if (name.rfind(mine.filename().string(), 0) == 0)
        std::filesystem::remove(entry.path(), error);
    }
  }
};

namespace {

xsp_status probe(const xsp_host* host, xsp_probe* probe) {
  return guarded(host, [&] {
    const auto& found = library();
    if (found.api == nullptr) return fail(host, XSP_NOT_AVAILABLE, found.absent);
    xsp::fill(probe,
              xsp_probe{0, found.version.c_str(), found.path.c_str(), found.devices.c_str(),
                        ".onnx,.ort", nullptr, "--option session.intra_op.allow_spinning=0"});
    return XSP_OK;
  });
}

void describe(xsp_model* model) {
  for (const Signature& signature : model->inputs) {
    model->input_infos.push_back(info_of(signature));
    model->input_names.push_back(signature.name.c_str());
  }
  for (const Signature& signature : model->outputs) {
    model->output_names.push_back(signature.name.c_str());
    if (signature.dtype != 0) {
      model->output_infos.push_back(info_of(signature));
    } else {
      xsp::note(model->host,
                "output '" + signature.name + "' is not a tensor of numbers: not kept");
    }
  }
  model->output_values.resize(model->outputs.size());
}

xsp_status open_binding(xsp_model* model) {
  if (model->session.device < 0) return XSP_OK;
  model->binding = std::make_unique<xsp::ort::Binding>();
  const Problem problem = model->binding->open(model->session.session.get(), model->session.device);
  if (!problem) return XSP_OK;
  return fail(model->host, XSP_FAILED,
              "IO binding: " + problem.text + ": --option io_binding=off does without");
}

xsp_status open(const xsp_host* host, const xsp_open_options* given, xsp_model** result) {
  return guarded(host, [&] {
    if (library().api == nullptr) return fail(host, XSP_NOT_AVAILABLE, library().absent);
    static std::atomic<int> opened{0};
    const auto options = xsp::whole(given);
    auto model = std::make_unique<xsp_model>();
    model->host = host;
    model->prefix = std::string(host->scratch_folder) + "/onnxruntime-" + std::to_string(getpid()) +
                    "-" + std::to_string(opened.fetch_add(1)) + "-";
    xsp_status status = open_session(host, options, model->prefix, &model->session);
    if (status != XSP_OK) return status;
    OrtSession* session = model->session.session.get();
    status = read_signatures(host, session, true, &model->inputs);
    if (status == XSP_OK) status = read_signatures(host, session, false, &model->outputs);
    if (status != XSP_OK) return status;
    describe(model.get());
    status = open_binding(model.get());
    if (status != XSP_OK) return status;
    if (model->session.records) {
      model->layers.read(options.path, model->session.optimized_model, options.model_site);
    }
    if (options.model_site != 0) {
      xsp_site_attribute(options.model_site, "provider", model->session.provider.c_str());
      if (!model->session.tf32.empty()) {
        xsp_site_attribute(options.model_site, "setting.cudnn_tf32", model->session.tf32.c_str());
        xsp_site_attribute(options.model_site, "setting.matmul_tf32", model->session.tf32.c_str());
      }
      if (model->session.records) xsp_site_counter(options.model_site, "layer_resolution_ns", 1000);
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

xsp_status bad_input(xsp_model* model, const char* name, const std::string& why) {
  return fail(model->host, XSP_BAD_INPUT,
              std::string("input '") + name + "': " + why + ": see the model's signature");
}

bool is_out_of_memory(const Problem& problem) {
  const auto has = [&](const char* part) { return problem.text.find(part) != std::string::npos; };
  return has("Failed to allocate memory") || has("bad_alloc") || has("out of memory");
}

xsp_status run_failed(xsp_model* model, const Problem& problem) {
  if (is_out_of_memory(problem)) {
    return fail(model->host, XSP_OUT_OF_MEMORY,
                "run: out of memory: " + problem.text + ": use a smaller batch");
  }
  const bool is_input = problem.code == ORT_INVALID_ARGUMENT;
  return fail(model->host, is_input ? XSP_BAD_INPUT : XSP_FAILED,
              "run: " + problem.text + ": give inputs that suit the model with --input");
}

xsp_status set_input(xsp_model* model, size_t index, const xsp_tensor& tensor) {
  if (model->binding != nullptr) {
    const Problem problem = model->binding->set_input(tensor);
    if (!problem) return XSP_OK;
    return is_out_of_memory(problem) ? run_failed(model, problem)
                                     : bad_input(model, tensor.name, problem.text);
  }
  const OrtApi* api = library().api;
  const size_t bytes = (tensor.data_bytes / kAlignment + 1) * kAlignment;
  Input& input = model->values[index];
  input.memory.reset(std::aligned_alloc(kAlignment, bytes));
  if (input.memory == nullptr) throw std::bad_alloc();
  if (tensor.data_bytes > 0) std::memcpy(input.memory.get(), tensor.data, tensor.data_bytes);
  OrtMemoryInfo* made = nullptr;
  Problem problem = take(api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &made));
  const Handle<OrtMemoryInfo> memory(made, api->ReleaseMemoryInfo);
  OrtValue* value = nullptr;
  if (!problem) {
    problem = take(api->CreateTensorWithDataAsOrtValue(
        made, input.memory.get(), tensor.data_bytes, tensor.dimensions, tensor.rank,
        static_cast<ONNXTensorElementDataType>(tensor.dtype), &value));
  }
  if (problem) return bad_input(model, tensor.name, problem.text);
  input.value = Handle<OrtValue>(value, api->ReleaseValue);
  model->input_values[index] = value;
  return XSP_OK;
}

// Gets the results of the last run that are on a GPU.
Problem fetch_outputs(xsp_model* model) {
  if (model->binding == nullptr) return {};
  model->release_outputs();
  const Problem problem = model->binding->outputs(&model->output_values);
  if (!problem) model->output_values.resize(model->outputs.size());
  return problem;
}

// Sets an input to that output of the last run which it is.
xsp_status take_back(xsp_model* model, size_t index) {
  const char* name = model->inputs[index].name.c_str();
  for (const xsp_fed_back& pair : model->fed_back) {
    if (pair.input != index || model->taken_back.empty()) continue;
    OrtValue* value = model->taken_back[pair.output].get();
    model->input_values[index] = value;
    if (model->binding == nullptr) return XSP_OK;
    const Problem problem = model->binding->bind_input(name, value);
    if (!problem) return XSP_OK;
    return is_out_of_memory(problem) ? run_failed(model, problem)
                                     : bad_input(model, name, problem.text);
  }
  return bad_input(model, name, "it is missing");
}

// Keeps the outputs of the last run for the inputs that they are.
Problem keep_outputs(xsp_model* model) {
  model->taken_back.clear();
  if (!model->has_run || model->fed_back.empty()) return {};
  if (const Problem problem = fetch_outputs(model)) return problem;
  for (OrtValue*& value : model->output_values) {
    model->taken_back.emplace_back(std::exchange(value, nullptr), library().api->ReleaseValue);
  }
  return {};
}

xsp_status set_inputs(xsp_model* model, const xsp_tensor* tensors, size_t count) {
  return guarded(model->host, [&] {
    if (const Problem problem = keep_outputs(model)) {
      return fail(model->host, XSP_FAILED, "set inputs: " + problem.text);
    }
    model->has_inputs = model->has_run = false;
    if (model->binding != nullptr) model->binding->clear();
    std::vector<bool> is_set(model->inputs.size());
    model->values.clear();
    model->values.resize(model->inputs.size());
    model->input_values.assign(model->inputs.size(), nullptr);
    for (size_t i = 0; i < count; ++i) {
      const auto tensor = xsp::whole(xsp_tensor_at(tensors, i));
      size_t index = 0;
      while (index < model->inputs.size() && model->inputs[index].name != tensor.name) ++index;
      if (index == model->inputs.size()) {
        return bad_input(model, tensor.name, "the model has no such input");
      }
      const std::string why = xsp::mismatch(model->input_infos[index], tensor);
      if (!why.empty()) return bad_input(model, tensor.name, why);
      const xsp_status status = set_input(model, index, tensor);
      if (status != XSP_OK) return status;
      is_set[index] = true;
    }
    for (size_t i = 0; i < model->inputs.size(); ++i) {
      const xsp_status status = is_set[i] ? XSP_OK : take_back(model, i);
      if (status != XSP_OK) return status;
    }
    // Else a new request's first run would need room for the last one's outputs.
    if (std::find(is_set.begin(), is_set.end(), false) == is_set.end()) model->taken_back.clear();
    if (model->binding != nullptr) {
      const Problem problem = model->binding->bind_outputs(model->outputs);
      if (problem) return run_failed(model, problem);
    }
    model->has_inputs = true;
    return XSP_OK;
  });
}

xsp_status run(xsp_model* model) {
  if (!model->has_inputs) return bad_input(model, "", "inputs are not set");
  model->release_outputs();
  const bool records = model->session.records;
  const int64_t start_ns = records ? xsp_now_ns() : 0;
  OrtSession* session = model->session.session.get();
  OrtStatus* status =
      model->binding != nullptr
          ? model->binding->run(session)
          : library().api->Run(session, nullptr, model->input_names.data(),
                               model->input_values.data(), model->input_names.size(),
                               model->output_names.data(), model->output_names.size(),
                               model->output_values.data());
  model->has_run = status == nullptr;
  if (status == nullptr && !records) return XSP_OK;
  return guarded(model->host, [&] {
    const Problem problem = take(status);
    if (problem) return run_failed(model, problem);
    model->windows.push_back({start_ns, xsp_now_ns()});
    return XSP_OK;
  });
}

xsp_status results(xsp_model* model, const xsp_tensor** tensors, size_t* count) {
  return guarded(model->host, [&] {
    const OrtApi* api = library().api;
    model->results.clear();
    model->result_dimensions.assign(model->outputs.size(), {});
    model->downloads.assign(model->outputs.size(), {});
    if (const Problem problem = fetch_outputs(model)) {
      return fail(model->host, XSP_FAILED, "results: " + problem.text);
    }
    for (size_t i = 0; i < model->outputs.size(); ++i) {
      if (model->outputs[i].dtype == 0) continue;
      OrtValue* value = model->output_values[i];
      if (value == nullptr)
        return fail(model->host, XSP_FAILED, "results: none: run the model first");
      OrtTensorTypeAndShapeInfo* made = nullptr;
      Problem problem = take(api->GetTensorTypeAndShape(value, &made));
      const Handle<OrtTensorTypeAndShapeInfo> info(made, api->ReleaseTensorTypeAndShapeInfo);
      size_t rank = 0;
      size_t elements = 0;
      void* data = nullptr;
      if (!problem) problem = take(api->GetDimensionsCount(made, &rank));
      std::vector<int64_t>& dimensions = model->result_dimensions[i];
      dimensions.resize(rank);
      if (!problem) problem = take(api->GetDimensions(made, dimensions.data(), rank));
      if (!problem) problem = take(api->GetTensorShapeElementCount(made, &elements));
      if (!problem) problem = take(api->GetTensorMutableData(value, &data));
      const uint32_t dtype = model->outputs[i].dtype;
      const bool stays = std::any_of(model->fed_back.begin(), model->fed_back.end(),
                                     [&](const auto& pair) { return pair.output == i; });
      const size_t bytes = stays ? 0 : elements * xsp::dtype_bytes(dtype);
      if (stays) data = nullptr;
      if (!problem && !stays && model->binding != nullptr) {
        std::vector<std::byte>& copy = model->downloads[i];
        copy.resize(bytes);
        problem = model->binding->download(copy.data(), data, bytes);
        data = copy.data();
      }
      if (problem) return fail(model->host, XSP_FAILED, "results: " + problem.text);
      model->results.push_back({sizeof(xsp_tensor), model->outputs[i].name.c_str(), dtype,
                                static_cast<uint32_t>(rank), dimensions.data(), data, bytes});
    }
    *tensors = model->results.data();
    *count = model->results.size();
    return XSP_OK;
  });
}

xsp_status flush(xsp_model* model) {
  return guarded(model->host, [&] {
    const bool recorded = model->session.records;
    const std::string path = model->end_profiling();
    if (!recorded) return XSP_OK;
    {
      xsp::ort::ProfileReader reader(path);
      if (path.empty() || !reader.is_open()) {
        return fail(model->host, XSP_FAILED,
                    "profile: the runtime wrote none: is there space in " +
                        std::string(model->host->scratch_folder) + "?");
      }
      xsp::ort::emit_profile(&reader, model->session.profile_start_ns, model->windows,
                             &model->layers);
    }
    std::error_code error;
    std::filesystem::remove(path, error);
    model->windows.clear();
    return XSP_OK;
  });
}

xsp_status feed_back(xsp_model* model, const xsp_fed_back* pairs, size_t count) {
  return guarded(model->host, [&] {
    std::vector<uint32_t> numbers;  // places of the outputs that are tensors of numbers
    for (uint32_t i = 0; i < model->outputs.size(); ++i) {
      if (model->outputs[i].dtype != 0) numbers.push_back(i);
    }
    // Without a binding, the runtime copies the outputs of a GPU to the host.
    if (model->binding == nullptr && model->session.provider != xsp::ort::kCpu) {
      return fail(model->host, XSP_NOT_AVAILABLE, "feed back: outputs are on the host");
    }
    std::vector<xsp_fed_back> places;
    for (size_t i = 0; i < count; ++i) {
      if (pairs[i].output >= numbers.size() || pairs[i].input >= model->inputs.size()) {
        return fail(model->host, XSP_BAD_INPUT, "feed back: the model has no such output or input");
      }
      places.push_back({numbers[pairs[i].output], pairs[i].input});
    }
    model->fed_back = std::move(places);
    return XSP_OK;
  });
}

void close(xsp_model* model) { delete model; }

uint64_t runs_max(xsp_model* model) {
  if (!model->session.records) return 0;
  return std::max<uint64_t>(kEventsMax / (model->layers.node_count() + kEventsPerRun), 1);
}

}  // namespace

extern "C" {
XSP_API extern const xsp_adapter xsp_adapter_entry;
const xsp_adapter xsp_adapter_entry = {
    .struct_size = sizeof(xsp_adapter),
    .abi = XSP_PLUGIN_ABI,
    .name = "onnxruntime",
    .help =
        "pip install onnxruntime or onnxruntime-gpu, and set XSP_ONNXRUNTIME to its capi folder",
    .probe = probe,
    .open = open,
    .inputs = inputs,
    .outputs = outputs,
    .set_inputs = set_inputs,
    .run = run,
    .results = results,
    .flush = flush,
    .close = close,
    .runs_max = runs_max,
    .record_details = nullptr,
    .keep_tokens = nullptr,
    .kept_bytes = nullptr,
    .opens_several = 1,
    .feed_back = feed_back,
};
}
