// The timeline's routes, and what of them a report records.
//
//     /evaluations/ID/timeline?run=R                            a run's lanes and iterations
//     /evaluations/ID/timeline/tile?run=R&zoom=Z&tile=I[&lane=L]  the items of a stretch of time
//     /evaluations/ID/timeline/span?run=R&span=S                one span, and what it belongs to
//     /evaluations/ID/timeline/search?run=R&text=T[&from=NS|&before=NS]
//
// docs/http_api.md has their answers. A run's lanes, iterations and summary are kept in memory for
// the next request, within a bound.
#ifndef XSP_SERVE_TIMELINE_H_
#define XSP_SERVE_TIMELINE_H_

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "serve/library.h"
#include "serve/routes.h"
#include "serve/timeline_run.h"

namespace xsp::serve {

// The runs whose timelines are memory's to keep, all of them together, in bytes.
inline constexpr size_t kTimelineBytes = size_t{256} << 20;
// What a report records of an evaluation's timelines, before compression, at most.
inline constexpr size_t kRecordedTimelineBytes = size_t{8} << 20;

// A request of a report, and its answer where it is known already; else the answer is empty.
struct Recorded {
  std::string request;
  std::string answer;
};

// The requests of a report: of each batch size the run that the page shows first, its
// representative iteration down to the single spans, and the rest as far as the bound allows.
Result<std::vector<Recorded>> timeline_requests(Library& library, const std::string& id);

// The run's timeline, from memory if it was asked for lately. Any thread.
Result<std::shared_ptr<const TimelineRun>> timeline_of(Held& held, int64_t run);
// The answer of /timeline/tile: of all lanes, or of one.
nlohmann::json tile_json(const TimelineTile& tile, int64_t zoom, int64_t number,
                         std::optional<int64_t> lane);

}  // namespace xsp::serve

#endif  // XSP_SERVE_TIMELINE_H_
