#include "adapters/tensorflow/library.h"

#include <cstdlib>
#include <utility>

#include "xsp/find_library.hpp"

namespace xsp::tf {
namespace {

constexpr const char* kRemedy =
    ": xsp doctor --install tensorflow, or set XSP_TENSORFLOW to the folder of a tensorflow wheel";

Library load() {
  Library library;
  // The library reads this when it is loaded. Its calls report errors, so logs are not needed.
  setenv("TF_CPP_MIN_LOG_LEVEL", "3", 0);
  const FoundLibrary found =
      find_library({.variable = "XSP_TENSORFLOW",
                    .file = "libtensorflow_cc.so.2",
                    .beside = "",
                    .in_cache = "tensorflow/tensorflow/libtensorflow_cc.so.2",
                    .linked = {"libtensorflow.so.2", "libtensorflow_cc.so.2"},
                    .in_packages = "tensorflow/libtensorflow_cc.so.2"});
  library.absent = "TensorFlow: " + found.why + kRemedy;
  if (found.handle == nullptr) return library;
#define XSP_TF_FIND(name, ...)                                                             \
  library.name =                                                                           \
      reinterpret_cast<std::add_pointer_t<__VA_ARGS__>>(dlsym(found.handle, "TF_" #name)); \
  if (library.name == nullptr) {                                                           \
    library.absent = std::string("TensorFlow: the library has no TF_" #name) + kRemedy;    \
    return library;                                                                        \
  }
  XSP_TF_FUNCTIONS(XSP_TF_FIND)
#undef XSP_TF_FIND
  library.path = file_of(library.SessionRun);
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
  // The library is never destroyed: TensorFlow's own threads may outlive any order of destruction.
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
