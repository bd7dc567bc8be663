// Series of a run: values over time that were measured beside its spans.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "desk/serve/timeline/rows.h"
#include "desk/serve/timeline/run.h"

namespace xsp::serve {
namespace {

using store::Database;
using store::Table;

// Selects the values to draw, with their units. A sample of a device holds for its own time; an
// allocator's value holds from its event on.
std::string points_query() {
  return R"(
    WITH counted AS (
      SELECT span_id, name, value FROM span_counter WHERE run_id = $run
        AND name IN ('allocated_bytes', 'power_w', 'sm_clock_mhz', 'temperature_c')),
    event AS (
      SELECT span_id, site_id, start_ns - $base AS time_ns, duration_ns, device,
        level = 1 AS is_sample
      FROM span WHERE run_id = $run AND EXISTS (FROM counted)
        AND (type = 'memory' OR (level = 1 AND name = 'sample' AND device IS NOT NULL))),
    of_span AS (
      SELECT span_id, any_value(value) AS pool FROM span_attribute
      WHERE run_id = $run AND key = 'pool' GROUP BY span_id),
    of_site AS (
      SELECT site_id, any_value(value) AS pool FROM site_attribute
      WHERE run_id = $run AND key = 'pool' GROUP BY site_id),
    point AS MATERIALIZED (
      SELECT e.device, c.name, is_sample, time_ns, e.duration_ns, value, span_id,
        CASE WHEN is_sample THEN '' ELSE coalesce(of_span.pool, of_site.pool, '') END AS pool
      FROM event e JOIN counted c USING (span_id) LEFT JOIN of_span USING (span_id)
        LEFT JOIN of_site USING (site_id)
      WHERE is_sample = (c.name <> 'allocated_bytes')),
    resolution AS (SELECT greatest(1, CASE WHEN count(*) > $limit THEN $coarse END) AS cell FROM
      point)
    SELECT )" +
         store::select_list(kPointColumns) + R"(
    FROM point, resolution GROUP BY name, pool, is_sample, time_ns // cell
    ORDER BY is_sample DESC, name, pool, min(time_ns))";
}

std::pair<std::string, std::string> title_and_unit(const std::string& counter,
                                                   const std::string& pool) {
  if (counter == "power_w") return {"Power", "W"};
  if (counter == "sm_clock_mhz") return {"SM clock", "MHz"};
  if (counter == "temperature_c") return {"Temperature", "°C"};
  return {pool.empty() ? "Allocated" : "Allocated · " + pool, "bytes"};
}

}  // namespace

Status TimelineRun::load_series(Database& database) {
  XSP_TRY(const Table table,
          database.query(points_query(), {{"run", run_},
                                          {"base", base_ns_},
                                          {"limit", static_cast<int64_t>(kMaxPoints)},
                                          {"coarse", std::max<int64_t>(1, axis_ns() >> 15)}}));
  std::pair<std::string, std::string> open;
  int64_t end_ns = 0;
  const auto close = [&](bool is_sample) {
    if (!is_sample || series_.empty()) return;
    const double nothing = std::numeric_limits<double>::quiet_NaN();
    series_.back().points.push_back({end_ns, nothing, nothing, nothing});
  };
  bool was_sample = false;
  for (const auto& cells : table.rows) {
    const PointRow row = store::read_row(kPointColumns, cells);
    const std::pair<std::string, std::string> key = {row.counter, row.pool};
    if (series_.empty() || key != open) {
      close(was_sample);
      if (lanes_.size() >= 2 * kMaxLanes) break;
      open = key;
      was_sample = row.is_sample;
      TimelineLane lane;
      lane.is_series = true;
      lane.level = was_sample ? 1 : 5;
      lane.device = row.device;
      std::tie(lane.title, lane.unit) = title_and_unit(key.first, key.second);
      series_.push_back({static_cast<uint16_t>(lanes_.size()), row.cell_ns, {}});
      lanes_.push_back(std::move(lane));
    }
    end_ns = row.end_ns;
    lanes_.back().spans += row.count;
    series_.back().points.push_back(row.point);
  }
  close(was_sample);
  return Ok{};
}

TimelineTile::Series TimelineRun::cut(size_t number, const TimelineWindow& window,
                                      bool* is_complete) const {
  const Series& series = series_[number];
  TimelineTile::Series result{series.lane, {}};
  const auto after = [](int64_t time, const TimelinePoint& point) { return time < point.time_ns; };
  const auto& points = series.points;
  auto at = std::upper_bound(points.begin(), points.end(), window.start_ns, after);
  if (at != points.begin()) --at;
  int64_t last_cell = -1;
  for (; at != points.end() && at->time_ns < window.end_ns(); ++at) {
    const bool is_before = at->time_ns < window.start_ns;
    const int64_t cell = is_before ? -1 : (at->time_ns - window.start_ns) / window.cell_ns;
    if (!result.points.empty() && cell == last_cell && std::isfinite(at->value) &&
        std::isfinite(result.points.back().value)) {
      TimelinePoint& point = result.points.back();
      point.value = at->value;
      point.low = std::min(point.low, at->low);
      point.high = std::max(point.high, at->high);
      *is_complete = false;
      continue;
    }
    last_cell = cell;
    result.points.push_back(*at);
  }
  return result;
}

}  // namespace xsp::serve
