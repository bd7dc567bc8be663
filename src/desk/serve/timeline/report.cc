// The part of the timeline that a report records.
#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "desk/analyze/prelude.h"
#include "desk/analyze/run.h"
#include "desk/serve/timeline/run.h"
#include "desk/serve/timeline/span.h"
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
constexpr size_t kTogether = 64;  // tiles that one query reads
// One query reads the time of so many tiles, or of so many of the coarsest zoom level that is read.
constexpr int64_t kReach = 32;
constexpr int64_t kCoarseReach = 4;
constexpr int64_t kFinest = 20;  // zoom levels below that one, for which the shift stays small
constexpr size_t kSpans = 300;   // spans of all runs

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
      XSP_CHECK_OK(add_spans(found));
    }
    XSP_CHECK_OK(add_tiles(0, run_.axis_ns(), budget_));
    return std::move(requests_);
  }

 private:
  // Adds the tiles of [from_ns, to_ns), coarse ones first, until they show every span or the bound
  // is reached.
  Status add_tiles(int64_t from_ns, int64_t to_ns, size_t bound) {
    const int64_t end_ns = std::min(to_ns, run_.duration_ns() + 1);
    std::vector<int64_t> level = {0};  // the tiles of one zoom, ascending
    for (int64_t zoom = 0; !level.empty() && bytes_ < bound; ++zoom) {
      std::vector<int64_t> next;
      for (size_t at = 0; at < level.size() && bytes_ < bound;) {
        XSP_TRY(const size_t count, add_beside(zoom, level, at, bound));
        for (const size_t end = at + count; at < end; ++at) {
          if (zoom == run_.max_zoom() || is_complete_.at({zoom, level[at]})) continue;
          for (const int64_t number : {2 * level[at], 2 * level[at] + 1}) {
            const TimelineWindow window = run_.window(zoom + 1, number);
            if (window.start_ns < end_ns && window.end_ns() > from_ns) next.push_back(number);
          }
        }
      }
      level = std::move(next);
    }
    return Ok{};
  }

  // Adds the tile level[at], and those after it that can be read with it. Returns how many.
  Result<size_t> add_beside(int64_t zoom, const std::vector<int64_t>& level, size_t at,
                            size_t bound) {
    const int64_t finer = std::max<int64_t>(zoom - run_.summary_zoom() - 1, 0);
    const int64_t end = level[at] + std::max(kReach, kCoarseReach << std::min(finer, kFinest));
    std::vector<int64_t> numbers;
    size_t count = 0;
    for (; at + count < level.size() && level[at + count] < end && numbers.size() < kTogether;
         ++count) {
      // A view of the whole run shares tiles with that of the representative iteration.
      if (!is_complete_.contains({zoom, level[at + count]})) numbers.push_back(level[at + count]);
    }
    if (numbers.empty()) return count;
    XSP_TRY(const std::vector<TimelineTile> tiles, run_.tiles(database_, zoom, numbers));
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (bytes_ >= bound) {
        return static_cast<size_t>(std::find(level.begin(), level.end(), numbers[i]) -
                                   level.begin()) -
               at;
      }
      add(zoom, numbers[i], tiles[i]);
    }
    return count;
  }

  void add(int64_t zoom, int64_t number, const TimelineTile& tile) {
    is_complete_[{zoom, number}] = tile.is_complete;
    requests_.push_back(
        {prefix_ + "/tile?run=" + std::to_string(run_.run()) + "&tile=" + std::to_string(number) +
             "&zoom=" + std::to_string(zoom),
         tile_json(tile, zoom, number, std::nullopt).dump(-1, ' ', false, kReplace)});
    bytes_ += kTileBytes + tile.items.items.size() * kItemBytes;
    for (const std::string& text : tile.items.texts.all()) bytes_ += text.size();
    for (const auto& series : tile.series) bytes_ += series.points.size() * kItemBytes;
  }

  // Adds the spans of the representative iteration, the higher levels first. The spans of a step
  // are those that start in it.
  Status add_spans(const TimelineIterations& found) {
    const int64_t from = run_.base_ns() + found.representative_start_ns;
    XSP_TRY(
        const Table table,
        database_.query("SELECT span_id FROM span WHERE run_id = $run AND "
                        "CASE WHEN $steps THEN start_ns >= $from AND start_ns < $to ELSE "
                        "iteration = $iteration END AND coalesce(type, '') <> 'memory' ORDER BY "
                        "CASE level WHEN 6 THEN 3.5 ELSE level END, start_ns LIMIT $limit",
                        {{"run", run_.run()},
                         {"steps", found.are_steps},
                         {"from", from},
                         {"to", from + found.representative_duration_ns},
                         {"iteration", found.representative.value_or(0)},
                         {"limit", static_cast<int64_t>(spans_)}}));
    std::vector<int64_t> spans;
    for (const auto& row : table.rows) {
      if (bytes_ > budget_ * 3 / 4) break;
      spans.push_back(store::int_of(row[0]));
      bytes_ += kSpanBytes;
    }
    XSP_TRY(const std::vector<nlohmann::json> answers, spans_json(database_, run_, spans));
    for (size_t i = 0; i < spans.size(); ++i) {
      requests_.push_back({prefix_ + "/span?run=" + std::to_string(run_.run()) +
                               "&span=" + std::to_string(spans[i]),
                           answers[i].dump(-1, ' ', false, kReplace)});
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
  std::map<std::pair<int64_t, int64_t>, bool> is_complete_;  // the added tiles, by zoom and number
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
