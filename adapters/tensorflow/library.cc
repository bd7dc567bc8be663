#include "adapters/tensorflow/library.h"

#include <dlfcn.h>
#include <glob.h>

#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

#include "xsp/adapter.hpp"

namespace xsp::tf {
namespace {

constexpr const char* kFile = "libtensorflow_cc.so.2";
constexpr const char* kRemedy =
    ": xsp doctor --install tensorflow, or set XSP_TENSORFLOW to the folder of a tensorflow wheel";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Where it may be, in order of preference.
std::vector<std::string> candidates() {
  const std::string chosen = variable("XSP_TENSORFLOW");
  if (!chosen.empty()) {
    std::error_code error;
    return {std::filesystem::is_directory(chosen, error) ? chosen + "/" + kFile : chosen};
  }
  std::string cache = variable("XDG_CACHE_HOME");
  if (cache.empty()) cache = variable("HOME") + "/.cache";
  std::vector<std::string> paths = {cache + "/xsp/frameworks/tensorflow/tensorflow/" + kFile,
                                    "libtensorflow.so.2", kFile};
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (variable(name).empty()) continue;
    const std::string pattern = variable(name) + "/lib/python3*/site-packages/tensorflow/" + kFile;
    glob_t found{};
    if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
      for (size_t i = 0; i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
    }
    globfree(&found);
  }
  return paths;
}

Library load() {
  Library library;
  // It reads this when it is loaded: what goes wrong is told by its calls.
  setenv("TF_CPP_MIN_LOG_LEVEL", "3", 0);
  void* handle = nullptr;
  std::string why = std::string(kFile) + " was not found";
  for (const std::string& path : candidates()) {
    handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (handle != nullptr) break;
    // A file that is there and does not load is worth more words than one that is not there.
    std::error_code error;
    if (std::filesystem::exists(path, error)) why = dlerror();
  }
  library.absent = "TensorFlow: " + one_line(why) + kRemedy;
  if (handle == nullptr) return library;
#define XSP_TF_FIND(name, ...)                                                                  \
  library.name = reinterpret_cast<std::add_pointer_t<__VA_ARGS__>>(dlsym(handle, "TF_" #name)); \
  if (library.name == nullptr) {                                                                \
    library.absent = std::string("TensorFlow: the library has no TF_" #name) + kRemedy;         \
    return library;                                                                             \
  }
  XSP_TF_FUNCTIONS(XSP_TF_FIND)
#undef XSP_TF_FIND
  Dl_info info{};
  std::error_code error;
  if (dladdr(reinterpret_cast<void*>(library.SessionRun), &info) != 0) {
    library.path = std::filesystem::canonical(info.dli_fname, error);
  }
  library.version = library.Version();
  library.absent.clear();
  return library;
}

constexpr std::pair<int, uint32_t> kTypes[] = {
    {1, XSP_FLOAT32},  {2, XSP_FLOAT64}, {3, XSP_INT32},  {4, XSP_UINT8},     {5, XSP_INT16},
    {6, XSP_INT8},     {9, XSP_INT64},   {10, XSP_BOOL},  {14, XSP_BFLOAT16}, {17, XSP_UINT16},
    {19, XSP_FLOAT16}, {22, XSP_UINT32}, {23, XSP_UINT64}};

}  // namespace

const Library& library() {
  // Never destroyed: TensorFlow's own threads may outlive any order of destruction.
  static const Library& loaded = *new Library(load());
  return loaded;
}

uint32_t dtype_of(int type) {
  for (const auto& [theirs, ours] : kTypes) {
    if (theirs == type) return ours;
  }
  return 0;
}

int type_of(uint32_t dtype) {
  for (const auto& [theirs, ours] : kTypes) {
    if (ours == dtype) return theirs;
  }
  return 0;
}

std::string Outcome::text() const { return one_line(library().Message(status_)); }

}  // namespace xsp::tf
