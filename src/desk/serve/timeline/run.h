// One run of an evaluation as the timeline shows it: its lanes, its iterations, its tiles.
//
// The time axis is the smallest power of two of nanoseconds that holds the run. Zoom level Z
// divides it into 2^Z tiles, each of `cells` cells. Tiles of coarse zoom levels come from memory,
// from a summary of all spans. The summary is one GROUP BY, which runs at the first tile that needs
// it, so that viewing one inference of many does not pay for it. A tile of a finer zoom level is
// one GROUP BY over the rows of its time; the order of the rows (by their ends) makes it fast.
//
// Thread rule: any number of threads. tile() uses the Database, which its caller must hold during
// the call.
#ifndef XSP_DESK_SERVE_TIMELINE_RUN_H_
#define XSP_DESK_SERVE_TIMELINE_RUN_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "desk/serve/timeline/items.h"
#include "desk/store/database.h"
#include "shared/base/result.h"

namespace xsp::serve {

// Bounds. Spans of a lane that nest deeper than kMaxRows are drawn in its last row. Lanes beyond
// kMaxLanes are left out and counted.
inline constexpr int kMaxRows = 32;
inline constexpr size_t kMaxLanes = 256;
inline constexpr size_t kMaxIterations = 10'000;
inline constexpr size_t kMaxPoints = 200'000;
inline constexpr size_t kMaxLongSpans = 200'000;

struct TimelineLane {
  bool is_series = false;
  int64_t level = 0;
  std::optional<int64_t> process;
  std::optional<int64_t> thread;
  std::optional<int64_t> device;
  std::optional<int64_t> stream;
  int rows = 1;
  int64_t spans = 0;      // for a series: its points
  int64_t start_ns = 0;   // start of its first span, since the base
  int64_t end_ns = 0;     // end of its last span
  bool is_aside = false;  // only before and after the measured inferences
  std::string title;
  std::string unit;
};

// Holds a series' value from time_ns on. If a cell has several points, `value` is the last.
struct TimelinePoint {
  int64_t time_ns = 0;
  double value = 0;  // not finite: not measured from here on
  double low = 0;
  double high = 0;
};

// Holds what the run repeats: inferences, or the steps of a program that was watched, which are
// those of the analysis `steps`. Numbers below zero are warm-up.
struct TimelineIterations {
  bool are_steps = false;
  int64_t total = 0;
  int64_t every = 1;  // one of this many is listed
  std::vector<int64_t> iteration;
  std::vector<int64_t> start_ns;
  std::vector<int64_t> duration_ns;
  // The iteration after warm-up whose latency is nearest to the median of their latencies.
  std::optional<int64_t> representative;
  int64_t representative_start_ns = 0;
  int64_t representative_duration_ns = 0;
};

struct TimelineTile {
  bool is_complete = false;  // every span is an item of its own: a finer zoom shows no more
  TimelineItems items;
  struct Series {
    uint16_t lane = 0;
    std::vector<TimelinePoint> points;  // the first may lie before the tile
  };
  std::vector<Series> series;
};

class TimelineRun {
 public:
  // Returns Code::kNotAvailable if there is no such run.
  static Result<TimelineRun> load(store::Database& database, int64_t run);

  int64_t run() const { return run_; }
  int64_t base_ns() const { return base_ns_; }
  int64_t duration_ns() const { return duration_ns_; }
  int64_t axis_ns() const { return int64_t{1} << axis_bits_; }
  int64_t cells() const { return int64_t{1} << cell_bits_; }
  int64_t max_zoom() const { return axis_bits_ - cell_bits_; }
  // Tiles of coarser zoom levels, and of this one, come from memory.
  int64_t summary_zoom() const { return summary_zoom_; }
  int64_t spans() const { return spans_; }
  int64_t lanes_left_out() const { return lanes_left_out_; }
  int64_t spans_left_out() const { return spans_left_out_; }
  const std::vector<TimelineLane>& lanes() const { return lanes_; }
  const TimelineIterations& iterations() const { return iterations_; }
  // The model's latency in this run, and in the run of the model alone at the same batch size
  // (means over typical inferences). No value means that it was not measured.
  std::optional<double> latency_ns() const { return latency_ns_; }
  std::optional<double> undisturbed_ns() const { return undisturbed_ns_; }
  size_t bytes() const;

  // Returns the lane of a span, or nothing if its lane was left out.
  std::optional<uint16_t> lane_of(int64_t level, std::optional<int64_t> process,
                                  std::optional<int64_t> thread, std::optional<int64_t> device,
                                  std::optional<int64_t> stream) const;

  TimelineWindow window(int64_t zoom, int64_t tile) const;
  // Returns Code::kUsage if there is no such tile.
  Result<TimelineTile> tile(store::Database& database, int64_t zoom, int64_t tile) const;
  // Returns several tiles of a zoom level, whose numbers ascend, from one query over their time and
  // that between them.
  Result<std::vector<TimelineTile>> tiles(store::Database& database, int64_t zoom,
                                          const std::vector<int64_t>& numbers) const;

 private:
  Status load_lanes(store::Database& database);
  Status load_iterations(store::Database& database);
  Status load_series(store::Database& database);
  Status load_long_spans(store::Database& database);
  void choose_cells();
  // Puts lanes of threads that ran only before or after the measured inferences, such as threads
  // that compile, behind all others.
  void order_lanes();
  // Returns the summary of all spans, which is read at the first call, and kept.
  Result<const TimelineItems*> summary(store::Database& database) const;
  // Returns a tile; `shorter` has the spans that are shorter than a cell of the summary.
  TimelineTile tile_of(const TimelineWindow& wanted, const TimelineItems& shorter) const;
  TimelineTile::Series cut(size_t series, const TimelineWindow& window, bool* is_complete) const;

  // Reads the spans that start in [from_ns, to_ns) and are shorter than below_ns. Those shorter
  // than cell_ns are grouped by cell.
  Status read_items(store::Database& database, int64_t from_ns, int64_t to_ns, int64_t cell_ns,
                    int64_t below_ns, TimelineItems* items) const;

  int64_t run_ = 0;
  int64_t base_ns_ = 0;
  int64_t duration_ns_ = 0;
  int64_t spans_ = 0;
  int64_t lanes_left_out_ = 0;
  int64_t spans_left_out_ = 0;
  int axis_bits_ = 0;
  int cell_bits_ = 0;
  int summary_zoom_ = 0;  // the finest zoom that the summary answers
  std::vector<TimelineLane> lanes_;
  TimelineIterations iterations_;
  std::optional<double> latency_ns_;
  std::optional<double> undisturbed_ns_;
  struct Summary {
    std::mutex mutex;
    bool is_known = false;
    TimelineItems items;
  };
  std::unique_ptr<Summary> summary_ = std::make_unique<Summary>();
  std::vector<TimelineItem> long_;  // spans at least as long as a cell of the summary
  TextTable long_texts_;
  struct Series {
    uint16_t lane = 0;
    int64_t resolution_ns = 1;
    std::vector<TimelinePoint> points;
  };
  std::vector<Series> series_;
};

}  // namespace xsp::serve

#endif  // XSP_DESK_SERVE_TIMELINE_RUN_H_
