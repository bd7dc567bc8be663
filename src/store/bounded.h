// Bounded: work on foreign bytes, in a process of its own that can do little else.
//
// A crash, an endless loop or a flood of memory there is an error here, and costs nothing more.
#ifndef XSP_STORE_BOUNDED_H_
#define XSP_STORE_BOUNDED_H_

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace xsp::store {

struct Bounds {
  std::vector<std::filesystem::path> read;  // files, that may be read
  std::filesystem::path folder;             // whose files may be made, written and removed
  std::chrono::seconds most{};              // for the work
};

// What `work` returns, which runs in a copy of this process, confined to its bounds (confine.h),
// with $TMPDIR in a scratch folder. `what` begins the error where that process crashes or is late.
// For a process that has no other threads. What is built with ThreadSanitizer, which does without
// processes that begin threads after a fork, runs it here.
Result<std::string> bounded(const Bounds& bounds, const std::string& what,
                            const std::function<Result<std::string>()>& work);

}  // namespace xsp::store

#endif  // XSP_STORE_BOUNDED_H_
