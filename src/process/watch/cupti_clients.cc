// Programs that use CUPTI themselves (torch.profiler does while it is on). CUPTI serves one client,
// and the last one that subscribes gets the records of both. So these functions see the program's
// first calls before they reach the library: xsp's collectors give way, and the program gets the
// same records as without xsp.
//
// The loader finds these functions first because the library is preloaded. They see programs that
// are linked to libcupti. They do not see programs that look up its functions with dlsym, as XLA
// does: those find CUPTI taken, and report that.
//
// The collectors do not come back in that process. Refused: sharing CUPTI's buffers, whose
// callbacks are one pair for both; and coming back when the program is done, which it says from
// inside CUPTI's callbacks, if at all.
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "process/watch/collectors.h"
#include "process/watch/run_folder.h"
#include "shared/base/keep_errno.h"
#include "xsp/xsp.h"

namespace {

constexpr int kNotInitialized = 15;  // CUPTI_ERROR_NOT_INITIALIZED

const char* file_of(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

int find_cupti(dl_phdr_info* info, size_t, void* path) {
  if (info->dlpi_name == nullptr || strncmp(file_of(info->dlpi_name), "libcupti.so", 11) != 0) {
    return 0;
  }
  *static_cast<const char**>(path) = info->dlpi_name;
  return 1;
}

// Returns the function of the CUPTI library that the process has loaded, however it was loaded.
template <typename Function>
Function* real(const char* name) {
  const char* path = nullptr;
  dl_iterate_phdr(find_cupti, &path);
  if (path == nullptr) return nullptr;
  void* library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

// `caller` is an address in the calling code.
void give_way(const void* caller) {
  const xsp::KeepErrno keep_errno;
  Dl_info info = {};
  const bool is_known = dladdr(caller, &info) != 0 && info.dli_fname != nullptr;
  const char* who = is_known ? file_of(info.dli_fname) : "the program";
  if (strncmp(who, "libcupti", 8) == 0) return;
  char why[256];
  snprintf(why, sizeof why, "%.100s uses CUPTI itself, which serves one at a time", who);
  xsp::process::yield_collectors(xsp::process::kCudaKind, why);
}

}  // namespace

extern "C" {

XSP_API int cuptiSubscribe(void** subscriber, void* callback, void* data) {
  give_way(__builtin_return_address(0));
  const auto call = real<int(void**, void*, void*)>("cuptiSubscribe");
  return call == nullptr ? kNotInitialized : call(subscriber, callback, data);
}

XSP_API int cuptiSubscribe_v2(void** subscriber, void* callback, void* data, void* parameters) {
  give_way(__builtin_return_address(0));
  const auto call = real<int(void**, void*, void*, void*)>("cuptiSubscribe_v2");
  return call == nullptr ? kNotInitialized : call(subscriber, callback, data, parameters);
}

XSP_API int cuptiActivityRegisterCallbacks(void* request, void* complete) {
  give_way(__builtin_return_address(0));
  const auto call = real<int(void*, void*)>("cuptiActivityRegisterCallbacks");
  return call == nullptr ? kNotInitialized : call(request, complete);
}

}  // extern "C"
