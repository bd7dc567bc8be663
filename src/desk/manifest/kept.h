// The models that xsp keeps in its cache folder: those that it fetched, exported or built. All of
// them can be had again.
//
// Nothing is removed unasked: an export may take an hour, and only the user knows what is still
// wanted. Refused: a bound that every use enforces, because a sweep whose models do not fit would
// export each of them again and again.
//
// Thread rule: any number of threads and processes. A model that is removed while it is open stays
// readable for those who opened it.
#ifndef XSP_DESK_MANIFEST_KEPT_H_
#define XSP_DESK_MANIFEST_KEPT_H_

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "shared/base/result.h"

namespace xsp::manifest {

// A file or a folder, which is kept or removed as a whole.
struct KeptModel {
  std::filesystem::path path;
  uint64_t bytes = 0;
  std::chrono::system_clock::time_point used;  // last use
};

// A model that was used more recently stays, because a program may be about to open it.
inline constexpr std::chrono::hours kInUse{1};

// Returns the models in the folder `models` of the cache, the least recently used first; none if
// there is no such folder. What another process is still writing is left out.
std::vector<KeptModel> kept_models(const std::filesystem::path& cache);

// Removes the least recently used models until at most `most_bytes` of them are left. Returns those
// that it removed. Fails if one cannot be removed.
Result<std::vector<KeptModel>> remove_models(const std::filesystem::path& cache,
                                             uint64_t most_bytes);

// Returns the bytes of all files in a folder.
uint64_t bytes_in(const std::filesystem::path& folder);

}  // namespace xsp::manifest

#endif  // XSP_DESK_MANIFEST_KEPT_H_
