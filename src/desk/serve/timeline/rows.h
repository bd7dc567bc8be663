// Rows of the timeline's queries: each struct with the columns that fill it.
#ifndef XSP_DESK_SERVE_TIMELINE_ROWS_H_
#define XSP_DESK_SERVE_TIMELINE_ROWS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "desk/serve/timeline/run.h"
#include "desk/store/columns.h"
#include "desk/store/values.h"

namespace xsp::serve {

using store::int_of;
using store::maybe_double;
using store::maybe_int;
using store::text_of;
using store::Value;

// The lane of some spans, as the queries name it: spans of a stream have no thread.
struct Place {
  int64_t level = 0;
  std::optional<int64_t> process;
  std::optional<int64_t> thread;
  std::optional<int64_t> device;
  std::optional<int64_t> stream;
};

struct LaneRow {
  Place place;
  int64_t rows = 0;
  int64_t spans = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};
inline constexpr store::ReadColumn<LaneRow> kLaneColumns[] = {
    {"level", [](const Value& cell, LaneRow* row) { row->place.level = int_of(cell); }},
    {"CASE WHEN stream IS NULL THEN process END AS process_of_lane",
     [](const Value& cell, LaneRow* row) { row->place.process = maybe_int(cell); }},
    {"CASE WHEN stream IS NULL THEN thread END AS thread_of_lane",
     [](const Value& cell, LaneRow* row) { row->place.thread = maybe_int(cell); }},
    {"device", [](const Value& cell, LaneRow* row) { row->place.device = maybe_int(cell); }},
    {"stream", [](const Value& cell, LaneRow* row) { row->place.stream = maybe_int(cell); }},
    {"max(depth) + 1", [](const Value& cell, LaneRow* row) { row->rows = int_of(cell); }},
    {"sum(spans) AS all_spans", [](const Value& cell, LaneRow* row) { row->spans = int_of(cell); }},
    {"min(start_ns)", [](const Value& cell, LaneRow* row) { row->start_ns = int_of(cell); }},
    {"max(end_ns)", [](const Value& cell, LaneRow* row) { row->end_ns = int_of(cell); }},
};

// A row of the iterations: one that is listed, the representative one, or the run's latency.
struct IterationRow {
  int64_t kind = 0;
  int64_t iteration = 0;
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  int64_t total = 0;
  bool is_step = false;
  std::optional<double> latency_ns;
};
inline constexpr store::ReadColumn<IterationRow> kIterationColumns[] = {
    {"kind", [](const Value& cell, IterationRow* row) { row->kind = int_of(cell); }},
    {"iteration", [](const Value& cell, IterationRow* row) { row->iteration = int_of(cell); }},
    {"start_ns", [](const Value& cell, IterationRow* row) { row->start_ns = int_of(cell); }},
    {"duration_ns", [](const Value& cell, IterationRow* row) { row->duration_ns = int_of(cell); }},
    {"total", [](const Value& cell, IterationRow* row) { row->total = int_of(cell); }},
    {"coalesce(is_step, false)",
     [](const Value& cell, IterationRow* row) { row->is_step = std::get<bool>(cell); }},
    {"latency_ns",
     [](const Value& cell, IterationRow* row) { row->latency_ns = maybe_double(cell); }},
};

// An item of a tile, or a long span.
struct ItemRow {
  Place place;
  int64_t row = 0;
  int64_t count = 1;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t busy_ns = 0;
  int64_t span_id = 0;
  std::string name;
  std::string type;
  int64_t total = 0;  // number of rows without the limit
};
inline constexpr store::ReadColumn<ItemRow> kItemColumns[] = {
    {"level", [](const Value& cell, ItemRow* row) { row->place.level = int_of(cell); }},
    {"CASE WHEN stream IS NULL THEN process END AS place",
     [](const Value& cell, ItemRow* row) { row->place.process = maybe_int(cell); }},
    {"CASE WHEN stream IS NULL THEN thread END AS line",
     [](const Value& cell, ItemRow* row) { row->place.thread = maybe_int(cell); }},
    {"device", [](const Value& cell, ItemRow* row) { row->place.device = maybe_int(cell); }},
    {"stream", [](const Value& cell, ItemRow* row) { row->place.stream = maybe_int(cell); }},
    {"least(depth, $last_row) AS lane_row",
     [](const Value& cell, ItemRow* row) { row->row = int_of(cell); }},
    {"count(*)", [](const Value& cell, ItemRow* row) { row->count = int_of(cell); }},
    {"min(start_ns) - $base",
     [](const Value& cell, ItemRow* row) { row->start_ns = int_of(cell); }},
    {"max(start_ns + duration_ns) - $base",
     [](const Value& cell, ItemRow* row) { row->end_ns = int_of(cell); }},
    {"sum(duration_ns)", [](const Value& cell, ItemRow* row) { row->busy_ns = int_of(cell); }},
    {"arg_max(span_id, duration_ns)",
     [](const Value& cell, ItemRow* row) { row->span_id = int_of(cell); }},
    {"arg_max(name, duration_ns)",
     [](const Value& cell, ItemRow* row) { row->name = text_of(cell); }},
    {"arg_max(coalesce(type, ''), duration_ns)",
     [](const Value& cell, ItemRow* row) { row->type = text_of(cell); }},
};
inline constexpr store::ReadColumn<ItemRow> kLongColumns[] = {
    {"level", [](const Value& cell, ItemRow* row) { row->place.level = int_of(cell); }},
    {"CASE WHEN stream IS NULL THEN process END",
     [](const Value& cell, ItemRow* row) { row->place.process = maybe_int(cell); }},
    {"CASE WHEN stream IS NULL THEN thread END",
     [](const Value& cell, ItemRow* row) { row->place.thread = maybe_int(cell); }},
    {"device", [](const Value& cell, ItemRow* row) { row->place.device = maybe_int(cell); }},
    {"stream", [](const Value& cell, ItemRow* row) { row->place.stream = maybe_int(cell); }},
    {"least(depth, $last_row)", [](const Value& cell, ItemRow* row) { row->row = int_of(cell); }},
    {"start_ns - $base", [](const Value& cell, ItemRow* row) { row->start_ns = int_of(cell); }},
    {"duration_ns", [](const Value& cell, ItemRow* row) { row->busy_ns = int_of(cell); }},
    {"span_id", [](const Value& cell, ItemRow* row) { row->span_id = int_of(cell); }},
    {"name", [](const Value& cell, ItemRow* row) { row->name = text_of(cell); }},
    {"coalesce(type, '')", [](const Value& cell, ItemRow* row) { row->type = text_of(cell); }},
    {"count(*) OVER ()", [](const Value& cell, ItemRow* row) { row->total = int_of(cell); }},
};

// A point of a series.
struct PointRow {
  std::string counter;
  std::string pool;
  std::optional<int64_t> device;
  bool is_sample = false;  // of a device; otherwise an event of an allocator
  int64_t cell_ns = 0;
  TimelinePoint point;
  int64_t end_ns = 0;
  int64_t count = 0;
};
inline constexpr store::ReadColumn<PointRow> kPointColumns[] = {
    {"name", [](const Value& cell, PointRow* row) { row->counter = text_of(cell); }},
    {"pool", [](const Value& cell, PointRow* row) { row->pool = text_of(cell); }},
    {"any_value(device)", [](const Value& cell, PointRow* row) { row->device = maybe_int(cell); }},
    {"is_sample", [](const Value& cell, PointRow* row) { row->is_sample = std::get<bool>(cell); }},
    {"any_value(cell)", [](const Value& cell, PointRow* row) { row->cell_ns = int_of(cell); }},
    {"min(time_ns)", [](const Value& cell, PointRow* row) { row->point.time_ns = int_of(cell); }},
    {"arg_max(value, (time_ns, span_id))",
     [](const Value& cell, PointRow* row) { row->point.value = maybe_double(cell).value_or(0); }},
    {"min(value)",
     [](const Value& cell, PointRow* row) { row->point.low = maybe_double(cell).value_or(0); }},
    {"max(value)",
     [](const Value& cell, PointRow* row) { row->point.high = maybe_double(cell).value_or(0); }},
    {"max(time_ns + duration_ns)",
     [](const Value& cell, PointRow* row) { row->end_ns = int_of(cell); }},
    {"count(*)", [](const Value& cell, PointRow* row) { row->count = int_of(cell); }},
};

// A span that is told beside another one.
struct BriefRow {
  int64_t span = 0;
  std::optional<int64_t> parent;
  Place place;
  int64_t depth = 0;
  std::string name;
  Value type;
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  int64_t self_ns = 0;
};
inline constexpr store::ReadColumn<BriefRow> kBriefColumns[] = {
    {"span_id", [](const Value& cell, BriefRow* row) { row->span = int_of(cell); }},
    {"parent_id", [](const Value& cell, BriefRow* row) { row->parent = maybe_int(cell); }},
    {"level", [](const Value& cell, BriefRow* row) { row->place.level = int_of(cell); }},
    {"process", [](const Value& cell, BriefRow* row) { row->place.process = maybe_int(cell); }},
    {"thread", [](const Value& cell, BriefRow* row) { row->place.thread = maybe_int(cell); }},
    {"device", [](const Value& cell, BriefRow* row) { row->place.device = maybe_int(cell); }},
    {"stream", [](const Value& cell, BriefRow* row) { row->place.stream = maybe_int(cell); }},
    {"depth", [](const Value& cell, BriefRow* row) { row->depth = int_of(cell); }},
    {"name", [](const Value& cell, BriefRow* row) { row->name = text_of(cell); }},
    {"type", [](const Value& cell, BriefRow* row) { row->type = cell; }},
    {"start_ns", [](const Value& cell, BriefRow* row) { row->start_ns = int_of(cell); }},
    {"duration_ns", [](const Value& cell, BriefRow* row) { row->duration_ns = int_of(cell); }},
    {"self_ns", [](const Value& cell, BriefRow* row) { row->self_ns = int_of(cell); }},
};

}  // namespace xsp::serve

#endif  // XSP_DESK_SERVE_TIMELINE_ROWS_H_
