#include "adapters/onnxruntime/library.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <utility>

#include "adapters/onnxruntime/text.h"
#include "xsp/find_library.hpp"

namespace xsp::ort {
namespace {

constexpr uint32_t kOldestApi = 12;  // the first one with all functions that are called here

std::mutex log_mutex;
std::string logged_error;

// The runtime calls this on any thread, only for errors.
void on_log(void*, OrtLoggingLevel, const char*, const char*, const char*, const char* message) {
  const std::lock_guard lock(log_mutex);
  logged_error = message;
}

std::string own_folder() { return std::filesystem::path(file_of(&library)).parent_path(); }

uint32_t minor_version(const std::string& version) {
  const size_t dot = version.find('.');
  return dot == std::string::npos
             ? 0
             : static_cast<uint32_t>(std::strtoul(&version[dot + 1], nullptr, 10));
}

std::string device_list(const std::vector<std::string>& providers) {
  const auto has = [&](const char* name) {
    return std::find(providers.begin(), providers.end(), name) != providers.end();
  };
  return has("CUDAExecutionProvider") ? "cpu,cuda" : "cpu";
}

void list_providers(Library* library) {
  char** names = nullptr;
  int count = 0;
  if (take(library->api, library->api->GetAvailableProviders(&names, &count))) return;
  for (int i = 0; i < count; ++i) library->providers.emplace_back(names[i]);
  if (take(library->api, library->api->ReleaseAvailableProviders(names, count))) return;
}

Library load() {
  Library library;
  // The library reads this when it is loaded. A profiler sends no reports, and the threads that do
  // would disturb the measurement.
  setenv("ORT_DISABLE_TELEMETRY", "1", 1);
  const std::string file = "libonnxruntime.so*";
  const FoundLibrary found = find_library({.variable = "XSP_ONNXRUNTIME",
                                           .file = file,
                                           // From lib/xsp/adapters/onnxruntime.so to lib/.
                                           .beside = own_folder() + "/../../" + file,
                                           .in_cache = "",
                                           .linked = {"libonnxruntime.so.1", "libonnxruntime.so"},
                                           .in_packages = "onnxruntime/capi/" + file},
                                          RTLD_NOW);
  constexpr const char* kRemedy =
      ": install it (pip install onnxruntime), and set XSP_ONNXRUNTIME to libonnxruntime.so or its "
      "folder";
  library.absent = "ONNX Runtime: " + found.why + kRemedy;
  if (found.handle == nullptr) return library;
  const auto get_base =
      reinterpret_cast<const OrtApiBase* (*)()>(dlsym(found.handle, "OrtGetApiBase"));
  if (get_base == nullptr) {
    library.absent = std::string("ONNX Runtime: the library has no OrtGetApiBase") + kRemedy;
    return library;
  }
  library.path = file_of(get_base);
  library.version = get_base()->GetVersionString();
  // Each release adds one version of the interface. The runtime complains if a newer one is
  // requested.
  const uint32_t version = std::min<uint32_t>(ORT_API_VERSION, minor_version(library.version));
  library.api = version < kOldestApi ? nullptr : get_base()->GetApi(version);
  if (library.api == nullptr) {
    library.absent = "ONNX Runtime " + library.version + ": too old: install 1." +
                     std::to_string(kOldestApi) + " or newer";
    return library;
  }
  return library;
}

}  // namespace

Problem take(const OrtApi* api, OrtStatus* status) {
  if (status == nullptr) return {};
  Problem problem{api->GetErrorCode(status), condensed(api->GetErrorMessage(status))};
  if (problem.code == ORT_OK) problem.code = ORT_FAIL;
  api->ReleaseStatus(status);
  return problem;
}

Problem take(OrtStatus* status) { return take(library().api, status); }

std::string take_logged_error() {
  const std::lock_guard lock(log_mutex);
  return condensed(std::exchange(logged_error, {}));
}

const Library& library() {
  // The library is never destroyed: the runtime's own threads may outlive any order of destruction.
  static const Library& loaded = *[] {
    auto* library = new Library(load());
    if (library->api == nullptr) return library;
    const Problem problem =
        take(library->api, library->api->CreateEnvWithCustomLogger(
                               on_log, nullptr, ORT_LOGGING_LEVEL_ERROR, "xsp", &library->env));
    if (problem) {
      library->absent = "ONNX Runtime " + library->version + ": " + problem.text;
      library->api = nullptr;
      return library;
    }
    list_providers(library);
    library->devices = device_list(library->providers);
    return library;
  }();
  return loaded;
}

}  // namespace xsp::ort
