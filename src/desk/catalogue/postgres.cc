// A catalogue on a PostgreSQL server, by libpq.
#include <charconv>
#include <memory>

#include "desk/catalogue/engine.h"
#include "desk/catalogue/functions.h"

namespace xsp::catalogue {
namespace {

// libpq's interface (postgresql.org/docs/15/libpq.html), as far as it is used.
struct PGconn;
struct PGresult;
constexpr int kConnectionOk = 0;
constexpr int kCommandOk = 1;
constexpr int kTuplesOk = 2;
// Object identifiers of types (pg_type.dat).
constexpr unsigned kBool = 16;
constexpr unsigned kInt8 = 20, kInt2 = 21, kInt4 = 23;
constexpr unsigned kFloat4 = 700, kFloat8 = 701, kNumeric = 1700;
constexpr int kSqlState = 'C';  // PG_DIAG_SQLSTATE
constexpr int kMessage = 'M';   // PG_DIAG_MESSAGE_PRIMARY

struct Functions {
  PGconn* (*connect)(const char* address);
  void (*finish)(PGconn* connection);
  void (*reset)(PGconn* connection);
  int (*status)(const PGconn* connection);
  char* (*error)(const PGconn* connection);
  PGresult* (*exec)(PGconn* connection, const char* sql, int parameters, const unsigned* types,
                    const char* const* values, const int* lengths, const int* formats, int format);
  int (*result_status)(const PGresult* result);
  char* (*field)(const PGresult* result, int code);
  int (*rows)(const PGresult* result);
  int (*columns)(const PGresult* result);
  char* (*name)(const PGresult* result, int column);
  unsigned (*type)(const PGresult* result, int column);
  int (*is_null)(const PGresult* result, int row, int column);
  char* (*value)(const PGresult* result, int row, int column);
  int (*length)(const PGresult* result, int row, int column);
  void (*clear)(PGresult* result);
  void (*(*on_notice)(PGconn* connection, void (*take)(void*, const char*), void*))(void*,
                                                                                    const char*);
};

Result<Functions> load() {
  XSP_TRY(void* const library, load_library("libpq.so.5", "libpq5"));
  Functions f{};
  const bool has_all =
      find_function(library, "PQconnectdb", f.connect) &&
      find_function(library, "PQfinish", f.finish) && find_function(library, "PQreset", f.reset) &&
      find_function(library, "PQstatus", f.status) &&
      find_function(library, "PQerrorMessage", f.error) &&
      find_function(library, "PQexecParams", f.exec) &&
      find_function(library, "PQresultStatus", f.result_status) &&
      find_function(library, "PQresultErrorField", f.field) &&
      find_function(library, "PQntuples", f.rows) &&
      find_function(library, "PQnfields", f.columns) && find_function(library, "PQfname", f.name) &&
      find_function(library, "PQftype", f.type) &&
      find_function(library, "PQgetisnull", f.is_null) &&
      find_function(library, "PQgetvalue", f.value) &&
      find_function(library, "PQgetlength", f.length) &&
      find_function(library, "PQclear", f.clear) &&
      find_function(library, "PQsetNoticeProcessor", f.on_notice);
  if (!has_all) return not_available("libpq.so.5: too old: it lacks functions that xsp uses");
  return f;
}

const Result<Functions>& functions() {
  static const Result<Functions> loaded = load();
  return loaded;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// Returns a double so that reading it gives the same double.
std::string text_of(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

const char* name_of(unsigned type) {
  switch (type) {
    case kBool:
      return "BOOLEAN";
    case kInt2:
    case kInt4:
    case kInt8:
      return "BIGINT";
    case kFloat4:
    case kFloat8:
    case kNumeric:
      return "DOUBLE PRECISION";
    default:
      return "TEXT";
  }
}

class Postgres : public Engine {
 public:
  Postgres(const Functions& functions, const std::string& address)
      : pq_(functions), connection_(functions.connect(address.c_str())) {}
  ~Postgres() override { pq_.finish(connection_); }

  const char* now() const override {
    return "CAST(extract(epoch FROM clock_timestamp()) AS DOUBLE PRECISION)";
  }
  bool is_connected() const override {
    return !is_lost_ && pq_.status(connection_) == kConnectionOk;
  }
  Status reconnect() override {
    pq_.reset(connection_);
    is_lost_ = false;
    return connected();
  }
  // The address may contain a password, so no error shows it.
  Status connected() {
    if (!is_connected()) return failed("PostgreSQL: " + first_line(pq_.error(connection_)));
    pq_.on_notice(
        connection_, [](void*, const char*) {}, nullptr);
    return Ok{};
  }

  Result<store::Table> query(std::string_view sql, const Cells& parameters) override {
    std::vector<std::string> texts;
    texts.reserve(parameters.size());
    std::vector<const char*> values;
    for (const store::Value& value : parameters) {
      texts.push_back(text(value));
      const bool is_null = std::holds_alternative<std::monostate>(value);
      values.push_back(is_null ? nullptr : texts.back().c_str());
    }
    const std::unique_ptr<PGresult, void (*)(PGresult*)> result(
        pq_.exec(connection_, std::string(sql).c_str(), static_cast<int>(values.size()), nullptr,
                 values.data(), nullptr, nullptr, 0),
        pq_.clear);
    const int status = pq_.result_status(result.get());
    if (status != kCommandOk && status != kTuplesOk) {
      is_lost_ = is_lost_ || is_end(result.get());
      return problem(result.get());
    }
    return rows_of(result.get());
  }

  // The lock lasts until the transaction ends, and makes other writers wait, but no readers.
  Status begin_write() override {
    const auto begun = query("BEGIN", {});
    if (!begun.ok()) return begun.error();
    const auto locked = query("SELECT pg_advisory_xact_lock($1)", {kLock});
    if (locked.ok()) return Ok{};
    (void)query("ROLLBACK", {});
    return locked.error();
  }
  Status begin_read() override {
    const auto begun = query("BEGIN READ ONLY", {});
    return begun.ok() ? Status(Ok{}) : Status(begun.error());
  }

 private:
  static constexpr int64_t kLock = 0x787370;  // "xsp"

  static std::string text(const store::Value& value) {
    if (const auto* whole = std::get_if<int64_t>(&value)) return std::to_string(*whole);
    if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
    if (const auto* real = std::get_if<double>(&value)) return text_of(*real);
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    return {};
  }

  // Returns whether the failure is that of the connection. libpq itself takes one for good until it
  // reads from it, even if it could not write to it. An error without a state is libpq's own; class
  // 57P: the server stops, or starts.
  bool is_end(const PGresult* result) const {
    const char* state = result == nullptr ? nullptr : pq_.field(result, kSqlState);
    return state == nullptr || std::string_view(state).starts_with("57P");
  }

  Error problem(const PGresult* result) const {
    const char* state = result == nullptr ? nullptr : pq_.field(result, kSqlState);
    const char* message = result == nullptr ? nullptr : pq_.field(result, kMessage);
    const std::string text =
        message != nullptr ? first_line(message) : first_line(pq_.error(connection_));
    // Class 42: a syntax error, or a name that does not exist.
    const bool is_wrong = state != nullptr && std::string_view(state).starts_with("42");
    return is_wrong ? usage("SQL: " + text) : failed("PostgreSQL: " + text);
  }

  Result<store::Table> rows_of(const PGresult* result) const {
    store::Table table;
    const int columns = pq_.columns(result);
    for (int c = 0; c < columns; ++c) {
      table.columns.push_back({pq_.name(result, c), name_of(pq_.type(result, c))});
    }
    for (int r = 0; r < pq_.rows(result); ++r) {
      std::vector<store::Value> row;
      for (int c = 0; c < columns; ++c) row.push_back(cell(result, r, c));
      table.rows.push_back(std::move(row));
    }
    return table;
  }

  store::Value cell(const PGresult* result, int row, int column) const {
    if (pq_.is_null(result, row, column) != 0) return std::monostate{};
    const char* const begin = pq_.value(result, row, column);
    const char* const end = begin + pq_.length(result, row, column);
    switch (pq_.type(result, column)) {
      case kBool:
        return *begin == 't';
      case kInt2:
      case kInt4:
      case kInt8: {
        int64_t whole = 0;
        std::from_chars(begin, end, whole);
        return whole;
      }
      case kFloat4:
      case kFloat8:
      case kNumeric: {
        double real = 0;
        std::from_chars(begin, end, real);
        return real;
      }
      default:
        return std::string(begin, end);
    }
  }

  const Functions& pq_;
  PGconn* connection_;
  bool is_lost_ = false;
};

}  // namespace

Result<std::unique_ptr<Engine>> open_postgres(const std::string& address) {
  if (!functions().ok()) return functions().error();
  auto engine = std::make_unique<Postgres>(*functions(), address);
  XSP_CHECK_OK(engine->connected());
  return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace xsp::catalogue
