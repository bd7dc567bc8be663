// Functions of a library that is loaded at run time.
#ifndef XSP_DESK_CATALOGUE_FUNCTIONS_H_
#define XSP_DESK_CATALOGUE_FUNCTIONS_H_

#include <dlfcn.h>

#include <string>

#include "shared/base/result.h"

namespace xsp::catalogue {

// Loads the library for the rest of the process's life.
inline Result<void*> load_library(const char* soname, const char* package) {
  void* const library = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  return not_available(std::string(soname) + ": not found: install it, on Debian as " + package);
}

// Sets `function` to the library's function of that name. Returns whether it has one.
template <typename Function>
bool find_function(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace xsp::catalogue

#endif  // XSP_DESK_CATALOGUE_FUNCTIONS_H_
