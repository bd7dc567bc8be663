#include "desk/serve/timeline/run.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "desk/analyze/catalogue.h"
#include "desk/analyze/prelude.h"
#include "desk/analyze/run.h"
#include "desk/serve/timeline/rows.h"
#include "desk/store/values.h"

namespace xsp::serve {
namespace {

constexpr int kThreadBits = 22;  // as in correlate/rules.h

using store::Database;
using store::maybe_double;
using store::Table;
using Row = std::vector<store::Value>;

// A tile has so few cells that an answer has at most this many items in all of its rows.
constexpr int64_t kItemsOfTile = 16'384;
constexpr int kMostCellBits = 9;
constexpr int kLeastCellBits = 4;
// A tile at the finest zoom of the summary holds about this many spans, and so does a tile of the
// next finer zoom, which is read from the file.
constexpr int64_t kSpansOfTile = 32'768;
constexpr int64_t kCellsOfSummary = 1 << 18;

int bits_of(int64_t number) {
  return static_cast<int>(std::bit_width(static_cast<uint64_t>(number)));
}

std::string titled(const TimelineLane& lane) {
  static const char* const kWhat[] = {"Application", "Model", "Layers",
                                      "Library",     "API",   "Kernels"};
  std::string title = kWhat[std::clamp<int64_t>(lane.level, 1, 6) - 1];
  if (lane.device) title += " · device " + std::to_string(*lane.device);
  if (lane.stream) title += " · stream " + std::to_string(*lane.stream);
  if (!lane.stream && lane.thread) {
    // The bits above the kernel's thread number are the lane that layers of unknown threads were
    // given.
    title += " · thread " + std::to_string(*lane.thread & ((1 << kThreadBits) - 1));
    const int64_t of_thread = *lane.thread >> kThreadBits;
    if (of_thread > 0) title += ", lane " + std::to_string(of_thread);
  }
  return title;
}

auto place_of(const TimelineLane& lane) {
  return std::tie(lane.is_aside, lane.level, lane.device, lane.process, lane.thread, lane.stream);
}

}  // namespace

Status TimelineRun::load_lanes(Database& database) {
  XSP_TRY(const Table known,
          database.query("SELECT 1 FROM run WHERE run_id = $run", {{"run", run_}}));
  if (known.rows.empty()) {
    return not_available("run " + std::to_string(run_) + ": not in this evaluation");
  }
  // The first grouping is by plain columns, because DuckDB knows how few values they have.
  XSP_TRY(const Table table, database.query(std::string(R"(
      WITH place AS (
        SELECT level, process, thread, device, stream, max(depth) AS depth, count(*) AS spans,
          min(start_ns) AS start_ns, max(start_ns + duration_ns) AS end_ns
        FROM span WHERE run_id = $run GROUP BY level, process, thread, device, stream)
      SELECT )") + store::select_list(kLaneColumns) +
                                                R"(
      FROM place GROUP BY level, process_of_lane, thread_of_lane, device, stream
      ORDER BY all_spans DESC)",
                                            {{"run", run_}}));
  int64_t end_ns = 0;
  for (const Row& cells : table.rows) {
    const LaneRow row = store::read_row(kLaneColumns, cells);
    const bool is_first = &cells == &table.rows.front();
    base_ns_ = is_first ? row.start_ns : std::min(base_ns_, row.start_ns);
    end_ns = is_first ? row.end_ns : std::max(end_ns, row.end_ns);
    spans_ += row.spans;
    if (lanes_.size() == kMaxLanes) {
      ++lanes_left_out_;
      spans_left_out_ += row.spans;
      continue;
    }
    TimelineLane lane;
    lane.level = row.place.level;
    lane.process = row.place.process;
    lane.thread = row.place.thread;
    lane.device = row.place.device;
    lane.stream = row.place.stream;
    lane.rows = static_cast<int>(std::clamp<int64_t>(row.rows, 1, kMaxRows));
    lane.spans = row.spans;
    lane.start_ns = row.start_ns;
    lane.end_ns = row.end_ns;
    lane.unit = "ns";
    lane.title = titled(lane);
    lanes_.push_back(std::move(lane));
  }
  for (TimelineLane& lane : lanes_) {
    lane.start_ns -= base_ns_;
    lane.end_ns -= base_ns_;
  }
  duration_ns_ = std::max<int64_t>(end_ns - base_ns_, 0);
  axis_bits_ = bits_of(duration_ns_);
  if (axis_bits_ > 62) return corrupt("run " + std::to_string(run_) + ": its times are not times");
  return Ok{};
}

void TimelineRun::order_lanes() {
  int64_t first_ns = std::numeric_limits<int64_t>::max(), last_ns = 0;
  for (size_t i = 0; i < iterations_.iteration.size(); ++i) {
    if (iterations_.iteration[i] < 0) continue;
    first_ns = std::min(first_ns, iterations_.start_ns[i]);
    last_ns = std::max(last_ns, iterations_.start_ns[i] + iterations_.duration_ns[i]);
  }
  for (TimelineLane& lane : lanes_) {
    lane.is_aside = first_ns < last_ns && (lane.end_ns <= first_ns || lane.start_ns >= last_ns);
  }
  std::sort(lanes_.begin(), lanes_.end(),
            [](const auto& a, const auto& b) { return place_of(a) < place_of(b); });
}

void TimelineRun::choose_cells() {
  int64_t rows = 1;
  for (const TimelineLane& lane : lanes_) rows += lane.rows;
  cell_bits_ = std::clamp(bits_of(kItemsOfTile / (2 * rows)) - 1, kLeastCellBits, kMostCellBits);
  axis_bits_ = std::max(axis_bits_, cell_bits_);
  const int by_spans = bits_of(spans_ / kSpansOfTile);
  const int by_cells = bits_of(kCellsOfSummary / rows) - 1 - cell_bits_;
  summary_zoom_ = std::clamp(std::min(by_spans, by_cells), 0, axis_bits_ - cell_bits_);
}

Status TimelineRun::load_iterations(Database& database) {
  constexpr int64_t kListed = 0;
  constexpr int64_t kNearest = 1;
  XSP_TRY(const Table table, analyze::query_with_prelude(database, std::string(R"(
      WITH step AS MATERIALIZED (
        SELECT *, CASE WHEN part = 'steady' THEN row_number() OVER of_part - 1
          ELSE -row_number() OVER from_last END AS number
        FROM (SELECT process, start_ns, duration_ns, part = 'steady' AS is_steady, part
              FROM whole_step WHERE run_id = $run
                AND process = (SELECT process FROM whole_step WHERE run_id = $run GROUP BY process
                               ORDER BY count(*) DESC, process LIMIT 1))
        WINDOW of_part AS (PARTITION BY is_steady ORDER BY start_ns),
          from_last AS (PARTITION BY is_steady ORDER BY start_ns DESC)),
      inference AS MATERIALIZED (
        SELECT iteration, start_ns - $base AS start_ns, duration_ns, span_id,
          iteration >= 0 AND NOT is_open AS is_measured, false AS is_step
        FROM span WHERE run_id = $run AND level = 2 AND depth = 0
          AND NOT EXISTS (SELECT 1 FROM step)
        UNION ALL
        SELECT number, start_ns - $base, duration_ns, number, part = 'steady', true FROM step),
      placed AS (
        SELECT *, row_number() OVER (ORDER BY start_ns, span_id) - 1 AS place,
          count(*) OVER () AS total
        FROM inference),
      nearest AS (
        SELECT iteration, start_ns, duration_ns FROM inference WHERE is_measured
        ORDER BY abs(duration_ns - (SELECT quantile_disc(duration_ns, 0.5) FROM inference
                                    WHERE is_measured)), iteration
        LIMIT 1)
      SELECT )") + store::select_list(kIterationColumns) + R"( FROM (
      SELECT 0 AS kind, iteration, start_ns, duration_ns, total, is_step,
        NULL::DOUBLE AS latency_ns
      FROM placed WHERE place % (1 + (total - 1) // $limit) = 0
      UNION ALL SELECT 1, iteration, start_ns, duration_ns, NULL, NULL, NULL FROM nearest
      UNION ALL SELECT 2, NULL, NULL, NULL, NULL, NULL, latency_ns FROM run_latency
      WHERE run_id = $run)
      ORDER BY kind, start_ns, iteration)",
                                                         {{"run", run_},
                                                          {"base", base_ns_},
                                                          {"limit",
                                                           static_cast<int64_t>(kMaxIterations)}}));
  for (const Row& cells : table.rows) {
    const IterationRow row = store::read_row(kIterationColumns, cells);
    if (row.kind == kListed) {
      iterations_.total = row.total;
      iterations_.are_steps = row.is_step;
      iterations_.iteration.push_back(row.iteration);
      iterations_.start_ns.push_back(row.start_ns);
      iterations_.duration_ns.push_back(row.duration_ns);
    } else if (row.kind == kNearest) {
      iterations_.representative = row.iteration;
      iterations_.representative_start_ns = row.start_ns;
      iterations_.representative_duration_ns = row.duration_ns;
    } else {
      latency_ns_ = row.latency_ns;
    }
  }
  const auto limit = static_cast<int64_t>(kMaxIterations);
  iterations_.every = 1 + std::max<int64_t>(iterations_.total - 1, 0) / limit;
  XSP_TRY(const Table alone, analyze::query_with_prelude(database, R"(
      SELECT latency_ns FROM model_latency WHERE recorded_level = 2
        AND batch = (SELECT coalesce(batch, 1) FROM run WHERE run_id = $run))",
                                                         {{"run", run_}}));
  for (const Row& row : alone.rows) undisturbed_ns_ = maybe_double(row[0]);
  return Ok{};
}

Status TimelineRun::read_items(Database& database, int64_t from_ns, int64_t to_ns, int64_t cell_ns,
                               int64_t below_ns, TimelineItems* out) const {
  // A span as long as a cell is a group of its own, by its id.
  XSP_TRY(const Table table, database.query("SELECT " + store::select_list(kItemColumns) + R"(,
        (start_ns - $base) // $cell AS cell,
        CASE WHEN duration_ns >= $cell THEN span_id END AS alone
      FROM span WHERE run_id = $run AND start_ns >= $from + $base AND start_ns < $to + $base
        AND duration_ns < $below
      GROUP BY level, place, line, device, stream, lane_row, cell, alone)",
                                            {{"run", run_},
                                             {"base", base_ns_},
                                             {"cell", cell_ns},
                                             {"below", below_ns},
                                             {"from", from_ns},
                                             {"to", to_ns},
                                             {"last_row", int64_t{kMaxRows - 1}}}));
  out->items.reserve(table.rows.size());
  for (const Row& cells : table.rows) {
    const ItemRow row = store::read_row(kItemColumns, cells);
    const auto lane = lane_of(row.place.level, row.place.process, row.place.thread,
                              row.place.device, row.place.stream);
    if (!lane) continue;
    TimelineItem item;
    item.lane = *lane;
    item.row = static_cast<uint16_t>(row.row);
    item.count = row.count;
    item.start_ns = row.start_ns;
    item.end_ns = row.end_ns;
    item.busy_ns = row.busy_ns;
    item.span_id = row.span_id;
    item.name = out->texts.number(row.name);
    item.type = out->texts.number(row.type);
    out->items.push_back(item);
  }
  sort_items(&out->items);
  return Ok{};
}

Result<const TimelineItems*> TimelineRun::summary(Database& database) const {
  const std::lock_guard lock(summary_->mutex);
  if (!summary_->is_known) {
    const int64_t cell_ns = axis_ns() >> (summary_zoom_ + cell_bits_);
    summary_->items = {};  // left by an interrupted reading
    XSP_CHECK_OK(read_items(database, 0, axis_ns(), cell_ns, cell_ns, &summary_->items));
    summary_->is_known = true;
  }
  return &summary_->items;
}

Status TimelineRun::load_long_spans(Database& database) {
  const int64_t cell_ns = axis_ns() >> (summary_zoom_ + cell_bits_);
  XSP_TRY(const Table table, database.query("SELECT " + store::select_list(kLongColumns) + R"(
      FROM span WHERE run_id = $run AND duration_ns >= $cell
      ORDER BY duration_ns DESC, span_id LIMIT $limit)",
                                            {{"run", run_},
                                             {"base", base_ns_},
                                             {"cell", cell_ns},
                                             {"last_row", int64_t{kMaxRows - 1}},
                                             {"limit", static_cast<int64_t>(kMaxLongSpans)}}));
  int64_t total = 0;
  for (const Row& cells : table.rows) {
    const ItemRow row = store::read_row(kLongColumns, cells);
    total = row.total;
    const auto lane = lane_of(row.place.level, row.place.process, row.place.thread,
                              row.place.device, row.place.stream);
    if (!lane) continue;
    TimelineItem item;
    item.lane = *lane;
    item.row = static_cast<uint16_t>(row.row);
    item.start_ns = row.start_ns;
    item.busy_ns = row.busy_ns;
    item.end_ns = item.start_ns + item.busy_ns;
    item.span_id = row.span_id;
    item.name = long_texts_.number(row.name);
    item.type = long_texts_.number(row.type);
    long_.push_back(item);
  }
  spans_left_out_ += total - static_cast<int64_t>(table.rows.size());
  sort_items(&long_);
  return Ok{};
}

Result<TimelineRun> TimelineRun::load(Database& database, int64_t run) {
  TimelineRun loaded;
  loaded.run_ = run;
  XSP_CHECK_OK(loaded.load_lanes(database));
  loaded.choose_cells();
  XSP_CHECK_OK(loaded.load_iterations(database));
  loaded.order_lanes();
  XSP_CHECK_OK(loaded.load_long_spans(database));
  XSP_CHECK_OK(loaded.load_series(database));
  return loaded;
}

std::optional<uint16_t> TimelineRun::lane_of(int64_t level, std::optional<int64_t> process,
                                             std::optional<int64_t> thread,
                                             std::optional<int64_t> device,
                                             std::optional<int64_t> stream) const {
  TimelineLane wanted;
  wanted.level = level;
  wanted.device = device;
  wanted.stream = stream;
  if (!stream) {
    wanted.process = process;
    wanted.thread = thread;
  }
  const auto end = std::find_if(lanes_.begin(), lanes_.end(),
                                [](const TimelineLane& lane) { return lane.is_series; });
  for (const bool is_aside : {false, true}) {
    wanted.is_aside = is_aside;
    const auto found =
        std::lower_bound(lanes_.begin(), end, wanted,
                         [](const auto& a, const auto& b) { return place_of(a) < place_of(b); });
    if (found != end && place_of(*found) == place_of(wanted)) {
      return static_cast<uint16_t>(found - lanes_.begin());
    }
  }
  return std::nullopt;
}

TimelineWindow TimelineRun::window(int64_t zoom, int64_t tile) const {
  const int64_t length = axis_ns() >> zoom;
  return {tile * length, length >> cell_bits_, cells()};
}

Result<std::vector<TimelineTile>> TimelineRun::tiles(Database& database, int64_t zoom,
                                                     const std::vector<int64_t>& numbers) const {
  if (zoom < 0 || zoom > max_zoom()) {
    return usage("zoom " + std::to_string(zoom) + ": it goes from 0 to " +
                 std::to_string(max_zoom()));
  }
  for (const int64_t number : numbers) {
    if (number >= 0 && number < int64_t{1} << zoom) continue;
    return usage("tile " + std::to_string(number) + ": at zoom " + std::to_string(zoom) +
                 " they are 0 to " + std::to_string((int64_t{1} << zoom) - 1));
  }
  const TimelineWindow begin = window(zoom, numbers.front());
  const int64_t summary_cell_ns = axis_ns() >> (summary_zoom_ + cell_bits_);
  TimelineItems fine;
  if (zoom > summary_zoom_) {
    XSP_CHECK_OK(read_items(database, begin.start_ns - summary_cell_ns,
                            window(zoom, numbers.back()).end_ns(), begin.cell_ns, summary_cell_ns,
                            &fine));
  }
  const TimelineItems* shorter = &fine;
  if (zoom <= summary_zoom_) {
    XSP_TRY(shorter, summary(database));
  }
  std::vector<TimelineTile> tiles;
  for (const int64_t number : numbers) {
    tiles.push_back(tile_of(window(zoom, number), *shorter));
  }
  return tiles;
}

TimelineTile TimelineRun::tile_of(const TimelineWindow& wanted,
                                  const TimelineItems& shorter) const {
  TimelineTile result;
  std::vector<TimelineItem> all;
  const auto take = [&](const TimelineItem& item, const TextTable& texts) {
    if (item.start_ns >= wanted.end_ns() || item.end_ns < wanted.start_ns) return;
    all.push_back(item);
    all.back().name = result.items.texts.number(texts.text(item.name));
    all.back().type = result.items.texts.number(texts.text(item.type));
  };
  for (const TimelineItem& item : shorter.items) take(item, shorter.texts);
  for (const TimelineItem& item : long_) take(item, long_texts_);
  sort_items(&all);
  result.items.items = fold(all, wanted);
  result.is_complete = std::none_of(result.items.items.begin(), result.items.items.end(),
                                    [](const TimelineItem& item) { return item.count > 1; });
  for (size_t i = 0; i < series_.size(); ++i) {
    result.series.push_back(cut(i, wanted, &result.is_complete));
  }
  return result;
}

Result<TimelineTile> TimelineRun::tile(Database& database, int64_t zoom, int64_t tile) const {
  XSP_TRY(std::vector<TimelineTile> one, tiles(database, zoom, {tile}));
  return std::move(one[0]);
}

size_t TimelineRun::bytes() const {
  size_t bytes = sizeof *this + sizeof *summary_ + long_.capacity() * sizeof(TimelineItem);
  bytes += long_texts_.bytes() + lanes_.size() * (sizeof(TimelineLane) + 64);
  // A summary that another thread is reading is counted at the next call.
  const std::unique_lock lock(summary_->mutex, std::try_to_lock);
  if (lock) {
    bytes += summary_->items.items.capacity() * sizeof(TimelineItem);
    bytes += summary_->items.texts.bytes();
  }
  bytes += iterations_.iteration.size() * 3 * sizeof(int64_t);
  for (const Series& series : series_) bytes += series.points.capacity() * sizeof(TimelinePoint);
  return bytes;
}

}  // namespace xsp::serve
