// Finds the real functions. It follows the loader's own order as far as the loader can be asked for
// it, because a wrapper must call the function that the caller would have called.
//
// So the lookup is next in the global order, then in the calling library and those that it needs,
// because Python's modules are loaded out of the global order.
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <unistd.h>

#include "collectors/library_calls/call.h"

namespace xsp::library_calls {
namespace {

constexpr size_t kLibrariesMax = 1024;  // further libraries of a process are not searched

// Returns true if the function lies in this library.
bool is_ours(void* function) {
  Dl_info theirs, ours;
  return dladdr(function, &theirs) != 0 && dladdr(reinterpret_cast<void*>(&is_ours), &ours) != 0 &&
         theirs.dli_fbase == ours.dli_fbase;
}

// Looks in that library and in those that it needs.
void* look_in(const char* path, const char* name) {
  if (path == nullptr || *path == '\0') return nullptr;
  void* library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  void* found = dlsym(library, name);
  dlclose(library);  // it was loaded before, and stays
  return found != nullptr && !is_ours(found) ? found : nullptr;
}

struct Libraries {
  size_t count;
  const char* paths[kLibrariesMax];
};

int note_library(dl_phdr_info* info, size_t, void* context) {
  auto* libraries = static_cast<Libraries*>(context);
  if (libraries->count < kLibrariesMax) libraries->paths[libraries->count++] = info->dlpi_name;
  return 0;
}

// No library is opened while the loader enumerates them: that could wait for ever.
void* look_everywhere(const char* name) {
  Libraries libraries = {};
  dl_iterate_phdr(note_library, &libraries);
  for (size_t i = 0; i < libraries.count; ++i) {
    void* found = look_in(libraries.paths[i], name);
    if (found != nullptr) return found;
  }
  return nullptr;
}

void say_absent(const char* name) {
  static std::atomic<bool> said{false};
  if (said.exchange(true)) return;
  char line[256];
  const int length = snprintf(line, sizeof line,
                              "xsp: %s: called, but no library that is loaded has it: the call "
                              "fails\n",
                              name);
  // No caller could use the result of this write.
  if (length > 0) [[maybe_unused]]
    const ssize_t written = write(STDERR_FILENO, line, static_cast<size_t>(length));
}

}  // namespace

void* find_real(Function* function, const void* caller) {
  const int kept_errno = errno;
  void* found = dlsym(RTLD_NEXT, function->name);
  Dl_info info;
  if (found == nullptr && dladdr(caller, &info) != 0) {
    found = look_in(info.dli_fname, function->name);
  }
  if (found == nullptr) found = look_everywhere(function->name);
  dlerror();  // the program must not see errors of these look-ups
  if (found != nullptr) {
    function->real.store(found, std::memory_order_relaxed);
  } else {
    say_absent(function->name);
  }
  errno = kept_errno;
  return found;
}

void* find_sibling(const Function* function, const char* name) {
  const int kept_errno = errno;
  void* found = nullptr;
  Dl_info info;
  if (dladdr(function->real.load(std::memory_order_relaxed), &info) != 0) {
    found = look_in(info.dli_fname, name);
  }
  dlerror();
  errno = kept_errno;
  return found != nullptr ? found : absent();
}

}  // namespace xsp::library_calls
