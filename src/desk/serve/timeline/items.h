// The items of a timeline's tile: spans, and blocks of spans that are too short to be seen one by
// one.
//
// A tile covers a stretch of a run's time, divided into cells of equal length. A span at least as
// long as a cell is an item of its own in every tile that it touches. A shorter span belongs to the
// tile and the cell in which it starts: a single one is an item of its own, several are one block.
// So a row of a lane has at most two items per cell, however many spans it has, and every span is
// counted once, by the tile in which it starts.
//
// Spans of one row do not overlap, unless a profiler's clocks or a program's threads disagree. If
// two spans as long as a cell start in the same cell, the longer one is an item, and the other one
// belongs to that cell's block.
#ifndef XSP_DESK_SERVE_TIMELINE_ITEMS_H_
#define XSP_DESK_SERVE_TIMELINE_ITEMS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace xsp::serve {

// Holds texts by number; each is kept once. Number 0 is the empty text.
class TextTable {
 public:
  TextTable() { number(""); }
  uint32_t number(std::string_view text);
  const std::string& text(uint32_t number) const { return texts_[number]; }
  const std::vector<std::string>& all() const { return texts_; }
  size_t bytes() const { return bytes_; }

 private:
  std::vector<std::string> texts_;
  std::unordered_map<std::string, uint32_t> numbers_;
  size_t bytes_ = 0;
};

// Times are nanoseconds since the run's base.
struct TimelineItem {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t busy_ns = 0;  // the sum of the durations
  int64_t span_id = 0;  // for a block: its longest span
  int64_t count = 1;
  uint32_t name = 0;  // for a block: the name of its longest span
  uint32_t type = 0;
  uint16_t lane = 0;
  uint16_t row = 0;

  int64_t duration_ns() const { return end_ns - start_ns; }
};

struct TimelineItems {
  std::vector<TimelineItem> items;  // by lane, row and start
  TextTable texts;
};

// Describes a part of the time axis: [start_ns, start_ns + cell_ns * cells).
struct TimelineWindow {
  int64_t start_ns = 0;
  int64_t cell_ns = 1;
  int64_t cells = 1;

  int64_t end_ns() const { return start_ns + cell_ns * cells; }
};

void sort_items(std::vector<TimelineItem>* items);

// Returns the items of a window, made from finer ones: spans that start in it or reach into it, and
// blocks of cells no longer than the window's own. `items` are in the order of sort_items().
std::vector<TimelineItem> fold(const std::vector<TimelineItem>& items,
                               const TimelineWindow& window);

}  // namespace xsp::serve

#endif  // XSP_DESK_SERVE_TIMELINE_ITEMS_H_
