// Appends rows to a table by column vectors, through DuckDB's appender. For src/desk/store alone.
#ifndef XSP_DESK_STORE_APPENDER_H_
#define XSP_DESK_STORE_APPENDER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "desk/store/duck.h"
#include "shared/base/result.h"
#include "shared/base/text.h"

namespace xsp::store {

// Returns a text in DuckDB's vector layout: 16 bytes that hold a short text, or point to a long
// one. A long text must stay in place until the vector has been appended.
duckdb_string_t borrow_text(std::string_view text);

// A text in storable form (see base/text.h: DuckDB's text must be UTF-8), which can be borrowed
// while this object stays in place.
class BorrowedText {
 public:
  BorrowedText() = default;
  BorrowedText(std::string_view text, uint64_t& replaced) : text_(keep_text(text, replaced)) {}
  duckdb_string_t get() const { return borrow_text(text_); }
  bool is_empty() const { return text_.empty(); }

 private:
  std::string text_;
};

// Appends rows to one table. Columns are filled vector by vector; a full vector
// (duckdb_vector_size() rows) must be appended before the next row begins.
class TableAppender {
 public:
  // Errors call the database `name`.
  static Result<TableAppender> open(duckdb_connection connection, const std::string& name,
                                    const std::string& table);

  size_t capacity() const { return capacity_; }
  template <typename T>
  T* column(size_t index) {
    return static_cast<T*>(data_[index]);
  }
  void set_null(size_t index, size_t row, bool is_null);
  duckdb_type type(size_t index) const;
  // Appends the first `rows` rows of the vectors.
  Status append(size_t rows);
  // Writes the buffered rows. Nothing can be appended afterwards.
  Status close();

 private:
  TableAppender() = default;
  Status check(duckdb_state state);

  std::string name_;
  Appender appender_;
  Chunk chunk_;
  size_t capacity_ = 0;
  std::vector<void*> data_;
};

// Appends rows of (run, span or site, key, text or number): the facts about spans and sites.
class FactAppender {
 public:
  static Result<FactAppender> open(duckdb_connection connection, const std::string& name,
                                   const std::string& table);
  // Keeps a copy of `value`. `key` must stay in place until close().
  Status add(int32_t run, int64_t id, duckdb_string_t key, std::string value);
  Status add(int32_t run, int64_t id, duckdb_string_t key, double value);
  Status close();

 private:
  explicit FactAppender(TableAppender appender);
  void set_id(int64_t id);
  Status next();

  TableAppender appender_;
  bool has_wide_ids_;
  std::vector<std::string> texts_;  // of the rows in the vector
  size_t rows_ = 0;
};

}  // namespace xsp::store

#endif  // XSP_DESK_STORE_APPENDER_H_
