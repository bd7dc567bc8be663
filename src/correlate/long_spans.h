// The first pass: finds the spans that end too late to be met as parents in the window.
//
// It looks at blocks of consecutive spans of each feed: when they end, and when the earliest
// begins. Blocks are counted whole, so a block is looked into when in doubt: some spans are called
// long that would not have to be. A span that is not called long has at most a quarter of the
// window of spans end within it.
#ifndef XSP_CORRELATE_LONG_SPANS_H_
#define XSP_CORRELATE_LONG_SPANS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "correlate/correlate.h"
#include "correlate/feed.h"

namespace xsp::correlate {

struct LongSpan {
  Extent extent;
  uint32_t site = 0;
  uint32_t thread = 0;
  int64_t iteration = kNoIteration;
};

struct FirstPass {
  std::vector<LongSpan> long_spans;  // in the order of ends
  std::vector<size_t> disordered;    // feeds whose spans are not in the order of ends
  int64_t last_end_ns = INT64_MIN;
  bool has_given_times = false;
};

// The sizes that Options leaves open, for a trace of so many feeds.
Options complete(const Options& options, size_t feed_count);

// If feeds are in disorder, nothing but them is found. `options` are complete.
Result<FirstPass> find_long_spans(const Feeds& feeds, const std::vector<uint8_t>& levels,
                                  const Options& options);

// The iteration of a span of the level model on that thread, or kNoIteration.
int64_t iteration_of(const Options& options, uint32_t thread, int64_t start_ns, int64_t end_ns,
                     std::span<const trace::SpanValue> values);

}  // namespace xsp::correlate

#endif  // XSP_CORRELATE_LONG_SPANS_H_
