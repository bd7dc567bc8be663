// Reads a message of protocol buffers in memory, field by field: a small interface to wire.h for
// readers that rely only on the wire format. A truncated message ends where its bytes end.
#ifndef XSP_FORMATS_WIRE_WIRE_FIELDS_H_
#define XSP_FORMATS_WIRE_WIRE_FIELDS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "formats/wire/wire.h"

namespace xsp::formats::wire {

class Fields {
 public:
  // `bytes` must outlive this object and the ranges that it returns.
  explicit Fields(std::span<const uint8_t> bytes)
      : bytes_(bytes), source_(bytes), cursor_(&source_, &problem_, 0, bytes.size()) {}
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;

  bool next() { return cursor_.next(&field_); }
  uint32_t number() const { return field_.number; }
  bool is(uint32_t number) const { return field_.number == number; }
  // Returns the body of a field of bytes; empty if it holds a number.
  std::span<const uint8_t> body() const {
    constexpr uint32_t kLength = 2;
    return field_.type == kLength ? bytes_.subspan(field_.begin, field_.size())
                                  : std::span<const uint8_t>();
  }
  std::string_view text() const {
    const auto bytes = body();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  int64_t integer() const { return static_cast<int64_t>(field_.value); }
  // Reads repeated integers, which are packed into one field, or have a field each; take(value)
  // gets each.
  template <typename Take>
  void integers(Take take) {
    constexpr uint32_t kLength = 2;
    if (field_.type != kLength) return take(integer());
    Cursor packed(&source_, &problem_, field_.begin, field_.end);
    uint64_t value = 0;
    while (!packed.at_end() && packed.varint(&value)) take(static_cast<int64_t>(value));
  }

 private:
  std::span<const uint8_t> bytes_;
  std::string problem_;
  Source source_;
  Cursor cursor_;
  Field field_;
};

}  // namespace xsp::formats::wire

#endif  // XSP_FORMATS_WIRE_WIRE_FIELDS_H_
