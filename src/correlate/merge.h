// Merge: all spans of a trace, from all streams, one by one in the order of ends (see rules.h).
// Spans of one stream with equal ends are put in order within their chunk; across two chunks they
// stay as emitted.
#ifndef XSP_CORRELATE_MERGE_H_
#define XSP_CORRELATE_MERGE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "correlate/feed.h"

namespace xsp::correlate {

// Spans that follow one another in the merge and come from one batch.
struct Run {
  const trace::SpanBatch* batch = nullptr;
  const uint32_t* order = nullptr;        // of the batch's rows; nullptr: as they are
  const uint32_t* first_value = nullptr;  // of each row, and of the end; nullptr: no values
  size_t begin = 0;                       // positions in `order`
  size_t end = 0;
  bool given_times = false;
  bool is_open = false;

  size_t row(size_t position) const { return order == nullptr ? position : order[position]; }
  std::span<const trace::SpanValue> values(size_t row) const {
    if (first_value == nullptr) return {};
    return {batch->values.data() + first_value[row], first_value[row + 1] - first_value[row]};
  }
};

class Merge {
 public:
  // `levels` are those of the sites, and must outlive it. Of equal spans, those of the earlier feed
  // come first.
  Merge(std::vector<std::unique_ptr<Feed>> feeds, const std::vector<uint8_t>& levels);

  // Calls visit(const Run&) -> Status until all spans have been visited; stops at the first error.
  template <typename Visit>
  Status for_each_run(Visit&& visit);

  // The feeds whose spans turned out not to be in the order of ends; their place in the result is
  // wrong.
  const std::vector<size_t>& disordered() const { return disordered_; }
  uint64_t damaged_chunks() const;

 private:
  struct Cursor {
    std::unique_ptr<Feed> feed;
    size_t number = 0;
    bool given_times = false;
    bool is_open = false;
    bool disordered = false;
    int64_t last_end_ns = INT64_MIN;
    trace::SpanBatch batch;
    std::vector<uint32_t> order;        // of the batch's spans; empty: as they are
    std::vector<uint32_t> first_value;  // of each span; empty: the batch has no values
    size_t position = 0;
    Extent head;

    size_t row_at(size_t at) const { return order.empty() ? at : order[at]; }
  };

  Status start();
  // Loads the next batch; false at the end of the feed.
  Result<bool> load(Cursor* cursor);
  void index_values(Cursor* cursor);
  void check_order(Cursor* cursor);
  void set_head(Cursor* cursor) const {
    cursor->head =
        extent_at(cursor->batch, cursor->row_at(cursor->position), levels_, cursor->given_times);
  }
  static bool comes_before(const Cursor& a, const Cursor& b) {
    const int order = compare_ends(a.head, b.head);
    return order != 0 ? order < 0 : a.number < b.number;
  }
  // The spans of the first cursor that come before those of all others.
  Run next_run() const;
  // Restores the heap after its first cursor's head has moved on.
  void sink();
  void pop();

  std::vector<Cursor> cursors_;
  std::vector<Cursor*> heap_;  // the first has the next span
  const std::vector<uint8_t>& levels_;
  std::vector<size_t> disordered_;
};

template <typename Visit>
Status Merge::for_each_run(Visit&& visit) {
  XSP_CHECK_OK(start());
  while (!heap_.empty()) {
    Cursor& cursor = *heap_[0];
    const Run run = next_run();
    XSP_CHECK_OK(visit(run));
    cursor.position = run.end;
    if (run.end < cursor.batch.size()) {
      set_head(&cursor);
      sink();
      continue;
    }
    XSP_TRY(const bool more, load(&cursor));
    if (more) {
      sink();
    } else {
      pop();
    }
  }
  return Ok{};
}

}  // namespace xsp::correlate

#endif  // XSP_CORRELATE_MERGE_H_
