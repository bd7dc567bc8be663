// SpanEncoder turns groups of a ring into the payload of a kSpans chunk, in one pass.
//
// It runs in the profiled process: the caller provides the memory, and nothing is allocated. The
// only failure is a lack of room, which add() reports before it takes anything.
#ifndef XSP_SHARED_TRACE_ENCODE_H_
#define XSP_SHARED_TRACE_ENCODE_H_

#include <cstddef>
#include <cstdint>

#include "shared/base/limits.h"
#include "shared/trace/format.h"
#include "shared/trace/record.h"
#include "shared/trace/varint.h"

namespace xsp::trace {

// Refers to the slots of a ring. There are mask + 1 of them, a power of two.
struct Slots {
  const Record* at;
  uint64_t mask;
  const Record& operator[](uint64_t position) const { return at[position & mask]; }
};

class SpanEncoder {
 public:
  static constexpr size_t kColumnBytes = kChunkSpansMax * kVarintBytesMax;
  static constexpr size_t kValuesBytes = 2u << 20;
  static constexpr size_t kMemoryBytes = kColumnCount * kColumnBytes + kValuesBytes;
  static_assert(kMemoryBytes + sizeof(SpansHeader) <= kChunkPayloadBytesMax);

  // `memory` has kMemoryBytes and outlives the encoder.
  explicit SpanEncoder(uint8_t* memory);

  // Starts a chunk for one thread, either of spans with given times or of the others.
  void begin(uint32_t lane, uint32_t thread, bool is_given);
  // Takes the group at `position`. Returns false if it must go into another chunk: this one is
  // full, or the span ended before its predecessor.
  bool add(Slots slots, uint64_t position);
  uint32_t span_count() const { return header_.span_count; }
  // Writes the payload, of at most kChunkPayloadBytesMax bytes, and returns its size.
  size_t finish(uint64_t ordinal, uint64_t dropped_ring, uint64_t dropped_site, uint8_t* out);

 private:
  // A column needs only one value while all its values are equal.
  struct ColumnWriter {
    uint8_t* begin = nullptr;
    uint8_t* end = nullptr;
    uint64_t first = 0;
    uint32_t count = 0;
    bool is_constant = true;

    void clear();
    void put(uint64_t value);
  };

  void add_values(Slots slots, uint64_t position, const Record& record);
  void add_text(Slots slots, uint64_t position, uint32_t bytes);

  ColumnWriter columns_[kColumnCount];
  uint8_t* values_ = nullptr;
  uint8_t* values_end_ = nullptr;
  SpansHeader header_ = {};
  uint64_t last_time_ = 0;
  uint64_t last_int_ = 0;
  uint64_t last_correlation_ = 0;
  uint32_t last_value_span_ = 0;
};

}  // namespace xsp::trace

#endif  // XSP_SHARED_TRACE_ENCODE_H_
