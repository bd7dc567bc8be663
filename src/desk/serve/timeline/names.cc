#include "desk/serve/timeline/names.h"

#include <string>
#include <utility>

#include "desk/serve/http/routes.h"
#include "desk/serve/timeline/rows.h"

namespace xsp::serve {
namespace {

using nlohmann::json;

// The spans of one lane, or those of one lane with one name and type.
struct NameRow {
  bool is_lane = false;
  Place place;
  Value name;
  Value type;
  int64_t spans = 0;
  int64_t time_ns = 0;
  int64_t outermost_ns = 0;  // time of the spans that no other span of the lane holds
  std::optional<double> mean_ns;
  int64_t longest_ns = 0;
  int64_t span = 0;   // the longest one
  int64_t total = 0;  // rows of this kind
};

constexpr store::ReadColumn<NameRow> kNameColumns[] = {
    {"is_lane", [](const Value& cell, NameRow* row) { row->is_lane = std::get<bool>(cell); }},
    {"level", [](const Value& cell, NameRow* row) { row->place.level = int_of(cell); }},
    {"place", [](const Value& cell, NameRow* row) { row->place.process = maybe_int(cell); }},
    {"line", [](const Value& cell, NameRow* row) { row->place.thread = maybe_int(cell); }},
    {"device", [](const Value& cell, NameRow* row) { row->place.device = maybe_int(cell); }},
    {"stream", [](const Value& cell, NameRow* row) { row->place.stream = maybe_int(cell); }},
    {"name", [](const Value& cell, NameRow* row) { row->name = cell; }},
    {"kind", [](const Value& cell, NameRow* row) { row->type = cell; }},
    {"spans", [](const Value& cell, NameRow* row) { row->spans = int_of(cell); }},
    {"time_ns", [](const Value& cell, NameRow* row) { row->time_ns = int_of(cell); }},
    {"outermost_ns", [](const Value& cell, NameRow* row) { row->outermost_ns = int_of(cell); }},
    {"mean_ns", [](const Value& cell, NameRow* row) { row->mean_ns = maybe_double(cell); }},
    {"longest_ns", [](const Value& cell, NameRow* row) { row->longest_ns = int_of(cell); }},
    {"span_id", [](const Value& cell, NameRow* row) { row->span = int_of(cell); }},
    {"total", [](const Value& cell, NameRow* row) { row->total = int_of(cell); }},
};

std::string query() {
  return "SELECT " + store::select_list(kNameColumns) + R"( FROM (
      WITH touching AS (
        SELECT level, CASE WHEN stream IS NULL THEN process END AS place,
          CASE WHEN stream IS NULL THEN thread END AS line, device, stream, name,
          coalesce(type, '') AS kind, depth, duration_ns, span_id,
          least(start_ns + duration_ns, $to) - greatest(start_ns, $from) AS inside_ns
        FROM span WHERE run_id = $run AND start_ns < $to
          AND (start_ns + duration_ns > $from OR start_ns = $from)),
      grouped AS (
        SELECT GROUPING(name) = 1 AS is_lane, level, place, line, device, stream, name, kind,
          count(*) AS spans, sum(inside_ns)::BIGINT AS time_ns,
          coalesce(sum(inside_ns) FILTER (depth = 0), 0)::BIGINT AS outermost_ns,
          avg(duration_ns) AS mean_ns, max(duration_ns) AS longest_ns,
          arg_max(span_id, duration_ns) AS span_id
        FROM touching
        GROUP BY GROUPING SETS ((level, place, line, device, stream),
                                (level, place, line, device, stream, name, kind)))
      SELECT *, count(*) OVER (PARTITION BY is_lane) AS total FROM grouped
      QUALIFY row_number() OVER (PARTITION BY is_lane
                                 ORDER BY time_ns DESC, spans DESC, name, kind) <= $limit
      ORDER BY is_lane DESC, time_ns DESC, spans DESC, name, kind))";
}

}  // namespace

Result<json> names_json(store::Database& database, const TimelineRun& run, int64_t from_ns,
                        int64_t to_ns) {
  XSP_TRY(const store::Table table, database.query(query(), {{"run", run.run()},
                                                             {"from", run.base_ns() + from_ns},
                                                             {"to", run.base_ns() + to_ns},
                                                             {"limit", kMaxNames}}));
  json lanes = json::array(), names = json::array();
  int64_t total = 0;
  for (const auto& cells : table.rows) {
    const NameRow row = store::read_row(kNameColumns, cells);
    const Place& place = row.place;
    const auto lane =
        run.lane_of(place.level, place.process, place.thread, place.device, place.stream);
    json told = {{"lane", lane ? json(*lane) : json()}, {"spans", row.spans}};
    if (row.is_lane) {
      told["time_ns"] = row.outermost_ns;
      lanes.push_back(std::move(told));
      continue;
    }
    total = row.total;
    told["level"] = place.level;
    told["name"] = cell_json(row.name);
    told["type"] = cell_json(row.type);
    told["time_ns"] = row.time_ns;
    told["mean_ns"] = row.mean_ns ? json(*row.mean_ns) : json();
    told["longest_ns"] = row.longest_ns;
    told["span"] = row.span;
    names.push_back(std::move(told));
  }
  return json{{"run", run.run()},          {"from_ns", from_ns},        {"to_ns", to_ns},
              {"lanes", std::move(lanes)}, {"names", std::move(names)}, {"total_names", total}};
}

}  // namespace xsp::serve
