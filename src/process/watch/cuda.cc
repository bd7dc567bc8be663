// CUDA's driver loads the library that $CUDA_INJECTION64_PATH names into every process that
// initialises it, and calls this function before anything else happens on a device.
//
// A process that never initialises CUDA loads nothing. The library that a user had put there is
// called first. Collectors start in the midst of cuInit, so none may call the driver in its
// `start`. An exit handler, which runs before CUDA's own, and exec and _exit stop them, on a thread
// of their own: the caller may be a signal's handler whose thread holds a lock, so the wait ends
// after two seconds without progress.
#include <dlfcn.h>
#include <stdlib.h>

#include "process/watch/run_folder.h"
#include "process/watch/watch.h"
#include "shared/base/keep_errno.h"
#include "xsp/xsp.h"

namespace {

// Calls the tool that the user had set there. It comes first, so it gets the resources that only
// one tool can have.
void call_other() {
  const char* path = getenv(xsp::process::kOtherInjectionVariable);
  if (path == nullptr || *path == '\0') return;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return;
  const auto initialize = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  if (initialize != nullptr) (void)initialize();
}

}  // namespace

extern "C" XSP_API int InitializeInjection(void) {
  static int is_called = 0;
  if (__atomic_exchange_n(&is_called, 1, __ATOMIC_RELAXED) != 0) return 1;
  const xsp::KeepErrno keep_errno;
  call_other();
  xsp::process::begin_cuda();
  return 1;
}
