// Returns one span of a run with all its facts, and finds spans by name.
#ifndef XSP_DESK_SERVE_TIMELINE_SPAN_H_
#define XSP_DESK_SERVE_TIMELINE_SPAN_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "desk/serve/timeline/run.h"
#include "desk/store/database.h"
#include "shared/base/result.h"

namespace xsp::serve {

// Bounds of one answer; spans that are left out are counted.
inline constexpr size_t kMaxChildren = 200;
inline constexpr size_t kMaxDescendants = 20'000;
inline constexpr size_t kMaxCorrelated = 1'000;
inline constexpr size_t kMaxAncestors = 64;
inline constexpr size_t kMaxMatches = 1'000;

// Returns everything about these spans, in their order. The number of queries does not depend on
// how many they are. Returns Code::kNotAvailable if the run lacks one of them.
Result<std::vector<nlohmann::json>> spans_json(store::Database& database, const TimelineRun& run,
                                               const std::vector<int64_t>& spans);

// Returns the spans whose names contain `text`, without regard to case, in the order of their
// starts: the first from `from_ns` on, or the last before `before_ns`.
Result<nlohmann::json> search_json(store::Database& database, const TimelineRun& run,
                                   const std::string& text, int64_t from_ns,
                                   std::optional<int64_t> before_ns);

}  // namespace xsp::serve

#endif  // XSP_DESK_SERVE_TIMELINE_SPAN_H_
