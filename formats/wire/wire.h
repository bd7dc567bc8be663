// Protocol buffers' wire format, as far as the formats of models and profiles need it. A message is
// a sequence of fields:
//
//   field   = key value    key = varint(number << 3 | type)
//   type 0  : varint       7 bits per byte, lowest first, high bit: more follow; <= 10 bytes
//   type 1  : 8 bytes, type 5: 4 bytes, little-endian
//   type 2  : varint length, then that many bytes: text, a message, or packed numbers
//
// Reading copies only the requested data: a field's body is a range of the source, and a weight of
// 400 MB is skipped by a seek.
#ifndef XSP_FORMATS_WIRE_WIRE_H_
#define XSP_FORMATS_WIRE_WIRE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/result.h"

namespace xsp::formats::wire {

inline constexpr size_t kWindowBytes = 64 * 1024;  // the most that one view of a source may hold

// Represents bytes in a file or in memory. Two threads must not use it at the same time.
class Source {
 public:
  static Result<Source> open(const std::string& path);
  explicit Source(std::span<const uint8_t> memory);  // must outlive the source
  Source(Source&& other) noexcept;
  Source& operator=(Source&&) = delete;
  ~Source();

  uint64_t size() const { return size_; }
  // Returns `count` <= kWindowBytes bytes at `offset`, valid until the next call; nullptr if the
  // file cannot be read there (it shrank, or its disk failed).
  const uint8_t* view(uint64_t offset, size_t count);

 private:
  Source(int file, uint64_t size);

  int file_ = -1;
  uint64_t size_ = 0;
  const uint8_t* memory_ = nullptr;
  std::unique_ptr<uint8_t[]> window_;
  uint64_t window_start_ = 0;
  size_t window_size_ = 0;
};

struct Field {
  uint32_t number = 0;
  uint32_t type = 0;
  uint64_t value = 0;  // value of types 0, 1 and 5
  uint64_t begin = 0;  // type 2: offset of its body in the source
  uint64_t end = 0;

  uint64_t size() const { return end - begin; }
};

// Iterates over a range of a source. The first problem is kept in `problem`, which all cursors over
// the source share; from then on nothing more is read.
class Cursor {
 public:
  Cursor(Source* source, std::string* problem, uint64_t begin, uint64_t end)
      : source_(source), problem_(problem), at_(begin), end_(end) {}

  bool next(Field* field);  // false at the end, or after a problem
  bool at_end() const { return at_ >= end_; }
  bool varint(uint64_t* value);
  bool fixed32(uint32_t* value);
  bool fixed64(uint64_t* value);

 private:
  bool fail(const std::string& text);

  Source* source_;
  std::string* problem_;
  uint64_t at_;
  uint64_t end_;
};

// These append fields to a text.
void put_varint(std::string* out, uint64_t value);
void put_integer(std::string* out, uint32_t number, int64_t value);
void put_float(std::string* out, uint32_t number, float value);
void put_double(std::string* out, uint32_t number, double value);
void put_fixed64(std::string* out, uint32_t number, uint64_t value);
void put_bytes(std::string* out, uint32_t number, std::string_view bytes);
// Appends the key and the length of a field whose body the caller writes after it.
void put_header(std::string* out, uint32_t number, uint64_t length);

}  // namespace xsp::formats::wire

#endif  // XSP_FORMATS_WIRE_WIRE_H_
