// Functions that the emitting code shares. See emit.cc for the order of the stores.
#ifndef XSP_PROCESS_RECORD_EMIT_H_
#define XSP_PROCESS_RECORD_EMIT_H_

#include <string.h>

#include "process/record/session.h"
#include "xsp/xsp.h"

namespace xsp::process {

inline constexpr int kKeyKindShift = 16;  // in xsp_span::key: the kind of its value, above the key
// A flag in xsp_span::key: values wait in the lane for this span's end. Spans inside it end on the
// short path as if no values waited.
inline constexpr uint32_t kHasPending = uint32_t{1} << 31;

// A flag in xsp_span::site_id, above the site's bits: the model call that this span measures is a
// step.
inline constexpr uint32_t kStepBit = uint32_t{1} << 31;
static_assert(kSiteMax < kStepBit);
// The site_id of such a call when nothing is recorded of it, but the end of its step is needed.
inline constexpr uint32_t kStepAlone = UINT32_MAX;

inline bool is_likely(bool condition) { return __builtin_expect(condition, 1); }

// Returns the calling thread's lane, or nullptr if the thread has not joined this recording.
inline trace::Lane* current_lane() {
  trace::Lane* lane = thread_lane;
  if (lane == nullptr || lane->generation.load(std::memory_order_relaxed) !=
                             session.generation.load(std::memory_order_relaxed)) {
    return nullptr;
  }
  return lane;
}

// Returns the calling thread's lane and joins the recording if necessary. Returns nullptr if
// nothing is recorded, or if no ring can be had; the span that wanted the ring is then counted as
// dropped.
trace::Lane* joined_lane();

inline trace::Record* slot(trace::Lane* lane, uint64_t position) {
  return &lane->slots[position & lane->mask];
}

// Pops a span from the stack, together with spans above it that were never ended, and adds to the
// count of accepted spans, in one store.
void pop_unordered(trace::Lane* lane, uint64_t start, uint64_t accepted);
inline void pop(trace::Lane* lane, uint64_t start, uint64_t accepted) {
  trace::LaneBlock* block = lane->block;
  const uint64_t live = trace::load(block->accepted_and_depth);
  const uint64_t depth = live & trace::LaneBlock::kDepthMask;
  if (is_likely(depth - 1 < trace::kOpenMax && block->open[depth - 1].start == start)) {
    trace::store(&block->accepted_and_depth, live - 1 + accepted * trace::LaneBlock::kOneAccepted);
  } else {
    pop_unordered(lane, start, accepted);
  }
}

inline void fill(trace::Record* record, const xsp_span* span, uint64_t end, uint32_t extra_slots) {
  record->start = span->start;
  // The time-stamp counters of two cores may differ by a few ticks.
  record->duration = end > span->start ? end - span->start : 0;
  record->payload = span->value;
  record->site_id = span->site_id;
  record->key = static_cast<uint16_t>(span->key);
  record->bits = static_cast<uint16_t>(((span->key & ~kHasPending) >> kKeyKindShift) |
                                       (extra_slots << trace::Record::kExtraShift));
}

// Ends a span that may have values waiting in the lane.
void end_with_values(trace::Lane* lane, const xsp_span* span, uint64_t end);

inline void drop_value() { session.dropped_value.fetch_add(1, std::memory_order_relaxed); }

inline uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

// Returns the size of a span's text. A text that is too long is cut at a whole UTF-8 character.
uint32_t text_size(const char* text);

}  // namespace xsp::process

#endif  // XSP_PROCESS_RECORD_EMIT_H_
