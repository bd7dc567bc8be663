// Database: an .xsp file, opened for reading or for writing. All other modules use DuckDB only
// through it.
//
// Thread rule: one thread at a time per Database.
#ifndef XSP_DESK_STORE_DATABASE_H_
#define XSP_DESK_STORE_DATABASE_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "shared/base/result.h"

namespace xsp::store {

// One cell: NULL, a truth value, an integer, a double, or text. Values of DuckDB's other types
// (lists, dates, ...) are given as their text, but HUGEINT and DECIMAL as doubles.
using Value = std::variant<std::monostate, bool, int64_t, double, std::string>;

struct Column {
  std::string name;
  std::string type;  // DuckDB's name: "BIGINT", "DOUBLE", "VARCHAR", ...
};

struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<Value>> rows;  // each as long as `columns`
};

// Receives one row of an answer. A failure ends the answer.
using TakeRow = std::function<Status(std::vector<Value>& row)>;

// The latest version of the tables; this xsp reads all versions up to it. It is stored as
// `xsp_format` in the table evaluation. 1: schema.sql alone, as create() makes it; 2: with
// spans.sql, as ingest() makes it.
inline constexpr int kFormat = 2;

// The limits on reading a database; 0: only the machine's limits, or no time limit.
struct ReadLimits {
  uint64_t memory_bytes = 0;  // queries that need more spill up to four times as much to files
  int threads = 0;
  // Time limits for opening the file and for each query. They apply if a separate process reads it.
  std::chrono::milliseconds open{30'000};
  std::chrono::milliseconds query{600'000};
  const std::atomic<bool>* stop = nullptr;  // once it is true, answers have two seconds
};

// Blocks of a file: 256 KiB each, which DuckDB reads fastest; or 64 KiB, which let a file of a few
// MiB be smaller by a third.
enum class Blocks { kLarge, kSmall };

class QueryResult;

class Database {
 public:
  // Opens an existing .xsp file for reading. Fails with a one-line message for: a missing file, a
  // file that is not a DuckDB database, one without xsp's tables, one written by a newer xsp. If
  // read_apart() was called (apart.h), a separate process reads the file, and a crash there ends
  // only that process.
  static Result<Database> open(const std::filesystem::path& path, const ReadLimits& limits = {});
  // Creates a new .xsp file with the schema, for writing. The data goes into PATH.partial, which
  // replaces PATH only when it is complete: see finish(). Without finish(), the destructor removes
  // it. A partial file that a killed process left is removed by the next create(). Fails if the
  // folder cannot be written, or if another process is writing PATH.
  static Result<Database> create(const std::filesystem::path& path, Blocks blocks = Blocks::kLarge);
  // Removes that partial file now, unless another process is writing PATH.
  static void remove_remains(const std::filesystem::path& path);
  // Makes a database in memory, with the schema, for tests.
  static Result<Database> in_memory();

  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();

  // Runs statements, and returns the rows of the last one. `parameters` replace $name in them. On a
  // database opened for reading, a statement that would write fails, and SQL cannot read or write
  // any file except the .xsp itself.
  Result<Table> query(std::string_view sql, const std::map<std::string, Value>& parameters = {});
  // Runs statements like query(), and gives the rows of the last one to `take` as they are
  // computed, so that no process holds all of them. Returns the failure of `take`, if there is one.
  // `take` must not use this database.
  Status stream(std::string_view sql, const std::map<std::string, Value>& parameters,
                const TakeRow& take);
  // Runs statements for their effect.
  Status execute(std::string_view sql);
  // Returns whether it was opened for reading. If so, its contents never change.
  bool reads_only() const;
  // Names of what callers have loaded into the session, for their own use. Empty at first.
  std::set<std::string>& loaded();
  // Makes the running statement, if any, fail soon. Any thread may call it.
  void interrupt();
  // Returns false if the process that read the file has ended; then every query fails.
  bool is_alive() const;
  // Makes the written data durable and moves the file to the path given to create(). Afterwards,
  // nothing can be written or read. Does nothing if the database was not made by create().
  Status finish();

  // For src/desk/store alone.
  struct State;
  State& state() { return *state_; }
  // Does the work of open() in this process. Statements may copy rows to files in the folder
  // `copies`; if it is empty, they may not.
  static Result<Database> open_here(const std::filesystem::path& path, const ReadLimits& limits,
                                    const std::filesystem::path& spill,
                                    const std::filesystem::path& copies = {});
  // `is_streamed`: the result gives its rows as they are computed.
  Status run(std::string_view sql, const std::map<std::string, Value>& parameters,
             QueryResult& result, bool is_streamed = false);

 private:
  explicit Database(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace xsp::store

#endif  // XSP_DESK_STORE_DATABASE_H_
