// The records that an emitting thread writes into its ring: groups of 32-byte slots.
//
// A group is one Record, made when its span ends, and then `extra_slots` slots for the data that
// does not fit into it. A group is published as a whole, so a span is recorded with all its values
// or not at all. Records of one thread are in the order of their ends, except those with given
// times.
#ifndef XSP_SHARED_TRACE_RECORD_H_
#define XSP_SHARED_TRACE_RECORD_H_

#include <cstdint>

#include "xsp/xsp.h"

namespace xsp::trace {

inline constexpr uint32_t kSlotBytes = 32;
inline constexpr uint32_t kExtraSlotsMax = (1u << 12) - 1;

struct Record {
  uint64_t start;     // ticks; nanoseconds of UNIX time if kGiven
  uint64_t duration;  // in the unit of start
  uint64_t payload;   // the value under `key`; if key is 0, the correlation id
  uint32_t site_id;   // implies the level
  uint16_t key;
  uint16_t bits;  // kind of the payload (2), kGiven (1), unused (1), extra slots (12)

  static constexpr uint16_t kKindMask = 3;  // 0: INT, 1: DOUBLE, 2: COUNTER
  static constexpr uint16_t kGiven = 4;
  static constexpr int kExtraShift = 4;

  static constexpr uint16_t kind_bits(uint32_t kind) {
    return kind == XSP_VALUE_COUNTER ? 2 : kind == XSP_VALUE_DOUBLE ? 1 : 0;
  }
  static constexpr uint32_t kind_of(uint64_t bits) {
    return bits == 2 ? XSP_VALUE_COUNTER : bits == 1 ? XSP_VALUE_DOUBLE : XSP_VALUE_INT;
  }

  uint32_t extra_slots() const { return bits >> kExtraShift; }
  bool is_given() const { return (bits & kGiven) != 0; }
};
static_assert(sizeof(Record) == kSlotBytes);

// Begins a further fact about a span; a text continues in the slots that follow.
struct Extra {
  uint16_t key;
  uint8_t kind;  // XSP_VALUE_*, or kPlace
  uint8_t unused;
  uint32_t text_bytes;
  union {
    uint64_t number;    // an INT, DOUBLE or COUNTER, as its bits
    uint32_t place[3];  // kPlace: thread, device, stream, as in xsp_complete_span
    char text[24];      // the first bytes of a TEXT
  };

  static constexpr uint8_t kPlace = 100;
};
static_assert(sizeof(Extra) == kSlotBytes);

// Returns the number of slots that an Extra with a text of that many bytes takes.
constexpr uint32_t slots_of_text(uint32_t bytes) {
  return bytes <= sizeof(Extra::text)
             ? 1
             : 1 + (bytes - static_cast<uint32_t>(sizeof(Extra::text)) + kSlotBytes - 1) /
                       kSlotBytes;
}

}  // namespace xsp::trace

#endif  // XSP_SHARED_TRACE_RECORD_H_
