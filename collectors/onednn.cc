// The collector onednn: records primitives of a oneDNN that is linked into a framework's own
// library, as in the wheels of PyTorch, TensorFlow and MXNet, where its calls cannot be wrapped.
// oneDNN reports its primitives to Intel's instrumentation interface (ITT). Each library that has a
// copy of the interface loads, at its first such call, the library that $INTEL_LIBITTNOTIFY64
// names, and passes it a table of functions to fill in. Starting the collector sets this variable
// to its own file, unless it names another tool's.
//
// Each execution of a primitive is a span of the level library, named by its kind ("convolution").
// The interface reports nothing else; sizes come from the layer above. A shared libdnnl.so is left
// to the collector library_calls, which wraps its functions and sees their parameters.
//
// The structs are those of ITT's interface for tools, which have kept their form since 2010; only
// the fields that are read are declared here.
//
// Refused: ONEDNN_VERBOSE=profile_exec, which has sizes but writes them to the program's standard
// output, so that its times are those of a run that prints; and patching the library's code. The
// domains of other users of the interface are left out until a user needs them.
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/in_place.h"
#include "xsp/plugin.h"

namespace {

constexpr const char* kVariable = "INTEL_LIBITTNOTIFY64";
constexpr const char* kDomain = "dnnl::primitive::execute";
constexpr size_t kDepthMax = 16;  // nesting depth of primitives on a thread

// ---- ITT ----------------------------------------------------------------------------------------

struct Domain {
  volatile int flags;
  const char* name;
};
struct Handle {
  const char* text;
};
struct Id {
  unsigned long long d1, d2, d3;
};
struct Entry {
  const char* name;
  void** function;
  void* first_function;
  void* no_function;
  int group;
};
struct Global {
  unsigned char magic[8];
  unsigned long version[3];
  volatile long is_initialized[3];
  pthread_mutex_t mutex;
  void* library;
  void* error_handler;
  const char** path;
  Entry* entries;  // the last has no name
};
constexpr unsigned char kMagic[] = {0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30};

// ---- Primitives ---------------------------------------------------------------------------------

struct Open {
  xsp_span spans[kDepthMax];
  size_t depth;
};
__thread Open open_here;

bool is_execution(const Domain* domain) {
  return domain->name != nullptr && strcmp(domain->name, kDomain) == 0;
}

void task_begin(const Domain* domain, Id, Id, Handle* name) {
  if (!is_execution(domain)) return;
  Open& here = open_here;
  const size_t at = here.depth++;
  if (at >= kDepthMax) return;
  here.spans[at] = {};
  if (!xsp_is_recorded(XSP_LEVEL_LIBRARY) || name == nullptr || name->text == nullptr) return;
  xsp_site site = {nullptr, nullptr, XSP_LEVEL_LIBRARY,
                   xsp_intern_site(XSP_LEVEL_LIBRARY, name->text, "onednn")};
  here.spans[at] = xsp_begin(&site);
}

void task_end(const Domain* domain) {
  if (!is_execution(domain)) return;
  Open& here = open_here;
  if (here.depth == 0) return;
  const size_t at = --here.depth;
  if (at < kDepthMax) xsp_end(&here.spans[at]);
}

// Returns true if this copy of ITT is in a shared oneDNN, whose calls library_calls wraps.
bool is_shared_library(const Global* global) {
  Dl_info info = {};
  if (dladdr(global, &info) == 0 || info.dli_fname == nullptr) return false;
  const char* slash = strrchr(info.dli_fname, '/');
  return strncmp(slash == nullptr ? info.dli_fname : slash + 1, "libdnnl.so", 10) == 0;
}

void fill(const Global* global) {
  if (memcmp(global->magic, kMagic, sizeof kMagic) != 0 || is_shared_library(global)) return;
  for (const Entry* one = global->entries; one != nullptr && one->name != nullptr; ++one) {
    if (strcmp(one->name, "__itt_task_begin") == 0) {
      *one->function = reinterpret_cast<void*>(&task_begin);
    } else if (strcmp(one->name, "__itt_task_end") == 0) {
      *one->function = reinterpret_cast<void*>(&task_end);
    }
  }
}

// ---- The collector ------------------------------------------------------------------------------

bool enter_environment(const char** other) {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<const void*>(&enter_environment), &info) == 0) return false;
  const char* before = getenv(kVariable);
  *other = before;
  if (before != nullptr && *before != '\0') return strcmp(before, info.dli_fname) == 0;
  return setenv(kVariable, info.dli_fname, 1) == 0;
}

xsp_status check(const xsp_host* host) {
  const char* other = nullptr;
  if (enter_environment(&other)) return XSP_OK;
  host->fail(host->context,
             "onednn: INTEL_LIBITTNOTIFY64 names another tool: unset it to record primitives");
  return XSP_NOT_AVAILABLE;
}

}  // namespace

extern "C" {
XSP_API extern const xsp_collector xsp_collector_entry;
const xsp_collector xsp_collector_entry = xsp::collector_in_place<check>(
    "onednn", "unset INTEL_LIBITTNOTIFY64", XSP_LEVEL_BIT(XSP_LEVEL_LIBRARY));
// The function that the copy of ITT in a library looks up.
XSP_API void __itt_api_init(Global* global, int groups);
void __itt_api_init(Global* global, int) {
  if (global != nullptr) fill(global);
}
}
