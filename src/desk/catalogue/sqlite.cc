// A catalogue in one file, by SQLite.
//
// The journal is SQLite's default, not its write-ahead log, which needs memory that all writers
// share, and so fails on the network file systems where results often are.
#include <memory>

#include "desk/catalogue/engine.h"
#include "desk/catalogue/functions.h"

namespace xsp::catalogue {
namespace {

// SQLite's interface (sqlite.org/c3ref), as far as it is used.
struct sqlite3;
struct sqlite3_stmt;
constexpr int kOk = 0;
constexpr int kRow = 100;
constexpr int kDone = 101;
constexpr int kOpenExisting =
    0x2;  // SQLITE_OPEN_READWRITE; of a file that may not be written, reading
constexpr int kOpenAny = 0x2 | 0x4;        // and SQLITE_OPEN_CREATE
constexpr int kOneThreadAtATime = 0x8000;  // SQLITE_OPEN_NOMUTEX: see engine.h
enum Type { kInteger = 1, kFloat = 2, kText = 3, kBlob = 4, kNull = 5 };
constexpr int kBusyMs = 60'000;  // the longest wait for other writers

struct Functions {
  int (*open)(const char* path, sqlite3** database, int flags, const char* vfs);
  int (*close)(sqlite3* database);
  int (*busy_timeout)(sqlite3* database, int ms);
  const char* (*errmsg)(sqlite3* database);
  int (*prepare)(sqlite3* database, const char* sql, int bytes, sqlite3_stmt** statement,
                 const char** tail);
  int (*bind_null)(sqlite3_stmt* statement, int index);
  int (*bind_int64)(sqlite3_stmt* statement, int index, long long value);
  int (*bind_double)(sqlite3_stmt* statement, int index, double value);
  int (*bind_text)(sqlite3_stmt* statement, int index, const char* text, int bytes,
                   void (*destroy)(void*));
  int (*bind_index)(sqlite3_stmt* statement, const char* name);
  int (*step)(sqlite3_stmt* statement);
  int (*finalize)(sqlite3_stmt* statement);
  int (*column_count)(sqlite3_stmt* statement);
  const char* (*column_name)(sqlite3_stmt* statement, int column);
  const char* (*column_decltype)(sqlite3_stmt* statement, int column);
  int (*column_type)(sqlite3_stmt* statement, int column);
  long long (*column_int64)(sqlite3_stmt* statement, int column);
  double (*column_double)(sqlite3_stmt* statement, int column);
  const unsigned char* (*column_text)(sqlite3_stmt* statement, int column);
  int (*column_bytes)(sqlite3_stmt* statement, int column);
};

Result<Functions> load() {
  XSP_TRY(void* const library, load_library("libsqlite3.so.0", "libsqlite3-0"));
  Functions f{};
  const bool has_all = find_function(library, "sqlite3_open_v2", f.open) &&
                       find_function(library, "sqlite3_close_v2", f.close) &&
                       find_function(library, "sqlite3_busy_timeout", f.busy_timeout) &&
                       find_function(library, "sqlite3_errmsg", f.errmsg) &&
                       find_function(library, "sqlite3_prepare_v2", f.prepare) &&
                       find_function(library, "sqlite3_bind_null", f.bind_null) &&
                       find_function(library, "sqlite3_bind_int64", f.bind_int64) &&
                       find_function(library, "sqlite3_bind_double", f.bind_double) &&
                       find_function(library, "sqlite3_bind_text", f.bind_text) &&
                       find_function(library, "sqlite3_bind_parameter_index", f.bind_index) &&
                       find_function(library, "sqlite3_step", f.step) &&
                       find_function(library, "sqlite3_finalize", f.finalize) &&
                       find_function(library, "sqlite3_column_count", f.column_count) &&
                       find_function(library, "sqlite3_column_name", f.column_name) &&
                       find_function(library, "sqlite3_column_decltype", f.column_decltype) &&
                       find_function(library, "sqlite3_column_type", f.column_type) &&
                       find_function(library, "sqlite3_column_int64", f.column_int64) &&
                       find_function(library, "sqlite3_column_double", f.column_double) &&
                       find_function(library, "sqlite3_column_text", f.column_text) &&
                       find_function(library, "sqlite3_column_bytes", f.column_bytes);
  if (!has_all) return not_available("libsqlite3.so.0: too old: it lacks functions that xsp uses");
  return f;
}

const Result<Functions>& functions() {
  static const Result<Functions> loaded = load();
  return loaded;
}

class Sqlite : public Engine {
 public:
  Sqlite(const Functions& functions, std::string path)
      : sqlite_(functions), path_(std::move(path)) {}
  ~Sqlite() override { sqlite_.close(database_); }

  Status open(bool is_for_reading) {
    // A reader may write, too: after a writer was killed, the first to open the file rolls the
    // unfinished transaction back.
    const int flags = (is_for_reading ? kOpenExisting : kOpenAny) | kOneThreadAtATime;
    if (sqlite_.open(path_.c_str(), &database_, flags, nullptr) != kOk) return problem();
    sqlite_.busy_timeout(database_, kBusyMs);
    // SQLite reads the file with the first statement. This one finds out whether it is a database.
    const auto read = query("SELECT count(*) FROM sqlite_master", {});
    if (!read.ok()) return read.error();
    if (!is_for_reading) return Ok{};
    const auto limited = query("PRAGMA query_only = 1", {});
    return limited.ok() ? Status(Ok{}) : Status(limited.error());
  }

  Result<store::Table> query(std::string_view sql, const Cells& parameters) override {
    sqlite3_stmt* statement = nullptr;
    const char* tail = nullptr;
    const int made =
        sqlite_.prepare(database_, sql.data(), static_cast<int>(sql.size()), &statement, &tail);
    if (made != kOk) return usage_or_problem();
    const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> owner(statement, sqlite_.finalize);
    if (statement == nullptr) return usage("SQL: empty: give a statement");
    const std::string_view rest(tail, static_cast<size_t>(sql.data() + sql.size() - tail));
    if (rest.find_first_not_of(" \t\r\n;") != std::string_view::npos) {
      return usage("SQL: more than one statement: give one");
    }
    for (size_t i = 0; i < parameters.size(); ++i) bind(statement, i, parameters[i]);
    return rows_of(statement);
  }

  Status begin_write() override {
    const auto begun = query("BEGIN IMMEDIATE", {});
    return begun.ok() ? Status(Ok{}) : Status(begun.error());
  }
  Status begin_read() override {
    const auto begun = query("BEGIN", {});
    return begun.ok() ? Status(Ok{}) : Status(begun.error());
  }
  const char* now() const override { return "((julianday('now') - 2440587.5) * 86400.0)"; }
  bool is_connected() const override { return true; }
  Status reconnect() override { return Ok{}; }

 private:
  Error problem() const { return failed(path_ + ": " + sqlite_.errmsg(database_)); }
  // A statement that cannot be prepared is wrong, unless the file is.
  Error usage_or_problem() const {
    const std::string text = sqlite_.errmsg(database_);
    const bool is_file = text.find("database") != std::string::npos;
    return is_file ? failed(path_ + ": " + text) : usage("SQL: " + text);
  }

  void bind(sqlite3_stmt* statement, size_t number, const store::Value& value) {
    const int index = sqlite_.bind_index(statement, ("$" + std::to_string(number + 1)).c_str());
    if (const auto* whole = std::get_if<int64_t>(&value)) {
      sqlite_.bind_int64(statement, index, *whole);
    } else if (const auto* flag = std::get_if<bool>(&value)) {
      sqlite_.bind_int64(statement, index, *flag ? 1 : 0);
    } else if (const auto* real = std::get_if<double>(&value)) {
      sqlite_.bind_double(statement, index, *real);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      sqlite_.bind_text(statement, index, text->data(), static_cast<int>(text->size()), nullptr);
    } else {
      sqlite_.bind_null(statement, index);
    }
  }

  Result<store::Table> rows_of(sqlite3_stmt* statement) {
    store::Table table;
    const int columns = sqlite_.column_count(statement);
    for (int c = 0; c < columns; ++c) {
      const char* type = sqlite_.column_decltype(statement, c);
      table.columns.push_back({sqlite_.column_name(statement, c), type == nullptr ? "" : type});
    }
    int state = kRow;
    while ((state = sqlite_.step(statement)) == kRow) {
      std::vector<store::Value> row;
      row.reserve(static_cast<size_t>(columns));
      for (int c = 0; c < columns; ++c) row.push_back(cell(statement, c));
      table.rows.push_back(std::move(row));
    }
    if (state != kDone) return problem();
    return table;
  }

  store::Value cell(sqlite3_stmt* statement, int column) {
    switch (sqlite_.column_type(statement, column)) {
      case kInteger:
        return static_cast<int64_t>(sqlite_.column_int64(statement, column));
      case kFloat:
        return sqlite_.column_double(statement, column);
      case kNull:
        return std::monostate{};
      default: {
        const auto* text = reinterpret_cast<const char*>(sqlite_.column_text(statement, column));
        return std::string(text, static_cast<size_t>(sqlite_.column_bytes(statement, column)));
      }
    }
  }

  const Functions& sqlite_;
  std::string path_;
  sqlite3* database_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<Engine>> open_sqlite(const std::string& path, bool is_for_reading) {
  if (!functions().ok()) return functions().error();
  auto engine = std::make_unique<Sqlite>(*functions(), path);
  XSP_CHECK_OK(engine->open(is_for_reading));
  return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace xsp::catalogue
