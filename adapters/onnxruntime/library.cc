#include "adapters/onnxruntime/library.h"

#include <dlfcn.h>
#include <glob.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <utility>

#include "adapters/onnxruntime/text.h"

namespace xsp::ort {
namespace {

constexpr uint32_t kOldestApi = 12;  // has every function that is called here

std::mutex log_mutex;
std::string logged_error;

// Called by the runtime on any thread, for errors alone.
void on_log(void*, OrtLoggingLevel, const char*, const char*, const char*, const char* message) {
  const std::lock_guard lock(log_mutex);
  logged_error = message;
}

std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&library), &info) == 0) return "";
  return std::filesystem::path(info.dli_fname).parent_path();
}

std::vector<std::string> matches(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
  }
  globfree(&found);
  return paths;
}

// Where it may be, in order of preference.
std::vector<std::string> candidates() {
  const char* chosen = std::getenv("XSP_ONNXRUNTIME");
  if (chosen != nullptr && *chosen != '\0') {
    std::error_code error;
    if (!std::filesystem::is_directory(chosen, error)) return {chosen};
    return matches(std::string(chosen) + "/libonnxruntime.so*");
  }
  // lib/xsp/adapters/onnxruntime.so -> lib/
  std::vector<std::string> paths = matches(own_folder() + "/../../libonnxruntime.so*");
  paths.insert(paths.end(), {"libonnxruntime.so.1", "libonnxruntime.so"});
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const char* prefix = std::getenv(variable);
    if (prefix == nullptr) continue;
    const auto more = matches(std::string(prefix) +
                              "/lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so*");
    paths.insert(paths.end(), more.begin(), more.end());
  }
  return paths;
}

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
  const std::vector<std::string> paths = candidates();
  void* handle = nullptr;
  std::string why = "libonnxruntime.so was not found";
  // It reads this when it is loaded. A profiler reports to nobody, and threads that do would
  // disturb what it measures.
  setenv("ORT_DISABLE_TELEMETRY", "1", 1);
  for (const std::string& path : paths) {
    handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) break;
    // A file that is there and does not load is worth more words than one that is not there.
    std::error_code error;
    if (std::filesystem::exists(path, error)) why = dlerror();
  }
  constexpr const char* kRemedy =
      ": install it (pip install onnxruntime), and set XSP_ONNXRUNTIME to libonnxruntime.so or its "
      "folder";
  library.absent = "ONNX Runtime: " + why + kRemedy;
  if (handle == nullptr) return library;
  const auto get_base = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(handle, "OrtGetApiBase"));
  Dl_info info{};
  if (get_base == nullptr || dladdr(reinterpret_cast<void*>(get_base), &info) == 0) {
    library.absent = std::string("ONNX Runtime: the library has no OrtGetApiBase") + kRemedy;
    return library;
  }
  std::error_code error;
  library.path = std::filesystem::canonical(info.dli_fname, error);
  library.version = get_base()->GetVersionString();
  // Each release adds one version of the interface, and the runtime complains when asked for more.
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
  // Never destroyed: the runtime's own threads may outlive any order of destruction.
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
