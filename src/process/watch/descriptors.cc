// Descriptor numbers: a program may choose any number and must find it free. A shell checks first
// whether a number is in use, and would save the trace's descriptor for later.
//
// The loader finds these functions first because the library is preloaded.
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

#include "process/record/watcher.h"
#include "xsp/xsp.h"

namespace {

// The C library's own functions, looked up once.
struct Next {
  int (*dup2)(int, int);
  int (*dup3)(int, int, int);
  int (*fcntl)(int, int, ...);
};
Next found;

template <typename Function>
void look_up(const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

const Next& next() {
  if (found.fcntl == nullptr) {
    look_up("dup2", &found.dup2);
    look_up("dup3", &found.dup3);
    look_up("fcntl64", &found.fcntl);
    if (found.fcntl == nullptr) look_up("fcntl", &found.fcntl);
  }
  return found;
}

__attribute__((constructor)) void look_up_all() { next(); }

int watched_fcntl(int fd, int command, void* argument) {
  if (fd > STDERR_FILENO) xsp_leave_descriptor(fd);
  return next().fcntl(fd, command, argument);
}

}  // namespace

extern "C" {

XSP_API int dup2(int from, int to) noexcept {
  xsp_leave_descriptor(to);
  return next().dup2(from, to);
}

XSP_API int dup3(int from, int to, int flags) noexcept {
  xsp_leave_descriptor(to);
  return next().dup3(from, to, flags);
}

XSP_API int fcntl(int fd, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  return watched_fcntl(fd, command, argument);
}

XSP_API int fcntl64(int fd, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  return watched_fcntl(fd, command, argument);
}

}  // extern "C"
