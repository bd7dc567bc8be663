// The timeline's routes, and the part of them that a report records.
//
//     /evaluations/ID/timeline?run=R                            a run's lanes and iterations
//     /evaluations/ID/timeline/tile?run=R&zoom=Z&tile=I[&lane=L]  the items of a stretch of time
//     /evaluations/ID/timeline/span?run=R&span=S                one span, and its relatives
//     /evaluations/ID/timeline/search?run=R&text=T[&from=NS|&before=NS]
//     /evaluations/ID/timeline/names?run=R[&from=NS][&to=NS]    its time by lane and name
//
// docs/http_api.md describes their answers. A run's lanes, iterations and summary are kept in
// memory for the next request, within a bound.
#ifndef XSP_DESK_SERVE_TIMELINE_TIMELINE_H_
#define XSP_DESK_SERVE_TIMELINE_TIMELINE_H_

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "desk/serve/http/routes.h"
#include "desk/serve/library.h"
#include "desk/serve/timeline/run.h"
#include "shared/base/result.h"

namespace xsp::serve {

// The memory that the kept timelines of all runs together may take, in bytes.
inline constexpr size_t kTimelineBytes = size_t{256} << 20;
// The largest size of the timeline answers that a report records of one evaluation, before
// compression.
inline constexpr size_t kRecordedTimelineBytes = size_t{8} << 20;

// Holds a request of a report, and its answer, which is empty unless it is known already.
struct Recorded {
  std::string request;
  std::string answer;
};

// Returns the requests of a report: for each batch size the run that the page shows first, with its
// representative iteration in full detail, and the rest as far as the bound allows.
Result<std::vector<Recorded>> timeline_requests(Library& library, const std::string& id);

// Returns the run's timeline, from memory if it was used recently. Any thread.
Result<std::shared_ptr<const TimelineRun>> timeline_of(Held& held, int64_t run);
// Returns the answer of /timeline/tile, for all lanes or for one.
nlohmann::json tile_json(const TimelineTile& tile, int64_t zoom, int64_t number,
                         std::optional<int64_t> lane);

}  // namespace xsp::serve

#endif  // XSP_DESK_SERVE_TIMELINE_TIMELINE_H_
