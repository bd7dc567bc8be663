// find_library.hpp finds a framework's library on the user's machine, for adapters that load it at
// run time. Link against libdl.
//
// These functions have no state: any thread may call them; they only throw std::bad_alloc.
#ifndef XSP_FIND_LIBRARY_HPP_
#define XSP_FIND_LIBRARY_HPP_

#include <dlfcn.h>
#include <glob.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "xsp/adapter.hpp"

namespace xsp {

// The places where a library may be, in the order of the search. Paths may have wildcards ('*'); an
// empty member is no place.
struct LibrarySearch {
  const char* variable = "";        // names the file or its folder; only it counts then
  std::string file;                 // its name: "libmxnet.so"
  std::string beside;               // full path, beside xsp itself
  std::string in_cache;             // below the folder that `xsp doctor --install` fills
  std::vector<std::string> linked;  // names that the dynamic linker may know
  std::string in_packages;          // below the site-packages of a virtual environment or conda
};

// Returns an environment variable; empty: it is not set.
inline std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Returns ~/.cache/xsp/frameworks/.
inline std::string frameworks_folder() {
  std::string cache = environment("XDG_CACHE_HOME");
  if (cache.empty()) cache = environment("HOME") + "/.cache";
  return cache + "/xsp/frameworks/";
}

// Adds the files that match the pattern. A path without wildcards is added as it is.
inline void add_matches(const std::string& pattern, std::vector<std::string>* paths) {
  if (pattern.find('*') == std::string::npos) {
    paths->push_back(pattern);
    return;
  }
  glob_t found{};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc; ++i) paths->emplace_back(found.gl_pathv[i]);
  }
  globfree(&found);
}

inline std::vector<std::string> library_candidates(const LibrarySearch& search) {
  std::vector<std::string> paths;
  const std::string chosen = environment(search.variable);
  if (!chosen.empty()) {
    std::error_code error;
    if (!std::filesystem::is_directory(chosen, error)) return {chosen};
    add_matches(chosen + "/" + search.file, &paths);
    return paths;
  }
  if (!search.beside.empty()) add_matches(search.beside, &paths);
  if (!search.in_cache.empty()) add_matches(frameworks_folder() + search.in_cache, &paths);
  paths.insert(paths.end(), search.linked.begin(), search.linked.end());
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const std::string prefix = environment(name);
    if (prefix.empty() || search.in_packages.empty()) continue;
    add_matches(prefix + "/lib/python3*/site-packages/" + search.in_packages, &paths);
  }
  return paths;
}

struct FoundLibrary {
  void* handle = nullptr;  // result of dlopen, never closed; null: not found
  std::string path;        // the candidate that was loaded
  std::string why;         // reason if it was not found, on one line
};

// Loads the first candidate that loads. Its symbols are visible only to itself.
inline FoundLibrary find_library(const LibrarySearch& search, int mode = RTLD_LAZY) {
  FoundLibrary found;
  found.why = search.file.substr(0, search.file.find('*')) + " was not found";
  for (const std::string& path : library_candidates(search)) {
    found.handle = dlopen(path.c_str(), mode | RTLD_LOCAL);
    if (found.handle != nullptr) {
      found.path = path;
      found.why.clear();
      return found;
    }
    // The error of an existing file says more than that another file does not exist.
    const std::string error = one_line(dlerror());
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) found.why = error;
  }
  return found;
}

// Returns the file that holds a function, without symbolic links; empty: it is not known.
template <typename Function>
std::string file_of(Function* function) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(function), &info) == 0) return "";
  std::error_code error;
  return std::filesystem::canonical(info.dli_fname, error);
}

}  // namespace xsp

#endif  // XSP_FIND_LIBRARY_HPP_
