// The folder in which xsp keeps what it can fetch or make again.
#ifndef XSP_SHARED_BASE_CACHE_H_
#define XSP_SHARED_BASE_CACHE_H_

#include <filesystem>
#include <string>

#include "shared/base/result.h"

namespace xsp {

// $XDG_CACHE_HOME/xsp, else ~/.cache/xsp; it need not exist. The error says that neither is known.
Result<std::filesystem::path> cache_folder();
// Makes the folder `name` in it, or the folder itself.
Result<std::filesystem::path> make_cache_folder(const std::string& name = "");
// Sets the time of a file's last access to now, so that it is not taken for one that nobody uses.
void mark_used(const std::filesystem::path& file);

}  // namespace xsp

#endif  // XSP_SHARED_BASE_CACHE_H_
