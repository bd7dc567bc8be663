#include "desk/machine/gpu.h"

#include <dlfcn.h>
#include <glob.h>

namespace xsp::machine {
namespace {

std::vector<std::string> expand(const std::string& name) {
  if (name.find('*') == std::string::npos) return {name};
  std::vector<std::string> paths;
  glob_t found{};
  if (::glob(name.c_str(), 0, nullptr, &found) == 0) {
    for (size_t i = found.gl_pathc; i > 0; --i) paths.emplace_back(found.gl_pathv[i - 1]);
  }
  ::globfree(&found);
  return paths;
}

}  // namespace

Gpu find_gpu() {
  Gpu gpu;
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    gpu.reason = "no GPU: the CUDA driver (libcuda.so.1) is not installed";
    return gpu;
  }
  // The driver's C interface returns 0 for success. The library is never unloaded, because it
  // leaves threads running.
  using Init = int (*)(unsigned);
  using Get = int (*)(int*);
  const auto init = reinterpret_cast<Init>(::dlsym(library, "cuInit"));
  const auto get_count = reinterpret_cast<Get>(::dlsym(library, "cuDeviceGetCount"));
  const auto get_version = reinterpret_cast<Get>(::dlsym(library, "cuDriverGetVersion"));
  if (init == nullptr || get_count == nullptr || get_version == nullptr) {
    gpu.reason = "no GPU: libcuda.so.1 is not a CUDA driver";
    return gpu;
  }
  int version = 0;
  if (get_version(&version) == 0 && version > 0) {
    gpu.driver = std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  }
  const int status = init(0);
  if (status != 0) {
    gpu.reason = "no GPU: the CUDA driver answers with error " + std::to_string(status);
    return gpu;
  }
  if (get_count(&gpu.count) != 0) gpu.count = 0;
  if (gpu.count == 0) gpu.reason = "no GPU: the CUDA driver knows none";
  return gpu;
}

Library find_library(const std::vector<std::string>& names) {
  Library result;
  for (const std::string& name : names) {
    for (const std::string& path : expand(name)) {
      void* library = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
      if (library == nullptr) {
        if (const char* why = ::dlerror(); why != nullptr) result.reason = why;
        continue;
      }
      ::dlclose(library);
      return {path, ""};
    }
  }
  if (result.reason.empty()) result.reason = "not found";
  return result;
}

Library find_cupti() {
  return find_library({"/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so.*",
                       "/usr/local/cuda*/targets/*/lib/libcupti.so.*", "libcupti.so.13",
                       "libcupti.so.12", "libcupti.so"});
}

Library find_nvml() { return find_library({"libnvidia-ml.so.1"}); }

}  // namespace xsp::machine
