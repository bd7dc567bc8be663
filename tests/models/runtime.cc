#include "runtime.h"

#include <dlfcn.h>
#include <onnxruntime_c_api.h>

#include "tests/places.h"

namespace xsp::formats {
namespace {

const OrtApi* load_api(std::string* why) {
  // The library is never unloaded, because the runtime has threads of its own.
  void* library = ::dlopen(places::build("lib/libonnxruntime.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    *why = ::dlerror();
    return nullptr;
  }
  using GetBase = const OrtApiBase* (*)();
  const auto base = reinterpret_cast<GetBase>(::dlsym(library, "OrtGetApiBase"));
  if (base == nullptr) {
    *why = "it has no OrtGetApiBase";
    return nullptr;
  }
  return base()->GetApi(ORT_API_VERSION);
}

// Returns the error of a call, if it failed.
Status check(const OrtApi* api, OrtStatus* status) {
  if (status == nullptr) return Ok{};
  const std::string text = api->GetErrorMessage(status);
  api->ReleaseStatus(status);
  return failed("ONNX Runtime: " + text);
}

}  // namespace

struct Session::State {
  const OrtApi* api = nullptr;
  OrtEnv* env = nullptr;
  OrtSessionOptions* options = nullptr;
  OrtSession* session = nullptr;
  OrtMemoryInfo* memory = nullptr;
  std::vector<OrtValue*> values;

  void release_values() {
    for (OrtValue* value : values) api->ReleaseValue(value);
    values.clear();
  }
  ~State() {
    release_values();
    if (memory != nullptr) api->ReleaseMemoryInfo(memory);
    if (session != nullptr) api->ReleaseSession(session);
    if (options != nullptr) api->ReleaseSessionOptions(options);
    if (env != nullptr) api->ReleaseEnv(env);
  }
};

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session::~Session() = default;

Result<Session> Session::open(const std::string& path, const std::string& optimised_path) {
  std::string why = "its interface is older than its header";
  auto state = std::make_unique<State>();
  const OrtApi* api = state->api = load_api(&why);
  if (api == nullptr) return not_available("ONNX Runtime: " + why + ": run tools/deps.sh");
  XSP_CHECK_OK(check(api, api->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "test", &state->env)));
  XSP_CHECK_OK(check(api, api->CreateSessionOptions(&state->options)));
  XSP_CHECK_OK(check(api, api->SetIntraOpNumThreads(state->options, 1)));
  XSP_CHECK_OK(check(api, api->SetOptimizedModelFilePath(state->options, optimised_path.c_str())));
  XSP_CHECK_OK(
      check(api, api->CreateSession(state->env, path.c_str(), state->options, &state->session)));
  XSP_CHECK_OK(
      check(api, api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &state->memory)));
  return Session(std::move(state));
}

Result<std::vector<RuntimeTensor>> Session::run(const std::vector<RuntimeTensor>& inputs,
                                                const std::vector<std::string>& outputs) {
  const OrtApi* api = state_->api;
  state_->release_values();
  std::vector<OrtValue*>& values = state_->values;
  std::vector<const char*> input_names;
  for (const RuntimeTensor& input : inputs) {
    const bool is_float = !input.floats.empty();
    const void* data = is_float ? static_cast<const void*>(input.floats.data())
                                : static_cast<const void*>(input.integers.data());
    const size_t bytes =
        input.floats.size() * sizeof(float) + input.integers.size() * sizeof(int64_t);
    values.push_back(nullptr);
    XSP_CHECK_OK(check(
        api,
        api->CreateTensorWithDataAsOrtValue(
            state_->memory, const_cast<void*>(data), bytes, input.shape.data(), input.shape.size(),
            is_float ? ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT : ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64,
            &values.back())));
    input_names.push_back(input.name.c_str());
  }
  std::vector<const char*> output_names;
  for (const std::string& name : outputs) output_names.push_back(name.c_str());
  values.resize(inputs.size() + outputs.size(), nullptr);
  XSP_CHECK_OK(check(
      api, api->Run(state_->session, nullptr, input_names.data(), values.data(), inputs.size(),
                    output_names.data(), outputs.size(), values.data() + inputs.size())));
  std::vector<RuntimeTensor> results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    OrtValue* value = values[inputs.size() + i];
    OrtTensorTypeAndShapeInfo* info = nullptr;
    XSP_CHECK_OK(check(api, api->GetTensorTypeAndShape(value, &info)));
    const std::unique_ptr<OrtTensorTypeAndShapeInfo, void (*)(OrtTensorTypeAndShapeInfo*)> held(
        info, api->ReleaseTensorTypeAndShapeInfo);
    size_t rank = 0;
    size_t count = 0;
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    void* data = nullptr;
    RuntimeTensor result;
    result.name = outputs[i];
    XSP_CHECK_OK(check(api, api->GetDimensionsCount(info, &rank)));
    result.shape.resize(rank);
    XSP_CHECK_OK(check(api, api->GetDimensions(info, result.shape.data(), rank)));
    XSP_CHECK_OK(check(api, api->GetTensorShapeElementCount(info, &count)));
    XSP_CHECK_OK(check(api, api->GetTensorElementType(info, &type)));
    XSP_CHECK_OK(check(api, api->GetTensorMutableData(value, &data)));
    if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) {
      result.floats.assign(static_cast<float*>(data), static_cast<float*>(data) + count);
    } else {
      result.integers.assign(static_cast<int64_t*>(data), static_cast<int64_t*>(data) + count);
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace xsp::formats
