// Merge: joins the spans of all streams of a trace in the order of ends (see rules.h). Spans of one
// stream with equal ends are sorted within their batch; across two batches they stay in the order
// of emission.
#ifndef XSP_DESK_CORRELATE_MERGE_H_
#define XSP_DESK_CORRELATE_MERGE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "desk/correlate/feed.h"
#include "shared/base/result.h"

namespace xsp::correlate {

// Consecutive spans of the merge that come from one batch.
struct Run {
  const trace::SpanBatch* batch = nullptr;
  const uint32_t* order = nullptr;        // order of the batch's rows; nullptr: unchanged
  const uint32_t* first_value = nullptr;  // first value of each row, and the end; nullptr: no
                                          // values
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
  // `levels` are those of the sites, and must outlive the merge. Among equal spans, those of the
  // earlier feed come first.
  Merge(Feeds feeds, const std::vector<uint8_t>& levels);

  // Gets the next spans, at most `run_max`, valid until the next call. Returns false at the end.
  Result<bool> next(size_t run_max, Run* run);
  uint64_t damaged_chunks() const { return damaged_chunks_; }

 private:
  struct Cursor {
    std::shared_ptr<const Feed> feed;
    size_t number = 0;
    size_t next_batch = 0;
    trace::SpanBatch batch;
    std::vector<uint32_t> order;        // order of the batch's rows; empty: unchanged
    std::vector<uint32_t> first_value;  // empty: the batch has no values
    size_t position = 0;
    Extent head;

    size_t row_at(size_t at) const { return order.empty() ? at : order[at]; }
  };

  Status start();
  // Skips the spans that next() returned.
  Status advance();
  // Loads the next batch with spans. Returns false at the end of the feed.
  Result<bool> load(Cursor* cursor);
  void order_equal_ends(Cursor* cursor) const;
  void set_head(Cursor* cursor) const {
    cursor->head = extent_at(cursor->batch, cursor->row_at(cursor->position), levels_,
                             cursor->feed->given_times());
  }
  static bool comes_before(const Cursor& a, const Cursor& b) {
    const int order = compare_ends(a.head, b.head);
    return order != 0 ? order < 0 : a.number < b.number;
  }
  // Returns the position from which the first cursor's spans no longer precede those of all others.
  size_t find_run_end(const Cursor& cursor, size_t run_max) const;
  // Restores the heap after the head of its first cursor has advanced.
  void sink();

  std::vector<Cursor> cursors_;
  std::vector<Cursor*> heap_;  // the first cursor has the next span
  const std::vector<uint8_t>& levels_;
  bool is_started_ = false;
  size_t run_end_ = 0;
  uint64_t damaged_chunks_ = 0;
};

}  // namespace xsp::correlate

#endif  // XSP_DESK_CORRELATE_MERGE_H_
