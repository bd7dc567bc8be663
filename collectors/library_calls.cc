// The collector library_calls: records calls of cuBLAS, cuDNN, cuFFT, NCCL, oneDNN and BLAS as
// spans, with the problem that each call solves. It is a plugin and a preloaded library at once: it
// defines the libraries' own functions (generated from their headers, see tools/library_calls). The
// loader finds these definitions first; they call the real functions. The collector neither links
// nor needs any of those libraries.
//
// When it is preloaded, it records while the level library is recorded. It does not see calls
// inside a library, calls of functions that the library does not export, and functions that a
// program looks up itself (dlsym on a handle of the library).
//
// Refused: callbacks of CUPTI, which sees no calls of libraries; the libraries' own loggers
// (CUBLAS_LOGINFO), which write text for every call; patching their code. A rule over the
// parameters selects the wrapped functions, instead of a list: a handle and a size, or a stream, is
// work, and a function with neither prepares something. Level 1 of BLAS on the CPU is left out,
// because such a call is as short as a span. A oneDNN that is linked into a framework is left to
// the collector onednn.
#include <dlfcn.h>

#include "collectors/in_place.h"
#include "xsp/plugin.h"

namespace {

// Returns true if this library is among those in which symbols of the whole program are looked up.
bool is_preloaded() {
  void* program = dlopen(nullptr, RTLD_LAZY);
  const bool is_there = program != nullptr && dlsym(program, "xsp_library_calls") != nullptr;
  if (program != nullptr) dlclose(program);
  return is_there;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

xsp_status check(const xsp_host* host) {
  if (kIsSanitized) {
    host->fail(host->context,
               "library_calls: built with a sanitizer, whose run-time library must come first: use "
               "a build without");
    return XSP_NOT_AVAILABLE;
  }
  if (is_preloaded()) return XSP_OK;
  host->fail(host->context,
             "library_calls: it is not preloaded: LD_PRELOAD was not obeyed: run the program "
             "without extra privileges");
  return XSP_NOT_AVAILABLE;
}

constexpr xsp_collector kEntry = [] {
  xsp_collector entry = xsp::collector_in_place<check>(
      "library_calls", "wraps the functions of libraries that the program loads itself",
      XSP_LEVEL_BIT(XSP_LEVEL_LIBRARY));
  entry.is_preloaded = 1;
  return entry;
}();

}  // namespace

extern "C" {
XSP_API extern const char xsp_library_calls;
const char xsp_library_calls = 1;
XSP_API extern const xsp_collector xsp_collector_entry;
const xsp_collector xsp_collector_entry = kEntry;
}
