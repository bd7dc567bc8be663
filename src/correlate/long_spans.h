// LongSpans: the first pass. Finds the spans that end too late to be met as parents in the window.
#ifndef XSP_CORRELATE_LONG_SPANS_H_
#define XSP_CORRELATE_LONG_SPANS_H_

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "correlate/correlate.h"
#include "correlate/merge.h"

namespace xsp::correlate {

struct LongSpan {
  Extent extent;
  uint64_t id = 0;
  int64_t iteration = kNoIteration;
};

class LongSpans {
 public:
  // `levels` are those of the sites, and must outlive it.
  LongSpans(const Options& options, const std::vector<uint8_t>& levels);
  // In the order of the merge.
  void add(const Run& run);

  // By thread, in the order of ends.
  const std::unordered_map<uint32_t, std::vector<LongSpan>>& by_thread() const {
    return by_thread_;
  }
  // The latest end of all.
  int64_t last_end_ns() const { return last_end_ns_; }
  // The threads with spans of given times: there, the tolerance matters.
  const std::unordered_set<uint32_t>& given_threads() const { return given_threads_; }

 private:
  // Spans are kept in memory as long as they are this few; traces that need more are not met in
  // practice (each holds a quarter of a window), but could be made. Beyond, children go without.
  static constexpr size_t kMax = size_t{1} << 20;
  static constexpr size_t kMarks = 16;

  void add_given_threads(const Run& run);
  void add_long(const Run& run, size_t row, uint8_t level);

  Options options_;
  const std::vector<uint8_t>* levels_;
  uint64_t step_;                // between two marks
  int64_t mark_end_ns_[kMarks];  // the end of span number step_ * k, for the latest k
  uint64_t count_all_ = 0;
  int64_t last_end_ns_ = INT64_MIN;
  size_t count_ = 0;
  uint32_t last_given_thread_ = 0;  // the last one put into given_threads_
  std::unordered_map<uint32_t, std::vector<LongSpan>> by_thread_;
  std::unordered_set<uint32_t> given_threads_;
};

// The value of a model span's iteration, or kNoIteration.
int64_t iteration_of(std::span<const trace::SpanValue> values, uint32_t key);

}  // namespace xsp::correlate

#endif  // XSP_CORRELATE_LONG_SPANS_H_
