#include "adapters/mxnet/library.h"

#include <dlfcn.h>
#include <glob.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "xsp/adapter.hpp"

namespace xsp::mxnet {
namespace {

constexpr const char* kFile = "libmxnet.so";
constexpr const char* kRemedy =
    ": xsp doctor --install mxnet, or set XSP_MXNET to the folder of an mxnet wheel";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Where it may be, in order of preference.
std::vector<std::string> candidates() {
  const std::string chosen = variable("XSP_MXNET");
  if (!chosen.empty()) {
    std::error_code error;
    return {std::filesystem::is_directory(chosen, error) ? chosen + "/" + kFile : chosen};
  }
  std::string cache = variable("XDG_CACHE_HOME");
  if (cache.empty()) cache = variable("HOME") + "/.cache";
  std::vector<std::string> paths = {cache + "/xsp/frameworks/mxnet/mxnet/" + kFile, kFile};
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (variable(name).empty()) continue;
    const std::string pattern = variable(name) + "/lib/python3*/site-packages/mxnet/" + kFile;
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
  void* handle = nullptr;
  std::string why = std::string(kFile) + " was not found";
  for (const std::string& path : candidates()) {
    handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (handle != nullptr) break;
    // A file that is there and does not load is worth more words than one that is not there.
    std::error_code error;
    if (std::filesystem::exists(path, error)) why = dlerror();
  }
  library.absent = "MXNet: " + one_line(why) + kRemedy;
  if (handle == nullptr) return library;
#define XSP_MXNET_FIND(name, ...)                                                              \
  library.name = reinterpret_cast<std::add_pointer_t<__VA_ARGS__>>(dlsym(handle, "MX" #name)); \
  if (library.name == nullptr) {                                                               \
    library.absent = std::string("MXNet: the library has no MX" #name) + kRemedy;              \
    return library;                                                                            \
  }
  XSP_MXNET_FUNCTIONS(XSP_MXNET_FIND)
#undef XSP_MXNET_FIND
  Dl_info info{};
  std::error_code error;
  if (dladdr(reinterpret_cast<void*>(library.ExecutorForward), &info) != 0) {
    library.path = std::filesystem::canonical(info.dli_fname, error);
  }
  int version = 0;  // 10901
  library.GetVersion(&version);
  library.version = std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) +
                    "." + std::to_string(version % 100);
  library.absent.clear();
  return library;
}

constexpr std::pair<int, uint32_t> kTypes[] = {
    {0, XSP_FLOAT32}, {1, XSP_FLOAT64}, {2, XSP_FLOAT16}, {3, XSP_UINT8},    {4, XSP_INT32},
    {5, XSP_INT8},    {6, XSP_INT64},   {7, XSP_BOOL},    {12, XSP_BFLOAT16}};

}  // namespace

const Library& library() {
  // Never destroyed: MXNet's own threads may outlive any order of destruction.
  static const Library& loaded = *new Library(load());
  return loaded;
}

void leave_at_exit() {
  // Called before the destructors of what was loaded earlier.
  static const int registered = on_exit(
      [](int status, void*) {
        std::fflush(nullptr);
        _exit(status);
      },
      nullptr);
  (void)registered;
}

std::string last_error() {
  std::string text = library().GetLastError();
  text = text.substr(0, text.find("Stack trace:"));
  // "MXNetError: why: [15:04:05] ../src/a.cc:12: more"
  constexpr std::string_view kKind = "MXNetError: ";
  if (text.rfind(kKind, 0) == 0) text.erase(0, kKind.size());
  for (size_t at = text.find(".cc:"); at != std::string::npos; at = text.find(".cc:")) {
    const size_t begin = text.rfind('[', at);
    const size_t end = text.find(": ", at);
    if (begin == std::string::npos || end == std::string::npos) break;
    text.erase(begin, end + 2 - begin);
  }
  text = one_line(text);
  return text.empty() ? "it says no reason" : text;
}

void check(int status) {
  if (status != 0) throw std::runtime_error(last_error());
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
  return -1;
}

}  // namespace xsp::mxnet
