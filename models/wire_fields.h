// A message of protocol buffers that is in memory, field by field: a small face of wire.h for
// readers that trust no more than the wire format. A message that breaks off ends where it does.
#ifndef XSP_MODELS_WIRE_FIELDS_H_
#define XSP_MODELS_WIRE_FIELDS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "models/wire.h"

namespace xsp::models::wire {

class Fields {
 public:
  // `bytes` must outlive this and what it gives.
  explicit Fields(std::span<const uint8_t> bytes)
      : bytes_(bytes), source_(bytes), cursor_(&source_, &problem_, 0, bytes.size()) {}
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;

  bool next() { return cursor_.next(&field_); }
  uint32_t number() const { return field_.number; }
  bool is(uint32_t number) const { return field_.number == number; }
  // Of a field that holds bytes; empty: it holds a number.
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
  // Repeated integers come packed into one field, or as a field each; take(value) gets each.
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

}  // namespace xsp::models::wire

#endif  // XSP_MODELS_WIRE_FIELDS_H_
