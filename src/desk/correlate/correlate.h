// Correlate: finds every span's parent, ancestors, nesting, order and exclusive time, for a trace
// of any length in bounded memory. rules.h defines the parent of a span.
//
// In the order of ends, a parent comes after all spans that it contains, so a span waits for its
// parent. It waits in a window of the latest spans, which leave in the same order. A parent that
// ends later than that would come too late. So a first pass over the times alone finds every such
// span (those within which more than a quarter of the window may end), and the second pass knows
// them from the start. They are few: the frame around a whole program, spans that never ended.
//
// Costs: the trace is decoded once, and its times once more; streams that are not in the order of
// ends are sorted with a temporary file (feed.h). Memory: 128 bytes per span of the window, one
// decoded chunk per stream, 72 bytes per block of spans in the first pass (0.3 to 2 bytes per span
// of the trace).
//
// The first pass costs a tenth of the whole. Refused: sorting; an interval tree; reading backwards,
// which knows every parent at once but neither exclusive times nor positions; and holding the whole
// innermost unfinished tree, which for an annotated `main` is the trace.
#ifndef XSP_DESK_CORRELATE_CORRELATE_H_
#define XSP_DESK_CORRELATE_CORRELATE_H_

#include <cstdint>
#include <memory>
#include <span>

#include "desk/correlate/call_numbers.h"
#include "desk/correlate/rules.h"
#include "desk/correlate/source.h"
#include "shared/base/result.h"

namespace xsp::correlate {

inline constexpr int64_t kNoIteration = INT64_MIN;

// A span with the results of its correlation.
struct alignas(64) Span {
  // Unique, from 1, but not every number is used. Ids follow the order of ends, except that the
  // long spans from the first pass have the lowest ids.
  uint64_t id = 0;
  uint64_t parent_id = 0;  // 0: none
  uint64_t model_id = 0;   // the nearest ancestor at the level model, itself included; 0: none
  uint64_t layer_id = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t self_ns = 0;  // duration minus the union of its children on its thread
  uint64_t correlation_id = 0;
  int64_t iteration = kNoIteration;  // of the model span that contains it
  uint32_t site = 0;
  uint32_t thread = 0;
  uint32_t device = 0;  // device + 1; 0: the host
  uint32_t stream = 0;  // stream + 1; 0: none
  uint32_t depth = 0;   // nesting within its level: 0 is outermost
  // Position among the spans of its level in its model span, from 0; -1: no model span. Spans of
  // one thread count in the order of starts, those of several threads or device streams in the
  // order of ends.
  int32_t ordinal = -1;
  uint8_t level = 0;
  bool is_open = false;

  // The members below are internal to the correlation.
  bool given_times = false;
  bool on_device = false;
  bool is_attached = false;  // its parent has included it
  bool is_resolved = false;  // its ancestors are known
  bool is_ambiguous = false;
  bool is_in_device_layer = false;  // its parent is a graph's layer on its stream
  uint32_t model_slot = 0;
  uint32_t same_level_inside = 0;     // descendants at the span's own level
  int64_t covered_until = INT64_MIN;  // the latest end of a child
  void* thread_state = nullptr;
};
static_assert(sizeof(Span) == 128);

// Receives the attributes and counters of spans.
class ValueSink {
 public:
  virtual ~ValueSink() = default;
  // Called before Correlation::next() gives the span itself.
  virtual Status value(uint64_t span_id, const trace::SpanValue& value) = 0;
};

struct Options {
  int64_t tolerance_ns = kToleranceNs;
  size_t window = 0;       // spans, a power of two; 0: by the number of streams, from 16384
  size_t block_spans = 0;  // spans that the first pass counts together; 0: by the number of streams
  size_t piece_spans = size_t{1} << 19;  // spans that are sorted in memory at once
  uint32_t iteration_key = 0;            // key of a model span's iteration; 0: the trace has none
  // If given, iterations are those of these calls, whatever the spans have, and spans inside a call
  // have its number. Must outlive the correlation.
  const CallNumbers* calls = nullptr;
};

// See audit_fact in store/schema.sql for the meanings.
struct Facts {
  uint64_t spans = 0;
  uint64_t open_spans = 0;
  uint64_t roots = 0;
  uint64_t unattributed = 0;
  uint64_t ambiguous = 0;
  uint64_t clipped = 0;
  int64_t clipped_max_ns = 0;
  uint64_t overlapping = 0;
  uint64_t launches = 0;
  uint64_t executions = 0;
  uint64_t executions_unmatched = 0;
  uint64_t launches_unmatched = 0;
  // Spans that could not be read; they are not in `spans`.
  uint64_t unknown_site = 0;
  uint64_t damaged_chunks = 0;
};

// Thread rule: one thread at a time.
class Correlation {
 public:
  // Does the first pass. `source` and `values` must outlive it.
  static Result<Correlation> begin(const Source& source, const Options& options, ValueSink* values);

  Correlation(Correlation&&) noexcept;
  Correlation& operator=(Correlation&&) noexcept;
  ~Correlation();

  // Returns the next spans, in the order of ends, valid until the next call. Returns none at the
  // end.
  Result<std::span<const Span>> next();
  // Complete once next() has returned no spans.
  Facts facts() const;

 private:
  struct State;
  explicit Correlation(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace xsp::correlate

#endif  // XSP_DESK_CORRELATE_CORRELATE_H_
