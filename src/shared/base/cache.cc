#include "shared/base/cache.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>

#include "shared/base/words.h"

namespace xsp {
namespace {

namespace fs = std::filesystem;

// A relative path is no folder of the user's: XDG's specification says that it is ignored.
fs::path folder_in(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value == '/' ? value : "";
}

}  // namespace

Result<fs::path> cache_folder() {
  if (const fs::path base = folder_in("XDG_CACHE_HOME"); !base.empty()) return base / "xsp";
  if (const fs::path home = folder_in("HOME"); !home.empty()) return home / ".cache" / "xsp";
  return failed("HOME is not set: set it, or XDG_CACHE_HOME");
}

Result<fs::path> make_cache_folder(const std::string& name) {
  XSP_TRY(const fs::path cache, cache_folder());
  const fs::path folder = name.empty() ? cache : cache / name;
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) return folder;
  return failed(folder.string() + ": cannot be made: " + error.message() +
                ": set XDG_CACHE_HOME to a folder of yours");
}

void mark_used(const fs::path& file) {
  const timespec times[] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
  ::utimensat(AT_FDCWD, file.c_str(), times, 0);
}

}  // namespace xsp
