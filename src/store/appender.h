// Appending rows to a table by column vectors, through DuckDB's appender. For src/store alone.
#ifndef XSP_STORE_APPENDER_H_
#define XSP_STORE_APPENDER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "store/duck.h"

namespace xsp::store {

// A text as DuckDB lays it out in a vector: 16 bytes which hold a short text, or point to a long
// one. The long one must stay where it is until the vector has been appended.
duckdb_string_t borrow_text(std::string_view text);

// A text, as it can be kept (see base/text.h), which can be borrowed as long as this is where it
// is. DuckDB's text must be UTF-8.
class BorrowedText {
 public:
  BorrowedText() = default;
  BorrowedText(std::string_view text, uint64_t& replaced) : text_(keep_text(text, replaced)) {}
  duckdb_string_t get() const { return borrow_text(text_); }
  bool is_empty() const { return text_.empty(); }

 private:
  std::string text_;
};

// Rows of one table. Columns are filled vector by vector; a full vector (duckdb_vector_size() rows)
// must be appended before the next row begins.
class TableAppender {
 public:
  // `name` is what errors call the database.
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
  // Hands over what is still buffered. Nothing can be appended after it.
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

// Rows of (run, span or site, key, text or number): the facts about spans and sites, one by one.
class FactAppender {
 public:
  static Result<FactAppender> open(duckdb_connection connection, const std::string& name,
                                   const std::string& table);
  // `key` must stay where it is until close(); `value` is kept.
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

#endif  // XSP_STORE_APPENDER_H_
