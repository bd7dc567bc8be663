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

// One span on its way through the merge.
struct MergedSpan {
  Extent extent;
  uint64_t correlation_id = 0;
  uint32_t site = 0;
  uint32_t thread = 0;
  uint32_t device = 0;
  uint32_t stream = 0;
  bool is_open = false;
  std::span<const trace::SpanValue> values;
};

class Merge {
 public:
  // `levels` are those of the sites, and must outlive it. Of equal spans, those of the earlier feed
  // come first.
  Merge(std::vector<std::unique_ptr<Feed>> feeds, const std::vector<uint8_t>& levels);

  // Calls visit(const MergedSpan&) -> Status for each span; stops at the first error.
  template <typename Visit>
  Status for_each(Visit&& visit);

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

    size_t row() const { return order.empty() ? position : order[position]; }
  };

  Status start();
  // Loads the next batch; false at the end of the feed.
  Result<bool> load(Cursor* cursor);
  void index_values(Cursor* cursor);
  void check_order(Cursor* cursor);
  void set_head(Cursor* cursor) const {
    cursor->head = extent_at(cursor->batch, cursor->row(), levels_, cursor->given_times);
  }
  static bool comes_before(const Cursor& a, const Cursor& b) {
    const int order = compare_ends(a.head, b.head);
    return order != 0 ? order < 0 : a.number < b.number;
  }
  // Restores the heap after its first cursor's head has moved on.
  void sink();
  void pop();

  std::vector<Cursor> cursors_;
  std::vector<Cursor*> heap_;  // the first has the next span
  const std::vector<uint8_t>& levels_;
  std::vector<size_t> disordered_;
};

template <typename Visit>
Status Merge::for_each(Visit&& visit) {
  XSP_CHECK_OK(start());
  MergedSpan span;
  while (!heap_.empty()) {
    Cursor& cursor = *heap_[0];
    const trace::SpanBatch& batch = cursor.batch;
    const size_t row = cursor.row();
    span.extent = cursor.head;
    span.correlation_id = batch.correlation_id[row];
    span.site = batch.site[row];
    span.thread = batch.thread[row];
    span.device = batch.device[row];
    span.stream = batch.stream[row];
    span.is_open = cursor.is_open;
    span.values = {};
    if (!cursor.first_value.empty()) {
      span.values = {batch.values.data() + cursor.first_value[row],
                     cursor.first_value[row + 1] - cursor.first_value[row]};
    }
    XSP_CHECK_OK(visit(span));
    if (++cursor.position < batch.size()) {
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
