#include "adapters/mxnet/library.h"

#include <unistd.h>

#include <cstdio>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "xsp/find_library.hpp"

namespace xsp::mxnet {
namespace {

constexpr const char* kRemedy =
    ": xsp doctor --install mxnet, or set XSP_MXNET to the folder of an mxnet wheel";

Library load() {
  Library library;
  const FoundLibrary found = find_library({.variable = "XSP_MXNET",
                                           .file = "libmxnet.so",
                                           .beside = "",
                                           .in_cache = "mxnet/mxnet/libmxnet.so",
                                           .linked = {"libmxnet.so"},
                                           .in_packages = "mxnet/libmxnet.so"});
  library.absent = "MXNet: " + found.why + kRemedy;
  if (found.handle == nullptr) return library;
#define XSP_MXNET_FIND(name, ...)                                                         \
  library.name =                                                                          \
      reinterpret_cast<std::add_pointer_t<__VA_ARGS__>>(dlsym(found.handle, "MX" #name)); \
  if (library.name == nullptr) {                                                          \
    library.absent = std::string("MXNet: the library has no MX" #name) + kRemedy;         \
    return library;                                                                       \
  }
  XSP_MXNET_FUNCTIONS(XSP_MXNET_FIND)
#undef XSP_MXNET_FIND
  library.path = file_of(library.ExecutorForward);
  int version = 0;  // 10901 for "1.9.1"
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
  // The library is never destroyed: MXNet's own threads may outlive any order of destruction.
  static const Library& loaded = *new Library(load());
  return loaded;
}

void leave_at_exit() {
  // Handlers and destructors run in the reverse order of their registration.
  on_exit(
      [](int status, void*) {
        std::fflush(nullptr);
        _exit(status);
      },
      nullptr);
}

std::string last_error() {
  std::string text = library().GetLastError();
  text = text.substr(0, text.find("Stack trace:"));
  // A message looks like "MXNetError: why: [15:04:05] ../src/a.cc:12: more".
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
