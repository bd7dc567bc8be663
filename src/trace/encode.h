// SpanEncoder: groups of a ring become the payload of a kSpans chunk, in one pass.
//
// Lives in the profiled process: memory is handed in, nothing is allocated, nothing fails but for
// want of room, which add() reports before it has taken anything.
#ifndef XSP_TRACE_ENCODE_H_
#define XSP_TRACE_ENCODE_H_

#include <cstddef>
#include <cstdint>

#include "base/limits.h"
#include "trace/format.h"
#include "trace/record.h"
#include "trace/varint.h"

namespace xsp::trace {

// A ring's slots, of which there are mask + 1, a power of two.
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

  // `memory`: kMemoryBytes that outlive the encoder.
  explicit SpanEncoder(uint8_t* memory);

  // Starts a chunk of the spans with given times, or of the others, of one thread.
  void begin(uint32_t lane, uint32_t thread, bool is_given);
  // Takes the group at `position`. False if it must go into another chunk: this one is full, or the
  // span ended before its predecessor.
  bool add(Slots slots, uint64_t position);
  uint32_t span_count() const { return header_.span_count; }
  // Writes the payload, of at most kChunkPayloadBytesMax bytes, and returns its size.
  size_t finish(uint64_t ordinal, uint64_t dropped_ring, uint64_t dropped_site, uint8_t* out);

 private:
  // A column that costs one value as long as all its values are equal.
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

#endif  // XSP_TRACE_ENCODE_H_
