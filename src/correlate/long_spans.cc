#include "correlate/long_spans.h"

#include <algorithm>

#include "xsp/xsp.h"

namespace xsp::correlate {

int64_t iteration_of(std::span<const trace::SpanValue> values, uint32_t key) {
  if (key == 0) return kNoIteration;
  for (const trace::SpanValue& value : values) {
    if (value.key == key && value.kind == XSP_VALUE_INT) return value.as_int;
  }
  return kNoIteration;
}

// A quarter of the window is four steps of a sixteenth.
LongSpans::LongSpans(const Options& options, const std::vector<uint8_t>& levels)
    : options_(options), levels_(&levels), step_(std::max<uint64_t>(1, options.window / 16)) {
  std::fill(std::begin(mark_end_ns_), std::end(mark_end_ns_), INT64_MIN);
}

void LongSpans::add(const Run& run) {
  if (run.given_times) add_given_threads(run);
  const trace::SpanBatch& batch = *run.batch;
  for (size_t at = run.begin; at < run.end; ++at) {
    const size_t row = run.row(at);
    const uint8_t level = level_of(*levels_, batch.site[row]);
    if (level == 0) continue;
    const uint64_t mark = ++count_all_ / step_;
    if (count_all_ % step_ == 0) mark_end_ns_[mark % kMarks] = batch.end_ns[row];
    // The mark between three and four steps back: what began before it ended holds that many at
    // least.
    if (mark_end_ns_[(mark - 3) % kMarks] < batch.start_ns[row] - options_.tolerance_ns) continue;
    if (mark >= 4 && batch.device[row] == 0) add_long(run, row, level);
  }
  last_end_ns_ = std::max(last_end_ns_, batch.end_ns[run.row(run.end - 1)]);
}

void LongSpans::add_given_threads(const Run& run) {
  for (size_t at = run.begin; at < run.end; ++at) {
    const uint32_t thread = run.batch->thread[run.row(at)];
    if (!given_threads_.empty() && thread == last_given_thread_) continue;
    given_threads_.insert(thread);
    last_given_thread_ = thread;
  }
}

void LongSpans::add_long(const Run& run, size_t row, uint8_t level) {
  if (count_ == kMax) return;
  ++count_;
  const trace::SpanBatch& batch = *run.batch;
  LongSpan span;
  span.extent = extent_at(batch, row, *levels_, run.given_times);
  span.id = count_all_;
  if (level == XSP_LEVEL_MODEL) {
    span.iteration = iteration_of(run.values(row), options_.iteration_key);
  }
  by_thread_[batch.thread[row]].push_back(span);
}

}  // namespace xsp::correlate
