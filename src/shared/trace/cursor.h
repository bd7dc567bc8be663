// Cursor reads foreign bytes, one item after another.
#ifndef XSP_SHARED_TRACE_CURSOR_H_
#define XSP_SHARED_TRACE_CURSOR_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "shared/trace/varint.h"

namespace xsp::trace {

// Once an item is missing, all further items are missing, too.
class Cursor {
 public:
  explicit Cursor(std::span<const uint8_t> bytes)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool is_good() const { return is_good_; }
  bool is_at_end() const { return at_ == end_; }
  uint64_t number() {
    uint64_t value = 0;
    const uint8_t* next = is_good_ ? get_varint(at_, end_, &value) : nullptr;
    if (next == nullptr) return fail();
    at_ = next;
    return value;
  }
  std::span<const uint8_t> bytes(uint64_t size) {
    if (!is_good_ || size > static_cast<size_t>(end_ - at_)) {
      fail();
      return {};
    }
    at_ += size;
    return {at_ - size, static_cast<size_t>(size)};
  }
  std::string text(size_t size_max) {
    const uint64_t size = number();
    if (size > size_max) fail();
    const std::span<const uint8_t> found = bytes(size);
    return {reinterpret_cast<const char*>(found.data()), found.size()};
  }
  uint8_t byte() {
    const std::span<const uint8_t> found = bytes(1);
    return found.empty() ? uint8_t{0} : found[0];
  }

 private:
  uint64_t fail() {
    is_good_ = false;
    return 0;
  }
  const uint8_t* at_;
  const uint8_t* end_;
  bool is_good_ = true;
};

}  // namespace xsp::trace

#endif  // XSP_SHARED_TRACE_CURSOR_H_
