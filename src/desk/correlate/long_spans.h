// The first pass: finds the spans that end too late to meet their children in the window.
//
// It looks at blocks of consecutive spans of each feed: at their ends, and at the earliest start.
// Blocks are counted whole, so some spans are treated as long although they need not be. Within a
// span that is not long, at most a quarter of the window of spans end.
#ifndef XSP_DESK_CORRELATE_LONG_SPANS_H_
#define XSP_DESK_CORRELATE_LONG_SPANS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "desk/correlate/correlate.h"
#include "desk/correlate/feed.h"

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

// Fills in the sizes that `options` leaves open, for a trace with this many feeds.
Options complete(const Options& options, size_t feed_count);

// If feeds are in disorder, the result has only these feeds. `options` are complete.
Result<FirstPass> find_long_spans(const Feeds& feeds, const std::vector<uint8_t>& levels,
                                  const Options& options);

// Returns the iteration of a model span on that thread, or kNoIteration.
int64_t iteration_of(const Options& options, uint32_t thread, int64_t start_ns, int64_t end_ns,
                     std::span<const trace::SpanValue> values);

}  // namespace xsp::correlate

#endif  // XSP_DESK_CORRELATE_LONG_SPANS_H_
