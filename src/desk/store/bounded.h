// Bounded: runs work on untrusted bytes in a separate, confined process.
//
// A crash, an endless loop or a flood of memory in that process becomes an error here, and costs
// nothing more.
#ifndef XSP_DESK_STORE_BOUNDED_H_
#define XSP_DESK_STORE_BOUNDED_H_

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "shared/base/result.h"

namespace xsp::store {

struct Bounds {
  std::vector<std::filesystem::path> read;  // files that may be read
  std::filesystem::path folder;             // folder in which files may be made, written and
                                            // removed
  std::chrono::seconds most{};              // the longest time for the work
};

// Runs `work` in a copy of this process and returns its result. The copy is confined to the bounds
// (confine.h), and its $TMPDIR is a scratch folder. If it crashes or exceeds the time, the error
// begins with `what`. The calling process must have no other threads. A build with ThreadSanitizer
// runs `work` in this process, because ThreadSanitizer does not support new threads after a fork.
Result<std::string> bounded(const Bounds& bounds, const std::string& what,
                            const std::function<Result<std::string>()>& work);

}  // namespace xsp::store

#endif  // XSP_DESK_STORE_BOUNDED_H_
