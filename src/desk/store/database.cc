#include "desk/store/database.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <tuple>

#include "desk/store/apart.h"
#include "desk/store/duck.h"
#include "desk/store/schema.h"
#include "desk/store/stream.h"
#include "shared/base/durable.h"
#include "shared/base/text.h"

namespace xsp::store {

namespace {

namespace fs = std::filesystem;

using Settings = std::vector<std::pair<const char*, std::string>>;

// The version of the C API that this is compiled against.
constexpr std::tuple<int, int, int> kOldestLibrary{1, 4, 4};

Status check_library() {
  const char* text = duckdb_library_version();
  int major = 0, minor = 0, patch = 0;
  const char* at = text + (*text == 'v' ? 1 : 0);
  const char* end = text + std::strlen(text);
  for (int* part : {&major, &minor, &patch}) {
    at = std::from_chars(at, end, *part).ptr;
    if (at != end && *at == '.') ++at;
  }
  if (std::tuple(major, minor, patch) < kOldestLibrary) {
    return not_available(std::string("libduckdb: version ") + text +
                         " is too old: install 1.4.4 or newer");
  }
  return Ok{};
}

std::string errno_text() { return std::strerror(errno); }

// Fails unless this file may hold a DuckDB database: its first block begins with a checksum of
// eight bytes and then "DUCK".
Status check_file(const fs::path& path) {
  const std::string name = path.string();
  struct stat facts;
  if (stat(path.c_str(), &facts) != 0) {
    const std::string advice =
        errno == ENOENT ? ": check the path, or make it with xsp profile" : "";
    return failed(name + ": cannot be opened: " + errno_text() + advice);
  }
  if (S_ISDIR(facts.st_mode)) return usage(name + ": is a folder: name an .xsp file in it");
  if (!S_ISREG(facts.st_mode)) return usage(name + ": not a regular file: name an .xsp file");
  if (facts.st_size == 0) {
    return corrupt(name + ": not an .xsp file: it is empty: measure again with xsp profile");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return failed(name + ": cannot be opened: " + errno_text() + ": check its permissions");
  char head[12] = {};
  file.read(head, sizeof head);
  if (file.gcount() != sizeof head || std::memcmp(head + 8, "DUCK", 4) != 0) {
    return corrupt(name +
                   ": not an .xsp file: it is not a DuckDB database: name one that xsp wrote");
  }
  return Ok{};
}

Status connect(Database::State* state, const std::string& path, const Settings& settings) {
  XSP_CHECK_OK(check_library());
  Config config;
  if (duckdb_create_config(config.out()) != DuckDBSuccess)
    return failed("libduckdb: out of memory");
  for (const auto& [key, value] : settings) {
    if (duckdb_set_config(config.get(), key, value.c_str()) != DuckDBSuccess) {
      return failed(std::string("libduckdb: refuses the setting ") + key + "=" + value +
                    ": use the version that tools/deps.sh installs");
    }
  }
  char* message = nullptr;
  const char* file = path.empty() ? nullptr : path.c_str();
  if (duckdb_open_ext(file, state->database.out(), config.get(), &message) != DuckDBSuccess) {
    const std::string text = message != nullptr ? message : "unknown error";
    duckdb_free(message);
    return open_error(state->name, text);
  }
  if (duckdb_connect(state->database.get(), state->connection.out()) != DuckDBSuccess) {
    return failed(state->name + ": cannot connect to DuckDB: out of memory");
  }
  return Ok{};
}

// A query that exceeds the memory limit spills to the folder `spill`.
Settings common_settings(const fs::path& spill) {
  return {{"autoinstall_known_extensions", "false"},
          {"autoload_known_extensions", "false"},
          {"temp_directory", spill.string()}};
}

Result<Settings> own_settings(Database::State* state) {
  XSP_TRY(state->spill, ScratchFolder::create());
  return common_settings(state->spill->path());
}

// On smaller files, the threads of one query cost more than they save.
constexpr uintmax_t kSmallBytes = 16U << 20;
// Bounds the memory for writing, however long the trace is.
constexpr const char* kWriterMemory = "512MB";

Status write_schema(Database& database) {
  // One transaction for all: otherwise, each statement would wait for the disk.
  XSP_CHECK_OK(database.execute("BEGIN TRANSACTION"));
  XSP_CHECK_OK(database.execute(kSchemaSql));
  XSP_CHECK_OK(database.execute(kSamplesSql));
  XSP_CHECK_OK(database.execute("INSERT INTO evaluation VALUES ('xsp_format', '1')"));
  return database.execute("COMMIT");
}

void remove_with_log(const fs::path& path) {
  std::error_code ignored;
  fs::remove(path, ignored);
  fs::remove(path.string() + ".wal", ignored);
}

// The lock is a separate file beside the partial file, because DuckDB makes that one itself.
fs::path lock_of(const fs::path& partial) { return partial.string() + ".lock"; }

// Locks the output path while the file is written.
Result<int> claim_output(const fs::path& path, const fs::path& partial) {
  const fs::path name = lock_of(partial);
  const int file = ::open(name.c_str(), O_CREAT | O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (file < 0) {
    return failed(path.string() + ": cannot be written: " + errno_text() +
                  ": name a file in another folder with -o");
  }
  struct stat locked {
  }, found{};
  // On a file system without locks, another writer cannot be detected.
  const bool is_locked = flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  const bool is_mine = is_locked && fstat(file, &locked) == 0 &&
                       // Another xsp may have removed the lock file before we locked it.
                       stat(name.c_str(), &found) == 0 && found.st_ino == locked.st_ino;
  if (is_mine) return file;
  ::close(file);
  return failed(path.string() +
                ": cannot be written: another xsp is writing it: name another with -o");
}

void release_output(Database::State& state) {
  if (state.lock < 0) return;
  ::unlink(lock_of(state.partial).c_str());
  ::close(std::exchange(state.lock, -1));
}

// Fails if no file can be made here, so that the user knows before any measurement. Removes the
// partial file that a killed process left.
Status check_output(const fs::path& path, const fs::path& partial) {
  remove_with_log(partial);
  const int file = ::open(partial.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  if (file < 0) {
    return failed(path.string() + ": cannot be written: " + errno_text() +
                  ": name a file in another folder with -o");
  }
  ::close(file);
  remove_with_log(partial);
  return Ok{};
}

// Returns whether a statement accesses other files, even if DuckDB would allow it.
bool is_refused(duckdb_statement_type type) {
  return type == DUCKDB_STATEMENT_TYPE_COPY || type == DUCKDB_STATEMENT_TYPE_EXPORT ||
         type == DUCKDB_STATEMENT_TYPE_ATTACH || type == DUCKDB_STATEMENT_TYPE_DETACH ||
         type == DUCKDB_STATEMENT_TYPE_LOAD;
}

// Returns the text of a list with one element, in the notation of DuckDB.
std::string list_text(std::string_view element) {
  std::string text = "['";
  for (const char c : element) text += c == '\'' ? std::string("''") : std::string(1, c);
  return text + "']";
}

CellValue make_value(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return CellValue(duckdb_create_bool(*flag));
  if (const auto* number = std::get_if<int64_t>(&value)) {
    return CellValue(duckdb_create_int64(*number));
  }
  if (const auto* number = std::get_if<double>(&value)) {
    return CellValue(duckdb_create_double(*number));
  }
  if (const auto* text = std::get_if<std::string>(&value)) {
    return CellValue(duckdb_create_varchar_length(text->data(), text->size()));
  }
  return CellValue(duckdb_create_null_value());
}

// Written text is repaired if it is not valid; the text of a query must be valid.
Status admit(Database::State& state, const std::string& name, Value& value) {
  auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) return Ok{};
  if (state.reads_only) return require_text("SQL: the parameter $" + name, *text);
  *text = keep_text(*text, state.replaced_texts);
  return Ok{};
}

Status bind(Database::State& state, duckdb_prepared_statement statement,
            const std::map<std::string, Value>& parameters) {
  for (idx_t i = 1; i <= duckdb_nparams(statement); ++i) {
    const char* text = duckdb_parameter_name(statement, i);
    const std::string name = text != nullptr ? text : "";
    duckdb_free(const_cast<char*>(text));
    const auto found = parameters.find(name);
    if (found == parameters.end()) {
      return usage("SQL: the parameter $" + name + " has no value: give it with --param " + name +
                   "=...");
    }
    Value admitted = found->second;
    XSP_CHECK_OK(admit(state, name, admitted));
    CellValue value = make_value(admitted);
    if (!value || duckdb_bind_value(statement, i, value.get()) != DuckDBSuccess) {
      return usage("SQL: the parameter $" + name + " cannot be used here");
    }
  }
  return Ok{};
}

duckdb_state execute(duckdb_prepared_statement statement, bool is_streamed, QueryResult& result) {
  if (!is_streamed) return duckdb_execute_prepared(statement, &result.result);
  Pending pending;
  const duckdb_state state = duckdb_pending_prepared_streaming(statement, pending.out());
  if (state != DuckDBSuccess) return duckdb_execute_prepared(statement, &result.result);
  return duckdb_execute_pending(pending.get(), &result.result);
}

// Runs every statement of `sql`, and leaves the last one's rows in `result`.
Status run_statements(Database::State& state, std::string_view sql,
                      const std::map<std::string, Value>& parameters, QueryResult& result,
                      bool is_streamed) {
  if (!state.connection) return failed(state.name + ": is finished: open it again to read it");
  Statements statements;
  const std::string text(sql);
  const idx_t count =
      duckdb_extract_statements(state.connection.get(), text.c_str(), statements.out());
  if (count == 0) {
    const char* message = duckdb_extract_statements_error(statements.get());
    if (message != nullptr) return query_error(state.name, message);
    return usage("SQL on " + state.name + ": it is empty: give at least one statement");
  }
  for (idx_t i = 0; i < count; ++i) {
    Statement statement;
    if (duckdb_prepare_extracted_statement(state.connection.get(), statements.get(), i,
                                           statement.out()) != DuckDBSuccess) {
      return query_error(state.name, duckdb_prepare_error(statement.get()));
    }
    const duckdb_statement_type type = duckdb_prepared_statement_type(statement.get());
    const bool may_run = state.may_copy && type == DUCKDB_STATEMENT_TYPE_COPY;
    if (state.reads_only && is_refused(type) && !may_run) {
      return usage("SQL on " + state.name +
                   ": statements that read or write other files are refused: use --format csv and "
                   "redirect the output");
    }
    XSP_CHECK_OK(bind(state, statement.get(), parameters));
    result.reset();
    if (execute(statement.get(), is_streamed && i + 1 == count, result) != DuckDBSuccess) {
      const char* message = duckdb_result_error(&result.result);
      return query_error(state.name, message != nullptr ? message : "unknown error");
    }
  }
  return Ok{};
}

// The analyses' plans have thousands of operators.
void plan_for_analyses(Settings* settings) {
  // These two take more time than they save.
  settings->push_back({"disabled_optimizers", "statistics_propagation,common_subplan"});
  // A nested loop serves an ASOF join whose left side is expected to be short. Here the right side
  // is long.
  settings->push_back({"asof_loop_join_threshold", "0"});
}

}  // namespace

Database::State::~State() {
  connection.reset();
  database.reset();
  if (!partial.empty()) remove_with_log(partial);
  release_output(*this);
}

Database::Database(std::unique_ptr<State> state) : state_(std::move(state)) {}
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;
Database::~Database() = default;

bool Database::reads_only() const { return state_->reads_only; }

std::set<std::string>& Database::loaded() { return state_->loaded; }

Result<Database> Database::open(const fs::path& path, const ReadLimits& limits) {
  XSP_CHECK_OK(check_file(path));
  auto state = std::make_unique<State>();
  if (apart_program().empty()) {
    XSP_TRY(state->spill, ScratchFolder::create());
    XSP_TRY(Database database, open_here(path, limits, state->spill->path()));
    database.state_->spill = std::move(state->spill);
    return database;
  }
  state->name = path.string();
  state->reads_only = true;
  XSP_TRY(state->apart, Apart::open(path, limits));
  return Database(std::move(state));
}

Result<Database> Database::open_here(const fs::path& path, const ReadLimits& limits,
                                     const fs::path& spill, const fs::path& copies) {
  XSP_CHECK_OK(check_file(path));
  auto state = std::make_unique<State>();
  state->name = path.string();
  state->reads_only = true;
  state->may_copy = !copies.empty();
  Settings settings = common_settings(spill);
  settings.push_back({"access_mode", "READ_ONLY"});
  if (copies.empty()) settings.push_back({"enable_external_access", "false"});
  plan_for_analyses(&settings);
  if (copies.empty()) settings.push_back({"lock_configuration", "true"});
  const auto kib = [](uint64_t bytes) { return std::to_string(bytes >> 10) + "KiB"; };
  if (limits.memory_bytes != 0) {
    settings.push_back({"memory_limit", kib(limits.memory_bytes)});
    settings.push_back({"max_temp_directory_size", kib(limits.memory_bytes * 4)});
  }
  std::error_code ignored;
  const int threads = fs::file_size(path, ignored) < kSmallBytes ? 1 : limits.threads;
  if (threads != 0) settings.push_back({"threads", std::to_string(threads)});
  // The path is absolute, because DuckDB would take "name:rest" for a kind of database.
  XSP_CHECK_OK(connect(state.get(), fs::absolute(path).string(), settings));
  Database database(std::move(state));
  if (!copies.empty()) {
    // A list of folders cannot be set before the database is open.
    XSP_CHECK_OK(database.execute("SET allowed_directories = " + list_text(copies.string()) +
                                  "; SET enable_external_access = false; "
                                  "SET lock_configuration = true"));
  }
  XSP_CHECK_OK(check_schema(database, path.string()));
  XSP_CHECK_OK(replace_views(database, path.string()));
  XSP_CHECK_OK(complete_schema(database));
  return database;
}

Result<Database> Database::create(const fs::path& path, Blocks blocks) {
  auto state = std::make_unique<State>();
  state->name = path.string();
  const fs::path partial = fs::absolute(path).string() + ".partial";
  struct stat facts;
  if (stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode)) {
    return usage(path.string() + ": cannot be written: it is not a file: name another with -o");
  }
  XSP_TRY(state->lock, claim_output(path, partial));
  state->partial = partial;  // from here on, we remove the partial file on failure
  XSP_CHECK_OK(check_output(path, partial));
  state->path = fs::absolute(path);
  XSP_TRY(Settings settings, own_settings(state.get()));
  settings.push_back({"memory_limit", kWriterMemory});
  if (blocks == Blocks::kSmall) settings.push_back({"default_block_size", "65536"});
  settings.push_back({"threads", "1"});  // more threads would only wait for each other, and use
                                         // processor time
  XSP_CHECK_OK(connect(state.get(), partial.string(), settings));
  Database database(std::move(state));
  XSP_CHECK_OK(write_schema(database));
  return database;
}

void Database::remove_remains(const fs::path& path) {
  const fs::path partial = fs::absolute(path).string() + ".partial";
  const Result<int> lock = claim_output(path, partial);
  if (!lock.ok()) return;
  remove_with_log(partial);
  ::unlink(lock_of(partial).c_str());
  ::close(*lock);
}

Result<Database> Database::in_memory() {
  auto state = std::make_unique<State>();
  state->name = "the database in memory";
  XSP_TRY(Settings settings, own_settings(state.get()));
  settings.push_back({"threads", "1"});
  plan_for_analyses(&settings);
  XSP_CHECK_OK(connect(state.get(), "", settings));
  Database database(std::move(state));
  XSP_CHECK_OK(write_schema(database));
  return database;
}

Result<Table> Database::query(std::string_view sql,
                              const std::map<std::string, Value>& parameters) {
  if (state_->apart) return state_->apart->query(sql, parameters, Rows::kAll);
  QueryResult result;
  XSP_CHECK_OK(run(sql, parameters, result));
  Table table;
  ResultRows rows(result.result);
  table.columns = rows.columns();
  for (std::vector<std::vector<Value>> some; rows.next(&some);) {
    std::move(some.begin(), some.end(), std::back_inserter(table.rows));
  }
  return table;
}

static Status stream_rows(Database& database, std::string_view sql,
                          const std::map<std::string, Value>& parameters,
                          std::vector<Column>* columns, const TakeRow& take) {
  Database::State& state = database.state();
  if (state.apart) return state.apart->stream(sql, parameters, take, columns);
  QueryResult result;
  XSP_CHECK_OK(database.run(sql, parameters, result, true));
  ResultRows rows(result.result);
  *columns = rows.columns();
  for (std::vector<std::vector<Value>> some; rows.next(&some);) {
    for (std::vector<Value>& row : some) XSP_CHECK_OK(take(row));
  }
  return rows.check(state.name);
}

Status stream(Database& database, std::string_view sql, std::vector<Column>* columns,
              const TakeRow& take) {
  return stream_rows(database, sql, {}, columns, take);
}

Status Database::stream(std::string_view sql, const std::map<std::string, Value>& parameters,
                        const TakeRow& take) {
  std::vector<Column> unread;
  return stream_rows(*this, sql, parameters, &unread, take);
}

Status Database::execute(std::string_view sql) {
  if (state_->apart) {
    XSP_CHECK_OK(state_->apart->query(sql, {}, Rows::kNone));
    return Ok{};
  }
  QueryResult result;
  return run(sql, {}, result);
}

Status Database::run(std::string_view sql, const std::map<std::string, Value>& parameters,
                     QueryResult& result, bool is_streamed) {
  return run_statements(*state_, sql, parameters, result, is_streamed);
}

void Database::interrupt() {
  state_->apart ? state_->apart->interrupt() : duckdb_interrupt(state_->connection.get());
}

bool Database::is_alive() const { return !state_->apart || state_->apart->is_alive(); }

Status Database::finish() {
  if (state_->partial.empty()) return Ok{};
  if (state_->replaced_texts > 0) {
    XSP_CHECK_OK(query("INSERT INTO evaluation VALUES ('texts_replaced', $count)",
                       {{"count", std::to_string(state_->replaced_texts)}}));
  }
  XSP_CHECK_OK(execute("CHECKPOINT"));
  state_->connection.reset();
  state_->database.reset();
  std::error_code error;
  if (!make_durable(state_->partial)) error.assign(errno, std::generic_category());
  if (!error) fs::rename(state_->partial, state_->path, error);
  if (error) {
    return failed(state_->name + ": cannot be written: " + error.message() +
                  ": name a file in another folder with -o");
  }
  release_output(*state_);
  state_->partial.clear();
  (void)make_durable(state_->path.parent_path());
  return Ok{};
}

}  // namespace xsp::store
