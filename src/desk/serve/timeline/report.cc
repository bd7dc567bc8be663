// The part of the timeline that a report records.
#include <algorithm>
#include <deque>
#include <iterator>
#include <set>
#include <utility>

#include "desk/analyze/prelude.h"
#include "desk/analyze/run.h"
#include "desk/serve/timeline/run.h"
#include "desk/serve/timeline/timeline.h"
#include "desk/store/values.h"

namespace xsp::serve {
namespace {

using store::Database;
using store::Table;

constexpr auto kReplace = nlohmann::json::error_handler_t::replace;  // as in Api
constexpr size_t kTileBytes = 400;  // approximate bytes of an answer without items
constexpr size_t kItemBytes = 48;
constexpr size_t kSpanBytes = 3'000;
constexpr size_t kSpans = 300;  // spans of all runs: each takes a few queries

// Selects for each batch size the run without counters that has the deepest level: the page shows
// it first (defaultRun in web/src/timeline/runs.ts).
constexpr const char* kDefaultRuns = R"(
    SELECT run_id FROM run
    WHERE status <> 'failed' AND NOT has_counters(counters)
      AND EXISTS (SELECT 1 FROM span WHERE span.run_id = run.run_id)
    QUALIFY row_number() OVER (PARTITION BY coalesce(batch, 1)
      ORDER BY deepest_level(levels) DESC, iterations DESC, run_id) = 1
    ORDER BY coalesce(batch, 1))";

class Recording {
 public:
  // `share` is the number of runs that share the bounds.
  Recording(Database& database, const TimelineRun& run, std::string prefix, size_t share)
      : database_(database),
        run_(run),
        prefix_(std::move(prefix)),
        budget_(kRecordedTimelineBytes / share),
        spans_(kSpans / share) {}

  Result<std::vector<Recorded>> requests() {
    const std::string number = std::to_string(run_.run());
    requests_.push_back({prefix_ + "?run=" + number, ""});
    const TimelineIterations& found = run_.iterations();
    const int64_t from = found.representative_start_ns;
    const int64_t to = from + found.representative_duration_ns;
    if (found.representative) {
      XSP_CHECK_OK(add_tiles(from, to, budget_ / 2));
      XSP_CHECK_OK(add_spans(*found.representative));
    }
    XSP_CHECK_OK(add_tiles(0, run_.axis_ns(), budget_));
    return std::move(requests_);
  }

 private:
  // Adds the tiles of [from_ns, to_ns), coarse ones first, until they show every span or the bound
  // is reached.
  Status add_tiles(int64_t from_ns, int64_t to_ns, size_t bound) {
    std::deque<std::pair<int64_t, int64_t>> open = {{0, 0}};
    for (; !open.empty() && bytes_ < bound; open.pop_front()) {
      const auto [zoom, number] = open.front();
      const TimelineWindow window = run_.window(zoom, number);
      if (window.start_ns >= std::min(to_ns, run_.duration_ns() + 1) ||
          window.end_ns() <= from_ns) {
        continue;
      }
      XSP_TRY(const TimelineTile tile, run_.tile(database_, zoom, number));
      if (added_.insert({zoom, number}).second) {
        requests_.push_back(
            {prefix_ + "/tile?run=" + std::to_string(run_.run()) +
                 "&tile=" + std::to_string(number) + "&zoom=" + std::to_string(zoom),
             tile_json(tile, zoom, number, std::nullopt).dump(-1, ' ', false, kReplace)});
        bytes_ += kTileBytes + tile.items.items.size() * kItemBytes;
        for (const std::string& text : tile.items.texts.all()) bytes_ += text.size();
        for (const auto& series : tile.series) bytes_ += series.points.size() * kItemBytes;
      }
      if (tile.is_complete || zoom == run_.max_zoom()) continue;
      open.emplace_back(zoom + 1, 2 * number);
      open.emplace_back(zoom + 1, 2 * number + 1);
    }
    return Ok{};
  }

  // Adds the spans of one iteration, the higher levels first.
  Status add_spans(int64_t iteration) {
    XSP_TRY(const Table table,
            database_.query("SELECT span_id FROM span WHERE run_id = $run AND iteration = "
                            "$iteration AND coalesce(type, '') <> 'memory' ORDER BY "
                            "CASE level WHEN 6 THEN 3.5 ELSE level END, start_ns LIMIT $limit",
                            {{"run", run_.run()},
                             {"iteration", iteration},
                             {"limit", static_cast<int64_t>(spans_)}}));
    for (const auto& row : table.rows) {
      if (bytes_ > budget_ * 3 / 4) break;
      requests_.push_back({prefix_ + "/span?run=" + std::to_string(run_.run()) +
                               "&span=" + std::to_string(store::int_of(row[0])),
                           ""});
      bytes_ += kSpanBytes;
    }
    return Ok{};
  }

  Database& database_;
  const TimelineRun& run_;
  std::string prefix_;
  size_t budget_;
  size_t spans_;
  size_t bytes_ = 0;
  std::vector<Recorded> requests_;
  std::set<std::pair<int64_t, int64_t>> added_;
};

}  // namespace

Result<std::vector<Recorded>> timeline_requests(Library& library, const std::string& id) {
  XSP_TRY(Held held, library.hold(id));
  Database& database = held.database();
  XSP_TRY(const Table runs, analyze::query_with_prelude(database, kDefaultRuns));
  std::vector<Recorded> requests;
  const std::string prefix = std::string(kApiPrefix) + "/evaluations/" + encode(id) + "/timeline";
  for (const auto& row : runs.rows) {
    XSP_TRY(const auto run, timeline_of(held, store::int_of(row[0])));
    Recording recording(database, *run, prefix, runs.rows.size());
    XSP_TRY(auto some, recording.requests());
    std::move(some.begin(), some.end(), std::back_inserter(requests));
  }
  return requests;
}

}  // namespace xsp::serve
