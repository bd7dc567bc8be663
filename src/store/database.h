// Database: an .xsp file, opened for reading or for writing. The only face of DuckDB.
//
// Thread rule: one thread at a time per Database.
#ifndef XSP_STORE_DATABASE_H_
#define XSP_STORE_DATABASE_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace xsp::store {

// One cell: NULL, a truth value, an integer, a double, or text. Other types of DuckDB (lists,
// dates, decimals, ...) come as their text, except HUGEINT and DECIMAL, which come as doubles.
using Value = std::variant<std::monostate, bool, int64_t, double, std::string>;

struct Column {
  std::string name;
  std::string type;  // DuckDB's name of it: "BIGINT", "DOUBLE", "VARCHAR", ...
};

struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<Value>> rows;  // each as long as `columns`
};

// The latest version of the tables; this xsp reads all up to it. Kept as `xsp_format` in the table
// evaluation. 1: schema.sql alone, as create() leaves it; 2: with spans.sql, as ingest() does.
inline constexpr int kFormat = 2;

// What a database that is read may take; 0: what the machine has, or any time.
struct ReadLimits {
  uint64_t memory_bytes = 0;  // queries that need more spill to files, of four times as much
  int threads = 0;
  // Of a file that a process of its own reads: for opening it, and for each query.
  std::chrono::milliseconds open{30'000};
  std::chrono::milliseconds query{600'000};
  const std::atomic<bool>* stop = nullptr;  // once it is true, answers have two seconds
};

class QueryResult;

class Database {
 public:
  // Opens an existing .xsp file for reading. Refuses, in one line: a missing file, one that is not
  // a DuckDB database, one without xsp's tables, one written by a newer xsp. Where read_apart() was
  // called (apart.h), a process of its own reads it, and what it does there ends there.
  static Result<Database> open(const std::filesystem::path& path, const ReadLimits& limits = {});
  // Creates a new .xsp file with the schema, for writing. It is written as PATH.partial beside it,
  // and replaces what is at PATH only when it is complete: see finish(). Without finish() it is
  // removed with the Database; one that a killed process left is removed by the next create().
  // Refuses a folder that cannot be written, and a PATH that another process is writing.
  static Result<Database> create(const std::filesystem::path& path);
  // A database in memory, with the schema: for tests.
  static Result<Database> in_memory();

  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();

  // Runs statements; the last one's rows are the result. `parameters` replace $name in them. On a
  // database opened for reading, a statement that would write fails, and files other than the .xsp
  // itself cannot be read or written by SQL.
  Result<Table> query(std::string_view sql, const std::map<std::string, Value>& parameters = {});
  // Runs statements for their effect.
  Status execute(std::string_view sql);
  // Was it opened for reading? Then nothing in it changes.
  bool reads_only() const;
  // Makes the statement that runs, if any, fail soon. Any thread may call it.
  void interrupt();
  // False: whatever is asked fails, as the process that read the file has ended.
  bool is_alive() const;
  // Makes what was written durable and moves it to the path given to create(). Nothing can be
  // written or read after it. Without create() it does nothing.
  Status finish();

  // For src/store alone.
  struct State;
  State& state() { return *state_; }
  // open(), in this process.
  static Result<Database> open_here(const std::filesystem::path& path, const ReadLimits& limits,
                                    const std::filesystem::path& spill);
  Status run(std::string_view sql, const std::map<std::string, Value>& parameters,
             QueryResult& result);

 private:
  explicit Database(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace xsp::store

#endif  // XSP_STORE_DATABASE_H_
