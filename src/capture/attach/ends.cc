// The ends of a process of which the C library tells nobody: exec and _exit. They are wrapped, so
// that the last milliseconds reach the file; the drainer has written what came before.
//
// A wrapper is found first because the library is preloaded. Calls that the C library makes inside
// itself (system, posix_spawn) are not seen here: they come from a child of vfork, which has
// nothing to write.
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "capture/attach/attach.h"
#include "xsp/xsp.h"

namespace {

constexpr int kArgumentsMax = 1024;  // of the forms of exec that list them; they lie on the stack

// The C library's own. Looked up before main(): later, in a child of fork, the loader's lock may be
// held by a thread that is not there.
struct Next {
  int (*execve)(const char*, char* const*, char* const*);
  int (*execv)(const char*, char* const*);
  int (*execvp)(const char*, char* const*);
  int (*execvpe)(const char*, char* const*, char* const*);
  int (*fexecve)(int, char* const*, char* const*);
  void (*exit)(int);
};
Next found;

template <typename Function>
void look_up(const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

// Another library's constructor may call before ours has run.
const Next& next() {
  if (found.exit == nullptr) {
    look_up("execve", &found.execve);
    look_up("execv", &found.execv);
    look_up("execvp", &found.execvp);
    look_up("execvpe", &found.execvpe);
    look_up("fexecve", &found.fexecve);
    look_up("_exit", &found.exit);
  }
  return found;
}

__attribute__((constructor)) void look_up_all() { next(); }

// For the forms of exec that list their arguments: as an array, which ends with NULL. What follows
// it in the list is left to the caller.
bool gather(const char* first, va_list* rest, char** out) {
  int count = 0;
  for (const char* argument = first; argument != nullptr; argument = va_arg(*rest, const char*)) {
    if (count == kArgumentsMax - 1) {
      errno = E2BIG;
      return false;
    }
    out[count++] = const_cast<char*>(argument);
  }
  out[count] = nullptr;
  return true;
}

template <typename Call>
int exec_with(Call call) {
  xsp::capture::end_process(true);
  const int result = call();
  xsp::capture::exec_failed();
  return result;
}

}  // namespace

extern "C" {

XSP_API int execve(const char* path, char* const* argv, char* const* environment) noexcept {
  return exec_with([&] { return next().execve(path, argv, environment); });
}

XSP_API int execv(const char* path, char* const* argv) noexcept {
  return exec_with([&] { return next().execv(path, argv); });
}

XSP_API int execvp(const char* file, char* const* argv) noexcept {
  return exec_with([&] { return next().execvp(file, argv); });
}

XSP_API int execvpe(const char* file, char* const* argv, char* const* environment) noexcept {
  return exec_with([&] { return next().execvpe(file, argv, environment); });
}

XSP_API int fexecve(int fd, char* const* argv, char* const* environment) noexcept {
  return exec_with([&] { return next().fexecve(fd, argv, environment); });
}

XSP_API int execl(const char* path, const char* argument, ...) noexcept {
  char* argv[kArgumentsMax];
  va_list rest;
  va_start(rest, argument);
  const bool fits = gather(argument, &rest, argv);
  va_end(rest);
  return fits ? execv(path, argv) : -1;
}

XSP_API int execlp(const char* file, const char* argument, ...) noexcept {
  char* argv[kArgumentsMax];
  va_list rest;
  va_start(rest, argument);
  const bool fits = gather(argument, &rest, argv);
  va_end(rest);
  return fits ? execvp(file, argv) : -1;
}

XSP_API int execle(const char* path, const char* argument, ...) noexcept {
  char* argv[kArgumentsMax];
  va_list rest;
  va_start(rest, argument);
  const bool fits = gather(argument, &rest, argv);
  char* const* environment = fits ? va_arg(rest, char* const*) : nullptr;
  va_end(rest);
  return fits ? execve(path, argv, environment) : -1;
}

XSP_API void _exit(int status) {
  xsp::capture::end_process(false);
  next().exit(status);
  __builtin_unreachable();
}

XSP_API void _Exit(int status) noexcept {
  xsp::capture::end_process(false);
  next().exit(status);
  __builtin_unreachable();
}

}  // extern "C"
