// DuckDB's C API, wrapped: owned handles, errors in one line, cells. For src/desk/store alone.
#ifndef XSP_DESK_STORE_DUCK_H_
#define XSP_DESK_STORE_DUCK_H_

#include <duckdb.h>

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "desk/store/database.h"
#include "shared/base/result.h"
#include "shared/base/scratch.h"

namespace xsp::store {

extern const std::string_view kSchemaSql;   // schema.sql
extern const std::string_view kSpansSql;    // spans.sql
extern const std::string_view kSamplesSql;  // samples.sql

// Owns one handle of DuckDB's and destroys it.
template <typename T, auto Destroy>
class Handle {
 public:
  Handle() = default;
  explicit Handle(T handle) : handle_(handle) {}
  Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    reset();
    handle_ = std::exchange(other.handle_, nullptr);
    return *this;
  }
  ~Handle() { reset(); }

  T get() const { return handle_; }
  T* out() {  // for functions that return a handle through a pointer
    reset();
    return &handle_;
  }
  void reset() {
    if (handle_ != nullptr) Destroy(&handle_);
    handle_ = nullptr;
  }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  T handle_ = nullptr;
};

using DatabaseHandle = Handle<duckdb_database, duckdb_close>;
using Connection = Handle<duckdb_connection, duckdb_disconnect>;
using Config = Handle<duckdb_config, duckdb_destroy_config>;
using Statement = Handle<duckdb_prepared_statement, duckdb_destroy_prepare>;
using Statements = Handle<duckdb_extracted_statements, duckdb_destroy_extracted>;
using Chunk = Handle<duckdb_data_chunk, duckdb_destroy_data_chunk>;
using LogicalType = Handle<duckdb_logical_type, duckdb_destroy_logical_type>;
using CellValue = Handle<duckdb_value, duckdb_destroy_value>;
using TableFunction = Handle<duckdb_table_function, duckdb_destroy_table_function>;
using Pending = Handle<duckdb_pending_result, duckdb_destroy_pending>;
using Appender = Handle<duckdb_appender, duckdb_appender_destroy>;

// A selection vector, which DuckDB destroys by value.
class Selection {
 public:
  explicit Selection(duckdb_selection_vector selection) : selection_(selection) {}
  Selection(const Selection&) = delete;
  Selection& operator=(const Selection&) = delete;
  ~Selection() { duckdb_destroy_selection_vector(selection_); }
  duckdb_selection_vector get() const { return selection_; }

 private:
  duckdb_selection_vector selection_;
};

// A result, whether the query succeeded or not.
class QueryResult {
 public:
  QueryResult() = default;
  QueryResult(const QueryResult&) = delete;
  QueryResult& operator=(const QueryResult&) = delete;
  ~QueryResult() { reset(); }
  void reset() {
    duckdb_destroy_result(&result);
    result = {};
  }

  duckdb_result result{};
};

// Shortens a DuckDB message to one line: without the quoted statement, the caret and stack traces.
std::string condense(std::string_view message);
// Returns the error of a failed statement on a database called `name`, in one line: `what: why:
// what to do`.
Error query_error(std::string_view name, std::string_view message);
// Returns the error of a file that could not be opened.
Error open_error(std::string_view path, std::string_view message);

// Returns DuckDB's name of a type: "BIGINT", "VARCHAR", "LIST", ...
std::string type_name(duckdb_type type);

// Reads the rows of a result in parts, and uses up the result.
class ResultRows {
 public:
  explicit ResultRows(duckdb_result& result);
  const std::vector<Column>& columns() const { return columns_; }
  // Returns false if there are no more rows.
  bool next(std::vector<std::vector<Value>>* rows);
  // Fails if a streamed result ended early, because computing its rows failed. Errors call the
  // database `name`.
  Status check(std::string_view name) const;

 private:
  duckdb_result& result_;
  std::vector<LogicalType> types_;
  std::vector<Column> columns_;
};

class Apart;
class SpanSource;

struct Database::State {
  std::unique_ptr<ScratchFolder> spill;  // must be destroyed after the database
  std::unique_ptr<Apart> apart;          // open(): the separate process that reads the file, if any
  // The connection is destroyed before its database.
  DatabaseHandle database;
  Connection connection;
  std::string name;                   // errors call the database by this name: its path
  bool reads_only = false;            // open(): users write the SQL
  bool may_copy = false;              // COPY statements may write files: see copies.h
  std::set<std::string> loaded;       // see Database::loaded()
  uint64_t replaced_texts = 0;        // written texts that were not valid: see base/text.h
  bool has_span_function = false;     // see span_source.h
  SpanSource* span_source = nullptr;  // the spans that the function returns
  std::filesystem::path path;         // create(): the final path of the file; else empty
  std::filesystem::path partial;
  int lock = -1;  // lock on the output path while the file is written

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();  // removes an unfinished file
};

}  // namespace xsp::store

#endif  // XSP_DESK_STORE_DUCK_H_
