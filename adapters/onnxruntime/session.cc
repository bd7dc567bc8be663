#include "adapters/onnxruntime/session.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "adapters/onnxruntime/library.h"
#include "adapters/onnxruntime/providers.h"
#include "formats/onnx/reader.h"
#include "xsp/plugin.hpp"

namespace xsp::ort {
namespace {

// Holds the parsed options of the command line.
struct Choices {
  std::string provider;  // full name
  int cuda_device = 0;
  GraphOptimizationLevel optimization = ORT_ENABLE_ALL;
  ExecutionMode mode = ORT_SEQUENTIAL;
  int inter_op_threads = 0;
  bool memory_pattern = true;
  bool memory_arena = true;
  bool io_binding = true;
  std::vector<std::pair<std::string, std::string>> config;
};

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

bool parse_switch(std::string_view value, bool* on) {
  *on = value == "on";
  return value == "on" || value == "off";
}

bool parse_count(std::string_view value, int* number) {
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), *number);
  return error == std::errc() && end == value.data() + value.size() && *number >= 0;
}

bool parse_optimization(std::string_view value, GraphOptimizationLevel* level) {
  if (value == "none") return *level = ORT_DISABLE_ALL, true;
  if (value == "basic") return *level = ORT_ENABLE_BASIC, true;
  if (value == "extended") return *level = ORT_ENABLE_EXTENDED, true;
  return *level = ORT_ENABLE_ALL, value == "all";
}

// Returns the full name of an execution provider that this library has; empty if it has none of
// that name.
std::string provider_of(std::string_view name) {
  for (const std::string& known : library().providers) {
    const bool is_brief = equal_ignoring_case(name, brief_name(known));
    if (is_brief || equal_ignoring_case(name, known)) return known;
  }
  return "";
}

xsp_status no_provider(const xsp_host* host, const std::string& what) {
  std::string all;
  for (const std::string& name : library().providers) all += (all.empty() ? "" : ", ") + name;
  return fail(
      host, XSP_NOT_AVAILABLE,
      what + ": not available: this ONNX Runtime " + library().version + " has " + all +
          ": install another build of it (as onnxruntime-gpu), and set XSP_ONNXRUNTIME to its "
          "folder");
}

xsp_status choose_device(const xsp_host* host, const std::string& device, Choices* choices) {
  const std::string kind = device.substr(0, device.find(':'));
  const bool has_index = kind.size() < device.size();
  const bool is_index_good =
      !has_index ||
      parse_count(std::string_view(device).substr(kind.size() + 1), &choices->cuda_device);
  if (kind == "cpu" && !has_index) {
    choices->provider = kCpu;
  } else if (kind == "cuda" && is_index_good) {
    choices->provider = kCuda;
  } else {
    return fail(host, XSP_NOT_AVAILABLE,
                "device " + device + ": not known to ONNX Runtime here: use cpu, cuda or cuda:N");
  }
  if (provider_of(choices->provider).empty()) return no_provider(host, "device " + device);
  return XSP_OK;
}

xsp_status choose(const xsp_host* host, const xsp_open_options& options, Choices* choices) {
  xsp_status status = choose_device(host, options.device, choices);
  for (size_t i = 0; i < options.option_count && status == XSP_OK; ++i) {
    const std::string_view key = options.options[i].key;
    const std::string value = options.options[i].value;
    bool is_good = true;
    if (key == "graph_optimization") {
      is_good = parse_optimization(value, &choices->optimization);
    } else if (key == "provider") {
      choices->provider = provider_of(value);
      if (choices->provider.empty()) return no_provider(host, "provider " + value);
      const std::string why = misfit(choices->provider, options.device);
      if (!why.empty()) return fail(host, XSP_FAILED, "provider " + value + ": " + why);
    } else if (key == "execution_mode") {
      choices->mode = value == "parallel" ? ORT_PARALLEL : ORT_SEQUENTIAL;
      is_good = value == "parallel" || value == "sequential";
    } else if (key == "inter_op_threads") {
      is_good = parse_count(value, &choices->inter_op_threads);
    } else if (key == "memory_pattern") {
      is_good = parse_switch(value, &choices->memory_pattern);
    } else if (key == "memory_arena") {
      is_good = parse_switch(value, &choices->memory_arena);
    } else if (key == "io_binding") {
      is_good = parse_switch(value, &choices->io_binding);
    } else if (key.find('.') != std::string_view::npos) {
      choices->config.emplace_back(key, value);
    } else {
      is_good = false;
    }
    if (!is_good) {
      return fail(
          host, XSP_FAILED,
          "option " + std::string(key) + "=" + value +
              ": not known: there are graph_optimization=none|basic|extended|all, provider=NAME, "
              "execution_mode=sequential|parallel, inter_op_threads=N, memory_pattern=on|off, "
              "memory_arena=on|off, io_binding=on|off, and ONNX Runtime's own, as "
              "session.intra_op.allow_spinning=0");
    }
  }
  return status;
}

// Returns the options of CUDA's provider that a session has unless it is told otherwise; empty if
// the library does not tell them.
std::string cuda_options() {
  const OrtApi* api = library().api;
  OrtCUDAProviderOptionsV2* cuda = nullptr;
  if (take(api->CreateCUDAProviderOptions(&cuda)) || cuda == nullptr) return "";
  OrtAllocator* allocator = nullptr;
  char* text = nullptr;
  std::string options;
  if (!take(api->GetAllocatorWithDefaultOptions(&allocator)) &&
      !take(api->GetCUDAProviderOptionsAsString(cuda, allocator, &text)) && text != nullptr) {
    options = text;
    (void)take(api->AllocatorFree(allocator, text));
  }
  api->ReleaseCUDAProviderOptions(cuda);
  return options;
}

Handle<OrtSessionOptions> make_options(const xsp_open_options& given, const Choices& choices,
                                       bool records, const std::string& prefix,
                                       const std::string& optimized_model, Calls* calls) {
  const OrtApi* api = library().api;
  OrtSessionOptions* made = nullptr;
  (*calls)(api->CreateSessionOptions(&made));
  Handle<OrtSessionOptions> options(made, api->ReleaseSessionOptions);
  if (made == nullptr) return options;
  (*calls)(api->SetSessionGraphOptimizationLevel(made, choices.optimization));
  (*calls)(api->SetSessionExecutionMode(made, choices.mode));
  if (given.threads > 0) (*calls)(api->SetIntraOpNumThreads(made, static_cast<int>(given.threads)));
  if (choices.inter_op_threads > 0) {
    (*calls)(api->SetInterOpNumThreads(made, choices.inter_op_threads));
  }
  if (!choices.memory_pattern) (*calls)(api->DisableMemPattern(made));
  if (!choices.memory_arena) (*calls)(api->DisableCpuMemArena(made));
  for (const auto& [key, value] : choices.config) {
    (*calls)(api->AddSessionConfigEntry(made, key.c_str(), value.c_str()));
  }
  add_provider(api, made, choices.provider, choices.cuda_device, calls);
  if (records) (*calls)(api->EnableProfiling(made, (prefix + "profile").c_str()));
  if (!optimized_model.empty()) {
    (*calls)(api->SetOptimizedModelFilePath(made, optimized_model.c_str()));
    // The weights go to a file of their own: so the graph stays small, and a model of any size can
    // be written.
    const std::string weights =
        std::filesystem::path(optimized_model).filename().string() + ".weights";
    (*calls)(api->AddSessionConfigEntry(
        made, "session.optimized_model_external_initializers_file_name", weights.c_str()));
    (*calls)(api->AddSessionConfigEntry(
        made, "session.optimized_model_external_initializers_min_size_in_bytes", "1024"));
  }
  return options;
}

// Checks the file before the runtime reads it. Returns its error; empty if none is found.
std::string file_problem(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return "there is no such file: check its name";
  if (std::filesystem::is_directory(status)) return "it is a folder: name a file in it";
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::string("cannot be read: ") + std::strerror(errno);
  if (file.peek() == std::char_traits<char>::eof()) return "it is empty: export or build it again";
  return "";
}

xsp_status bad_model(const xsp_host* host, const std::string& path, const Problem& problem) {
  const auto has = [&](const char* part) { return problem.text.find(part) != std::string::npos; };
  if (has("bad_alloc") || has("Failed to allocate memory")) {
    return fail(host, XSP_OUT_OF_MEMORY, path + ": out of memory: it needs more than there is");
  }
  // The prefix "Load model from PATH failed:..." repeats known facts.
  std::string why = problem.text;
  for (const std::string& prefix :
       {"Load model from " + path + " failed:", "Load model from " + path}) {
    if (why.rfind(prefix, 0) == 0) why = why.substr(prefix.size());
  }
  why = why.substr(std::min(why.find_first_not_of(' '), why.size()));
  std::string remedy =
      "export it again, or see whether ONNX Runtime " + library().version + " runs it";
  if (problem.code == ORT_INVALID_PROTOBUF) {
    // Our own reader gives a better explanation of the invalid bytes.
    const auto graph = formats::read_graph(path);
    if (!graph.ok()) return fail(host, XSP_BAD_MODEL, graph.error().text);
    why = "not a sound ONNX file";
  } else if (has("not a registered function/op") || has("No Op registered") ||
             has("Could not find an implementation") || has("opset") || has("IR version") ||
             has("model file format version")) {
    remedy = "export it with operators that ONNX Runtime " + library().version + " has";
  }
  return fail(host, XSP_BAD_MODEL, path + ": " + why + ": " + remedy);
}

}  // namespace

std::string tf32_of_cuda(const std::string& provider_options) {
  constexpr std::string_view kKey = ";use_tf32=";
  const std::string text = ";" + provider_options;
  const size_t at = text.find(kKey);
  if (at == std::string::npos) return "";
  return text.compare(at + kKey.size(), 1, "0") == 0 ? "false" : "true";
}

xsp_status open_session(const xsp_host* host, const xsp_open_options& options,
                        const std::string& prefix, Session* session) {
  const OrtApi* api = library().api;
  const std::string path = options.path;
  Choices choices;
  const xsp_status status = choose(host, options, &choices);
  if (status != XSP_OK) return status;
  const std::string problem = file_problem(path);
  if (!problem.empty()) return fail(host, XSP_BAD_MODEL, path + ": " + problem);

  session->provider = choices.provider;
  const bool is_on_gpu = choices.provider == kCuda || choices.provider == kTensorRt;
  if (is_on_gpu && choices.io_binding) session->device = choices.cuda_device;
  if (choices.provider == kCuda) session->tf32 = tf32_of_cuda(cuda_options());
  session->records = (options.levels & XSP_LEVEL_BIT(XSP_LEVEL_LAYER)) != 0;
  // Providers that compile parts of the graph make one that cannot be written.
  const bool can_write = choices.provider == kCpu || choices.provider == kCuda;
  if (session->records && can_write) session->optimized_model = prefix + "optimized.onnx";
  Problem first_problem;
  for (;;) {
    Calls calls(api);
    const auto made =
        make_options(options, choices, session->records, prefix, session->optimized_model, &calls);
    if (calls.first()) {
      const std::string logged = take_logged_error();
      return fail(host, XSP_NOT_AVAILABLE,
                  choices.provider + ": " + (logged.empty() ? calls.first().text : logged) +
                      ": install what it needs, or use --device cpu");
    }
    OrtSession* opened = nullptr;
    const Problem why = take(api->CreateSession(library().env, path.c_str(), made.get(), &opened));
    session->session = Handle<OrtSession>(opened, api->ReleaseSession);
    if (!why) break;
    if (session->optimized_model.empty()) return bad_model(host, path, why);
    // The writing may have failed, so this tries without it.
    first_problem = why;
    session->optimized_model.clear();
  }
  if (first_problem) {
    note(host, "the graph that runs could not be written: " + first_problem.text +
                   ": layers are not tied to the model's own");
  }
  uint64_t start_ns = 0;
  if (session->records &&
      !take(api->SessionGetProfilingStartTimeNs(session->session.get(), &start_ns))) {
    session->profile_start_ns = static_cast<int64_t>(start_ns);
  }
  return XSP_OK;
}

namespace {

// Reads one description; the caller reports the first problem.
void read_signature(const OrtApi* api, OrtSession* session, bool is_input, size_t index,
                    Signature* signature, Calls* calls) {
  OrtAllocator* allocator = nullptr;
  (*calls)(api->GetAllocatorWithDefaultOptions(&allocator));
  char* name = nullptr;
  OrtTypeInfo* made = nullptr;
  (*calls)(is_input ? api->SessionGetInputName(session, index, allocator, &name)
                    : api->SessionGetOutputName(session, index, allocator, &name));
  (*calls)(is_input ? api->SessionGetInputTypeInfo(session, index, &made)
                    : api->SessionGetOutputTypeInfo(session, index, &made));
  const Handle<OrtTypeInfo> type(made, api->ReleaseTypeInfo);
  if (name != nullptr) {
    signature->name = name;
    (*calls)(api->AllocatorFree(allocator, name));
  }
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  if (made != nullptr) (*calls)(api->CastTypeInfoToTensorInfo(made, &tensor));
  if (tensor == nullptr) return;
  ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  (*calls)(api->GetTensorElementType(tensor, &element));
  // ONNX Runtime and xsp number their types as ONNX does.
  const auto dtype = static_cast<uint32_t>(element);
  signature->dtype = dtype_bytes(dtype) == 0 ? 0 : dtype;
  size_t rank = 0;
  (*calls)(api->GetDimensionsCount(tensor, &rank));
  signature->dimensions.resize(rank);
  std::vector<const char*> symbols(rank, "");
  (*calls)(api->GetDimensions(tensor, signature->dimensions.data(), rank));
  (*calls)(api->GetSymbolicDimensions(tensor, symbols.data(), rank));
  for (size_t d = 0; d < rank; ++d) {
    if (signature->dimensions[d] < 0) signature->dimensions[d] = -1;
    signature->symbols.emplace_back(symbols[d]);
  }
}

}  // namespace

xsp_status read_signatures(const xsp_host* host, OrtSession* session, bool inputs,
                           std::vector<Signature>* signatures) {
  const OrtApi* api = library().api;
  Calls calls(api);
  size_t count = 0;
  calls(inputs ? api->SessionGetInputCount(session, &count)
               : api->SessionGetOutputCount(session, &count));
  signatures->resize(count);
  for (size_t i = 0; i < count; ++i) {
    Signature& signature = (*signatures)[i];
    read_signature(api, session, inputs, i, &signature, &calls);
    if (signature.dimensions.size() > XSP_RANK_MAX) signature.dtype = 0;
    for (const std::string& symbol : signature.symbols) {
      signature.symbol_pointers.push_back(symbol.c_str());
    }
    if (inputs && signature.dtype == 0 && !calls.first()) {
      return fail(
          host, XSP_BAD_MODEL,
          "input '" + signature.name + "': not a tensor of numbers: xsp cannot make its values");
    }
  }
  if (calls.first()) return fail(host, XSP_BAD_MODEL, calls.first().text);
  return XSP_OK;
}

}  // namespace xsp::ort
