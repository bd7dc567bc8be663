#include "formats/wire/wire.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

namespace xsp::formats::wire {
namespace {

constexpr size_t kVarintBytes = 10;

enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

}  // namespace

Result<Source> Source::open(const std::string& path) {
  // With O_NONBLOCK, a FIFO without a writer does not block.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    return failed(path + ": cannot be opened: " + std::strerror(errno) + ": give a readable file");
  }
  struct stat status = {};
  std::string why;
  if (::fstat(file, &status) != 0) {
    why = std::strerror(errno);
  } else if (!S_ISREG(status.st_mode)) {
    why = S_ISDIR(status.st_mode) ? "it is a folder" : "it is not a regular file";
  }
  if (!why.empty()) {
    ::close(file);
    return failed(path + ": cannot be read as a model: " + why + ": give an .onnx file");
  }
  return Source(file, static_cast<uint64_t>(status.st_size));
}

Source::Source(int file, uint64_t size)
    : file_(file), size_(size), window_(std::make_unique<uint8_t[]>(kWindowBytes)) {}

Source::Source(std::span<const uint8_t> memory) : size_(memory.size()), memory_(memory.data()) {}

Source::Source(Source&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      size_(other.size_),
      memory_(other.memory_),
      window_(std::move(other.window_)),
      window_start_(other.window_start_),
      window_size_(other.window_size_) {}

Source::~Source() {
  if (file_ >= 0) ::close(file_);
}

const uint8_t* Source::view(uint64_t offset, size_t count) {
  if (offset > size_ || count > size_ - offset || count > kWindowBytes) return nullptr;
  if (file_ < 0) return memory_ + offset;
  if (offset < window_start_ || offset + count > window_start_ + window_size_) {
    window_start_ = offset;
    window_size_ = 0;
    while (window_size_ < count) {
      const ssize_t got = ::pread(file_, window_.get() + window_size_, kWindowBytes - window_size_,
                                  static_cast<off_t>(offset + window_size_));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return nullptr;
      window_size_ += static_cast<size_t>(got);
    }
  }
  return window_.get() + (offset - window_start_);
}

bool Cursor::fail(const std::string& text) {
  if (problem_->empty()) *problem_ = text + " at byte " + std::to_string(at_);
  at_ = end_;
  return false;
}

bool Cursor::varint(uint64_t* value) {
  const size_t available = static_cast<size_t>(std::min<uint64_t>(kVarintBytes, end_ - at_));
  const uint8_t* bytes = source_->view(at_, available);
  if (bytes == nullptr) return fail("the file cannot be read");
  uint64_t result = 0;
  for (size_t i = 0; i < available; ++i) {
    result |= static_cast<uint64_t>(bytes[i] & 0x7f) << (7 * i);
    if ((bytes[i] & 0x80) == 0) {
      *value = result;
      at_ += i + 1;
      return true;
    }
  }
  return fail(available < kVarintBytes ? "a number is cut off" : "a number is longer than 64 bits");
}

bool Cursor::fixed32(uint32_t* value) {
  if (end_ - at_ < sizeof(*value)) return fail("a number is cut off");
  const uint8_t* bytes = source_->view(at_, sizeof(*value));
  if (bytes == nullptr) return fail("the file cannot be read");
  std::memcpy(value, bytes, sizeof(*value));
  at_ += sizeof(*value);
  return true;
}

bool Cursor::fixed64(uint64_t* value) {
  if (end_ - at_ < sizeof(*value)) return fail("a number is cut off");
  const uint8_t* bytes = source_->view(at_, sizeof(*value));
  if (bytes == nullptr) return fail("the file cannot be read");
  std::memcpy(value, bytes, sizeof(*value));
  at_ += sizeof(*value);
  return true;
}

bool Cursor::next(Field* field) {
  if (!problem_->empty() || at_ >= end_) return false;
  uint64_t key = 0;
  if (!varint(&key)) return false;
  if (key >> 3 == 0 || key >> 32 != 0) return fail("a field has an impossible number");
  *field = {static_cast<uint32_t>(key >> 3), static_cast<uint32_t>(key & 7), 0, 0, 0};
  uint32_t small = 0;
  uint64_t length = 0;
  switch (field->type) {
    case kVarint:
      return varint(&field->value);
    case kFixed64:
      return fixed64(&field->value);
    case kFixed32:
      if (!fixed32(&small)) return false;
      field->value = small;
      return true;
    case kLength:
      if (!varint(&length)) return false;
      if (length > end_ - at_) {
        return fail("field " + std::to_string(field->number) + " claims " + std::to_string(length) +
                    " bytes where " + std::to_string(end_ - at_) + " are left,");
      }
      field->begin = at_;
      field->end = at_ + length;
      at_ = field->end;
      return true;
    default:
      return fail("a field has an impossible type");
  }
}

void put_varint(std::string* out, uint64_t value) {
  while (value >= 0x80) {
    out->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out->push_back(static_cast<char>(value));
}

void put_integer(std::string* out, uint32_t number, int64_t value) {
  put_varint(out, uint64_t{number} << 3 | kVarint);
  put_varint(out, static_cast<uint64_t>(value));
}

void put_float(std::string* out, uint32_t number, float value) {
  put_varint(out, uint64_t{number} << 3 | kFixed32);
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  for (int shift = 0; shift < 32; shift += 8) out->push_back(static_cast<char>(bits >> shift));
}

void put_fixed64(std::string* out, uint32_t number, uint64_t value) {
  put_varint(out, uint64_t{number} << 3 | kFixed64);
  for (int shift = 0; shift < 64; shift += 8) out->push_back(static_cast<char>(value >> shift));
}

void put_double(std::string* out, uint32_t number, double value) {
  put_fixed64(out, number, std::bit_cast<uint64_t>(value));
}

void put_header(std::string* out, uint32_t number, uint64_t length) {
  put_varint(out, uint64_t{number} << 3 | kLength);
  put_varint(out, length);
}

void put_bytes(std::string* out, uint32_t number, std::string_view bytes) {
  put_header(out, number, bytes.size());
  out->append(bytes);
}

}  // namespace xsp::formats::wire
