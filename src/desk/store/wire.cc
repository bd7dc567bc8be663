#include "desk/store/wire.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace xsp::store {
namespace {

constexpr size_t kBufferBytes = 64 << 10;

}  // namespace

bool WireWriter::flush() {
  std::string_view left = buffer_;
  while (is_open_ && !left.empty()) {
    // MSG_NOSIGNAL: if the other side has gone, SIGPIPE would end this process.
    const ssize_t written = ::send(fd_, left.data(), left.size(), MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) is_open_ = false;
    if (written > 0) left.remove_prefix(static_cast<size_t>(written));
  }
  buffer_.clear();
  return is_open_;
}

void WireWriter::byte(uint8_t value) {
  buffer_ += static_cast<char>(value);
  if (buffer_.size() >= kBufferBytes) flush();
}

void WireWriter::number(uint64_t value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  buffer_.append(bytes, sizeof bytes);
}

void WireWriter::text(std::string_view value) {
  number(value.size());
  buffer_ += value;
  if (buffer_.size() >= kBufferBytes) flush();
}

void WireWriter::value(const Value& value) {
  byte(static_cast<uint8_t>(value.index()));
  if (const auto* flag = std::get_if<bool>(&value)) byte(*flag ? 1 : 0);
  if (const auto* integer = std::get_if<int64_t>(&value)) number(static_cast<uint64_t>(*integer));
  if (const auto* real = std::get_if<double>(&value)) {
    uint64_t bits;
    std::memcpy(&bits, real, sizeof bits);
    number(bits);
  }
  if (const auto* words = std::get_if<std::string>(&value)) text(*words);
}

void WireWriter::error(const Error& error) {
  word(Word::kError);
  byte(static_cast<uint8_t>(error.code));
  text(error.text);
}

bool WireReader::read(char* to, size_t size) {
  if (size > left_) {
    is_over_limit_ = true;
    is_ok_ = false;
  }
  while (is_ok_ && size > 0) {
    if (at_ == buffer_.size()) {
      buffer_.resize(kBufferBytes);
      buffer_.resize(fill_(buffer_.data(), buffer_.size()));
      at_ = 0;
      if (buffer_.empty()) is_ok_ = false;
      continue;
    }
    const size_t some = std::min(size, buffer_.size() - at_);
    std::memcpy(to, buffer_.data() + at_, some);
    at_ += some;
    to += some;
    size -= some;
    left_ -= some;
  }
  return is_ok_;
}

uint8_t WireReader::byte() {
  char value = 0;
  return read(&value, 1) ? static_cast<uint8_t>(value) : 0;
}

uint64_t WireReader::number() {
  uint64_t value = 0;
  return read(reinterpret_cast<char*>(&value), sizeof value) ? value : 0;
}

std::string WireReader::text() {
  uint64_t left = number();
  std::string text;
  // The buffer grows only with the received bytes, because the claimed length is not trusted.
  while (is_ok_ && left > 0) {
    const size_t some = std::min<uint64_t>(left, kBufferBytes);
    const size_t had = text.size();
    text.resize(had + some);
    if (!read(text.data() + had, some)) return {};
    left -= some;
  }
  return text;
}

Value WireReader::value() {
  switch (byte()) {
    case 0:
      return std::monostate();
    case 1:
      return byte() != 0;
    case 2:
      return static_cast<int64_t>(number());
    case 3: {
      const uint64_t bits = number();
      double real;
      std::memcpy(&real, &bits, sizeof real);
      return real;
    }
    case 4:
      return text();
    default:
      fail();
      return std::monostate();
  }
}

Error WireReader::error() {
  const uint8_t code = byte();
  if (code > static_cast<uint8_t>(Code::kInterrupted)) fail();
  Error error{is_ok_ ? static_cast<Code>(code) : Code::kCorrupt, text()};
  return error;
}

}  // namespace xsp::store
