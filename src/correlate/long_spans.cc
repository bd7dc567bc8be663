#include "correlate/long_spans.h"

#include <algorithm>

#include "xsp/xsp.h"

namespace xsp::correlate {

int64_t iteration_of(const MergedSpan& span, uint32_t key) {
  if (key == 0 || span.extent.level != XSP_LEVEL_MODEL) return kNoIteration;
  for (const trace::SpanValue& value : span.values) {
    if (value.key == key && value.kind == XSP_VALUE_INT) return value.as_int;
  }
  return kNoIteration;
}

// A quarter of the window is four steps of a sixteenth.
LongSpans::LongSpans(const Options& options)
    : options_(options), step_(std::max<uint64_t>(1, options.window / 16)) {
  std::fill(std::begin(mark_end_ns_), std::end(mark_end_ns_), INT64_MIN);
}

void LongSpans::add(const MergedSpan& span, uint64_t id) {
  const Extent& extent = span.extent;
  if (extent.given_times && (given_threads_.empty() || span.thread != last_given_thread_)) {
    given_threads_.insert(span.thread);
    last_given_thread_ = span.thread;
  }
  const uint64_t mark = id / step_;
  if (id % step_ == 0) mark_end_ns_[mark % kMarks] = extent.end_ns;
  if (mark < 4 || extent.on_device || count_ >= kMax) return;
  // The mark between three and four steps back: what began before it ended holds that many at
  // least.
  if (mark_end_ns_[(mark - 3) % kMarks] < extent.start_ns - options_.tolerance_ns) return;
  ++count_;
  by_thread_[span.thread].push_back(
      {extent, id, span.correlation_id, iteration_of(span, options_.iteration_key)});
}

}  // namespace xsp::correlate
