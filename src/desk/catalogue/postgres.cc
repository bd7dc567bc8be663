// A catalogue on a PostgreSQL server, by libpq.
//
// A server may fall silent: its machine is cut off, or halted. No wait for it is for ever, and none
// that takes long for a good reason is cut short: see Postgres::exec.
#include <poll.h>

#include <array>
#include <charconv>
#include <cstdlib>
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
constexpr int kCopyOut = 3, kCopyIn = 4;
// Object identifiers of types (pg_type.dat).
constexpr unsigned kBool = 16;
constexpr unsigned kInt8 = 20, kInt2 = 21, kInt4 = 23;
constexpr unsigned kFloat4 = 700, kFloat8 = 701, kNumeric = 1700;
constexpr int kSqlState = 'C';  // PG_DIAG_SQLSTATE
constexpr int kMessage = 'M';   // PG_DIAG_MESSAGE_PRIMARY
constexpr int kNoResponse = 2;  // PQPING_NO_RESPONSE

constexpr int kSilenceMs = 10'000;  // after which a server is asked whether it lives

struct Functions {
  PGconn* (*connect)(const char* const* names, const char* const* values, int expands);
  int (*ping)(const char* const* names, const char* const* values, int expands);
  void (*finish)(PGconn* connection);
  void (*reset)(PGconn* connection);
  int (*status)(const PGconn* connection);
  char* (*error)(const PGconn* connection);
  int (*set_nonblocking)(PGconn* connection, int is_so);
  int (*send)(PGconn* connection, const char* sql, int parameters, const unsigned* types,
              const char* const* values, const int* lengths, const int* formats, int format);
  int (*flush)(PGconn* connection);
  int (*socket)(const PGconn* connection);
  int (*consume)(PGconn* connection);
  int (*is_busy)(PGconn* connection);
  PGresult* (*result)(PGconn* connection);
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
      find_function(library, "PQconnectdbParams", f.connect) &&
      find_function(library, "PQpingParams", f.ping) &&
      find_function(library, "PQfinish", f.finish) && find_function(library, "PQreset", f.reset) &&
      find_function(library, "PQstatus", f.status) &&
      find_function(library, "PQerrorMessage", f.error) &&
      find_function(library, "PQsetnonblocking", f.set_nonblocking) &&
      find_function(library, "PQsendQueryParams", f.send) &&
      find_function(library, "PQflush", f.flush) && find_function(library, "PQsocket", f.socket) &&
      find_function(library, "PQconsumeInput", f.consume) &&
      find_function(library, "PQisBusy", f.is_busy) &&
      find_function(library, "PQgetResult", f.result) &&
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

// The address, and what holds where it says nothing else: what comes later wins.
class Parameters {
 public:
  explicit Parameters(const std::string& address)
      : values_{std::getenv("PGCONNECT_TIMEOUT") == nullptr ? "10" : nullptr,
                "10",
                "5",
                "3",
                "20000",
                address.c_str(),
                nullptr} {}
  const char* const* names() const { return kNames.data(); }
  const char* const* values() const { return values_.data(); }

 private:
  static constexpr std::array<const char*, 7> kNames = {"connect_timeout",
                                                        "keepalives_idle",
                                                        "keepalives_interval",
                                                        "keepalives_count",
                                                        "tcp_user_timeout",
                                                        "dbname",
                                                        nullptr};
  std::array<const char*, 7> values_;
};

class Postgres : public Engine {
 public:
  Postgres(const Functions& functions, const std::string& address)
      : pq_(functions),
        address_(address),
        connection_(functions.connect(Parameters(address).names(), Parameters(address).values(),
                                      kExpands)) {}
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
    pq_.set_nonblocking(connection_, 1);
    // A client that vanishes must not keep others from writing. The address, the user's settings
    // and the server's say otherwise if they like: only what nobody has set is set.
    const auto bounded = query(
        "SELECT set_config(name, '60s', false) FROM pg_settings WHERE source = 'default' AND "
        "name IN ('lock_timeout', 'idle_in_transaction_session_timeout')",
        {});
    return bounded.ok() ? Status(Ok{}) : Status(bounded.error());
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
    if (is_lost_) return failed(kSilent);
    const Answer result = exec(std::string(sql), values);
    if (is_lost_) return failed(kSilent);
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
  static constexpr int kExpands = 1;          // the name of the database is an address
  static constexpr const char* kSilent =
      "PostgreSQL: the server does not answer: see that it runs and can be reached";
  using Answer = std::unique_ptr<PGresult, void (*)(PGresult*)>;

  // PQexecParams would wait for ever. TCP's probes are answered by the server's machine, or by a
  // proxy: a server that is halted behind them is found out by another connection to it.
  Answer exec(const std::string& sql, const std::vector<const char*>& values) {
    Answer last(nullptr, pq_.clear);
    if (pq_.send(connection_, sql.c_str(), static_cast<int>(values.size()), nullptr, values.data(),
                 nullptr, nullptr, 0) == 0) {
      return last;
    }
    while (has_arrived()) {
      PGresult* const one = pq_.result(connection_);
      if (one == nullptr) break;
      last.reset(one);
      const int status = pq_.result_status(one);
      if (status == kCopyOut || status == kCopyIn) break;  // it would be a result for ever
    }
    return last;
  }

  // Waits until a result can be taken. Returns false if the connection is lost.
  bool has_arrived() {
    for (;;) {
      const int unsent = pq_.flush(connection_);
      if (unsent < 0) return false;
      if (pq_.is_busy(connection_) == 0) return true;
      const auto events = static_cast<short>(unsent > 0 ? POLLIN | POLLOUT : POLLIN);
      pollfd polled = {pq_.socket(connection_), events, 0};
      const int ready = ::poll(&polled, 1, kSilenceMs);
      if (ready > 0 && pq_.consume(connection_) == 0) return false;
      if (ready != 0) continue;  // also after a signal
      const Parameters parameters(address_);
      is_lost_ = pq_.ping(parameters.names(), parameters.values(), kExpands) == kNoResponse;
      if (is_lost_) return false;
    }
  }

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
  std::string address_;
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
