// What the emitting threads' functions share. See emit.cc for the order of the stores.
#ifndef XSP_CAPTURE_ANNOTATE_EMIT_H_
#define XSP_CAPTURE_ANNOTATE_EMIT_H_

#include <string.h>

#include "capture/annotate/session.h"
#include "xsp/xsp.h"

namespace xsp::capture {

inline constexpr int kKeyKindShift = 16;  // in xsp_span::key: the kind of its value, above the key
// There, too: values wait in the lane for this span's end. Spans inside it end as if none waited.
inline constexpr uint32_t kHasPending = uint32_t{1} << 31;

// In xsp_span::site_id, above the site: the call of a model that this span is around is a step.
inline constexpr uint32_t kStepBit = uint32_t{1} << 31;
static_assert(kSiteMax < kStepBit);
// Nothing is recorded of such a call, but when its step ends is to be known.
inline constexpr uint32_t kStepAlone = UINT32_MAX;

inline bool is_likely(bool condition) { return __builtin_expect(condition, 1); }

// The calling thread's lane, if it has joined this recording.
inline trace::Lane* current_lane() {
  trace::Lane* lane = thread_lane;
  if (lane == nullptr || lane->generation.load(std::memory_order_relaxed) !=
                             session.generation.load(std::memory_order_relaxed)) {
    return nullptr;
  }
  return lane;
}

// The same, made to join if need be; nullptr if nothing is recorded, or no ring can be had, and
// then the one span that wanted it is counted.
trace::Lane* joined_lane();

inline trace::Record* slot(trace::Lane* lane, uint64_t position) {
  return &lane->slots[position & lane->mask];
}

// Takes a span off the stack, and with it spans above it that were never ended, and adds to the
// count of accepted ones, in one store.
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
  // Time-stamp counters of two cores may differ by a few ticks.
  record->duration = end > span->start ? end - span->start : 0;
  record->payload = span->value;
  record->site_id = span->site_id;
  record->key = static_cast<uint16_t>(span->key);
  record->bits = static_cast<uint16_t>(((span->key & ~kHasPending) >> kKeyKindShift) |
                                       (extra_slots << trace::Record::kExtraShift));
}

// Ends a span for which values may wait in the lane.
void end_with_values(trace::Lane* lane, const xsp_span* span, uint64_t end);

inline void drop_value() { session.dropped_value.fetch_add(1, std::memory_order_relaxed); }

inline uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

// The size of a text of a span, cut at a whole character of UTF-8 if it is too long.
uint32_t text_size(const char* text);

}  // namespace xsp::capture

#endif  // XSP_CAPTURE_ANNOTATE_EMIT_H_
