// The time that spans of each name take between two moments of a run.
#ifndef XSP_DESK_SERVE_TIMELINE_NAMES_H_
#define XSP_DESK_SERVE_TIMELINE_NAMES_H_

#include <cstdint>
#include <nlohmann/json.hpp>

#include "desk/serve/timeline/run.h"
#include "desk/store/database.h"
#include "shared/base/result.h"

namespace xsp::serve {

// Names with less time than these are counted in `total_names` alone.
inline constexpr int64_t kMaxNames = 1000;

// Returns the answer of /timeline/names for the spans that touch [from_ns, to_ns), in nanoseconds
// since the run's base. It is read from the spans themselves, so no zoom changes it. A time is the
// part of a span that lies between the moments; a mean is that of the whole durations. A span
// counts in its own name only, so the time of a name holds that of the names nested in it.
Result<nlohmann::json> names_json(store::Database& database, const TimelineRun& run,
                                  int64_t from_ns, int64_t to_ns);

}  // namespace xsp::serve

#endif  // XSP_DESK_SERVE_TIMELINE_NAMES_H_
