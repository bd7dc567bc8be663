// Wire: the protocol between a process that queries a file and the process that reads it, as bytes
// over a socket. For src/desk/store alone.
//
// It believes nothing: lengths are read as far as bytes come, an answer is at most four times the
// memory of its queries, and a process that sends nonsense is ended.
#ifndef XSP_DESK_STORE_WIRE_H_
#define XSP_DESK_STORE_WIRE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "desk/store/database.h"
#include "shared/base/result.h"

namespace xsp::store {

constexpr int kSocket = 3;  // descriptor of the socket in the process that reads the file

// The first byte of each message.
enum class Word : uint8_t {
  kOpen = 1,   // path, spill folder, memory, threads
  kQuery,      // SQL, parameters, Rows
  kInterrupt,  // interrupts the running query
  kOk,         // an answer, and its end if it has no rows
  kError,      // code, text
  kColumns,    // the columns of a table
  kRow,        // one row of it
};

// The rows of a query that are wanted.
enum class Rows : uint8_t {
  kNone = 0,
  kAll = 1,
  kStreamed = 2,  // all, each as soon as it is computed
};

// Writes to a socket, through a buffer.
class WireWriter {
 public:
  explicit WireWriter(int fd) : fd_(fd) {}
  void word(Word word) { byte(static_cast<uint8_t>(word)); }
  void byte(uint8_t value);
  void number(uint64_t value);
  void text(std::string_view value);
  void value(const Value& value);
  void error(const Error& error);
  // Returns false if the other side has gone.
  bool flush();

 private:
  int fd_;
  bool is_open_ = true;
  std::string buffer_;
};

// Reads from a socket. The other side is not trusted: once a value is invalid, or `fill` returns no
// more bytes, ok() is false and every read returns an empty value.
class WireReader {
 public:
  // Reads up to `size` bytes. Returns 0 if no more will come.
  using Fill = std::function<size_t(char* to, size_t size)>;
  explicit WireReader(Fill fill) : fill_(std::move(fill)) {}
  // Sets how many bytes may be read from now on.
  void limit(uint64_t bytes) { left_ = bytes; }

  bool ok() const { return is_ok_; }
  bool is_over_limit() const { return is_over_limit_; }
  Word word() { return static_cast<Word>(byte()); }
  uint8_t byte();
  uint64_t number();
  std::string text();
  Value value();
  Error error();
  void fail() { is_ok_ = false; }

 private:
  bool read(char* to, size_t size);

  Fill fill_;
  bool is_ok_ = true;
  bool is_over_limit_ = false;
  uint64_t left_ = UINT64_MAX;
  std::string buffer_;
  size_t at_ = 0;
};

}  // namespace xsp::store

#endif  // XSP_DESK_STORE_WIRE_H_
