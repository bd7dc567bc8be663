// Wrappers of exec and _exit: a process can end through these without any handler of the C library.
// The wrappers write the last milliseconds to the file; the drainer has written everything before.
//
// The loader finds the wrappers first because the library is preloaded. They do not see calls that
// the C library makes inside itself (system, posix_spawn): those come from a child of vfork, which
// has nothing to write.
//
// A process that ends through a signal's handler may have interrupted a thread that holds the
// library's lock: the last flush gives up after a second (xsp_flush_within), so that the program
// does not hang. The child of a vfork shares its parent's memory, so nothing is done in one; the
// child of a fork has no file until it records something or ends by itself, because most go on to
// exec.
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/watch/watch.h"
#include "xsp/xsp.h"

namespace {

// Holds the C library's own functions. They are looked up before main(): later, in a child of fork,
// a thread that does not exist there may hold the loader's lock.
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

// Another library's constructor may call this before look_up_all() has run.
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

// Counts the arguments of the forms of exec that list them.
size_t count_listed(const char* first, va_list* rest) {
  size_t count = 0;
  for (const char* argument = first; argument != nullptr; argument = va_arg(*rest, const char*)) {
    ++count;
  }
  return count;
}

// Copies the listed arguments into an array that ends with NULL. The caller reads the arguments
// that follow in the list.
void gather(const char* first, va_list* rest, char** out) {
  for (const char* argument = first; argument != nullptr; argument = va_arg(*rest, const char*)) {
    *out++ = const_cast<char*>(argument);
  }
  *out = nullptr;
}

bool can_be_run(const char* path) { return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0; }

// Returns whether the name can mean an executable file in a folder of $PATH.
bool can_be_found(const char* name) {
  if (strchr(name, '/') != nullptr) return can_be_run(name);
  const char* folders = getenv("PATH");
  if (folders == nullptr) return true;
  char path[4096];
  while (true) {
    const char* end = strchrnul(folders, ':');
    const int length = static_cast<int>(end - folders);
    const int got =
        snprintf(path, sizeof path, "%.*s%s%s", length, folders, length > 0 ? "/" : "", name);
    if (got < 0 || static_cast<size_t>(got) >= sizeof path || can_be_run(path)) return true;
    if (*end == '\0') return false;
    folders = end + 1;
  }
}

// A shell tries one folder after another: if there is no executable file, the recording goes on.
template <typename Call>
int exec_with(bool is_there, Call call) {
  if (!is_there) return call();
  xsp::process::end_process(true);
  const int result = call();
  xsp::process::exec_failed();
  return result;
}

}  // namespace

extern "C" {

XSP_API int execve(const char* path, char* const* argv, char* const* environment) noexcept {
  return exec_with(can_be_run(path), [&] { return next().execve(path, argv, environment); });
}

XSP_API int execv(const char* path, char* const* argv) noexcept {
  return exec_with(can_be_run(path), [&] { return next().execv(path, argv); });
}

XSP_API int execvp(const char* file, char* const* argv) noexcept {
  return exec_with(can_be_found(file), [&] { return next().execvp(file, argv); });
}

XSP_API int execvpe(const char* file, char* const* argv, char* const* environment) noexcept {
  return exec_with(can_be_found(file), [&] { return next().execvpe(file, argv, environment); });
}

XSP_API int fexecve(int fd, char* const* argv, char* const* environment) noexcept {
  return exec_with(true, [&] { return next().fexecve(fd, argv, environment); });
}

XSP_API int execl(const char* path, const char* argument, ...) noexcept {
  va_list rest;
  va_start(rest, argument);
  const size_t count = count_listed(argument, &rest);
  va_end(rest);
  // The array is on the stack, as the list is: a child of vfork must not allocate.
  char** argv = static_cast<char**>(__builtin_alloca((count + 1) * sizeof(char*)));
  va_start(rest, argument);
  gather(argument, &rest, argv);
  va_end(rest);
  return execv(path, argv);
}

XSP_API int execlp(const char* file, const char* argument, ...) noexcept {
  va_list rest;
  va_start(rest, argument);
  const size_t count = count_listed(argument, &rest);
  va_end(rest);
  // The array is on the stack, as the list is: a child of vfork must not allocate.
  char** argv = static_cast<char**>(__builtin_alloca((count + 1) * sizeof(char*)));
  va_start(rest, argument);
  gather(argument, &rest, argv);
  va_end(rest);
  return execvp(file, argv);
}

XSP_API int execle(const char* path, const char* argument, ...) noexcept {
  va_list rest;
  va_start(rest, argument);
  const size_t count = count_listed(argument, &rest);
  va_end(rest);
  // The array is on the stack, as the list is: a child of vfork must not allocate.
  char** argv = static_cast<char**>(__builtin_alloca((count + 1) * sizeof(char*)));
  va_start(rest, argument);
  gather(argument, &rest, argv);
  char* const* environment = va_arg(rest, char* const*);
  va_end(rest);
  return execve(path, argv, environment);
}

XSP_API void _exit(int status) {
  xsp::process::end_process(false);
  next().exit(status);
  __builtin_unreachable();
}

XSP_API void _Exit(int status) noexcept {
  xsp::process::end_process(false);
  next().exit(status);
  __builtin_unreachable();
}

}  // extern "C"
