#include "desk/catalogue/schema.h"

#include <vector>

#include "desk/store/values.h"

namespace xsp::catalogue {
namespace {

// Each entry leads from the version that is its index to the next. Entries are only added. The SQL
// is common to SQLite and PostgreSQL. The keys of what files say are texts that the contents
// decide, so that two writers, and a rebuilt catalogue, have the same keys.
using Step = std::vector<const char*>;

// Tokens of the API, as the SHA-256 of their secrets, and the log of what was done with them. The
// times are texts of ISO 8601 in UTC, whose order is that of time.
const Step kApiHasTokens = {
    "CREATE TABLE token(id TEXT PRIMARY KEY, name TEXT NOT NULL, scope TEXT NOT NULL, "
    "hash TEXT NOT NULL UNIQUE, created_at TEXT NOT NULL, revoked_at TEXT)",
    "CREATE TABLE audit(id TEXT PRIMARY KEY, at TEXT NOT NULL, token TEXT, name TEXT, "
    "address TEXT NOT NULL, method TEXT NOT NULL, path TEXT NOT NULL, status INTEGER NOT NULL)",
    "CREATE INDEX audit_at ON audit(at)",
};
const Step kSweepsHaveNames = {"ALTER TABLE sweep ADD COLUMN name TEXT"};
// Why a task waits, or has no result.
const Step kTasksHaveReasons = {"ALTER TABLE task ADD COLUMN reason TEXT"};

const std::vector<Step>& steps() {
  static const Step first = {
      "CREATE TABLE model(id TEXT PRIMARY KEY, name TEXT NOT NULL, version TEXT)",
      "CREATE TABLE framework(id TEXT PRIMARY KEY, name TEXT NOT NULL, version TEXT)",
      // A machine in one state of hardware and software. `facts` is a JSON object.
      "CREATE TABLE system(fingerprint TEXT PRIMARY KEY, name TEXT NOT NULL, facts TEXT NOT NULL)",
      "CREATE TABLE dataset(id TEXT PRIMARY KEY, name TEXT NOT NULL, version TEXT, split TEXT, "
      "sha256 TEXT)",
      // These tables hold requests. Files do not tell them, so a rebuilt catalogue lacks them.
      "CREATE TABLE sweep(id TEXT PRIMARY KEY, spec TEXT NOT NULL, state TEXT NOT NULL, "
      "created_at TEXT NOT NULL)",
      "CREATE TABLE task(id TEXT PRIMARY KEY, sweep TEXT REFERENCES sweep(id), spec TEXT NOT NULL, "
      "state TEXT NOT NULL, attempt INTEGER NOT NULL DEFAULT 0, engine_ref TEXT, "
      "lease_until DOUBLE PRECISION)",
      "CREATE INDEX task_state ON task(state, lease_until)",
      "CREATE TABLE agent(id TEXT PRIMARY KEY, system TEXT, offers TEXT NOT NULL, "
      "seen_at DOUBLE PRECISION NOT NULL)",
      // One batch size of one file; 0: its batches differ, or have a size that is not known.
      // `facts` is a JSON object of what the file says about the framework's options and the
      // scenario. `sha256` is that of the file.
      "CREATE TABLE evaluation(id TEXT PRIMARY KEY, task TEXT, model TEXT NOT NULL REFERENCES "
      "model(id), framework TEXT NOT NULL REFERENCES framework(id), system TEXT NOT NULL "
      "REFERENCES system(fingerprint), dataset TEXT, scenario TEXT NOT NULL, device TEXT NOT NULL, "
      "batch INTEGER NOT NULL, started_at TEXT, facts TEXT NOT NULL, file TEXT NOT NULL, "
      "sha256 TEXT NOT NULL)",
      "CREATE INDEX evaluation_file ON evaluation(file)",
      "CREATE INDEX evaluation_model ON evaluation(model)",
      // One figure. `value` is NULL if it was not measured, or is a word, which `word` has; `note`
      // says why it was not measured; `doubt` why it is less certain than was asked. low, high: the
      // 95 % interval.
      "CREATE TABLE result(evaluation TEXT NOT NULL REFERENCES evaluation(id) ON DELETE CASCADE, "
      "metric TEXT NOT NULL, value DOUBLE PRECISION, word TEXT, low DOUBLE PRECISION, "
      "high DOUBLE PRECISION, unit TEXT NOT NULL, levels TEXT, doubt TEXT, note TEXT, "
      "PRIMARY KEY(evaluation, metric))",
      "CREATE INDEX result_metric ON result(metric, evaluation)",
  };
  // `subject` is equal for equal tasks of all sweeps; `seconds` is how long a task took that is
  // done. Both together tell how long a new sweep will take.
  static const Step tasks_are_timed = {
      "ALTER TABLE task ADD COLUMN subject TEXT",
      "ALTER TABLE task ADD COLUMN seconds DOUBLE PRECISION",
      "ALTER TABLE task ADD COLUMN host TEXT",
      "CREATE INDEX task_subject ON task(subject)",
  };
  // Tasks for agents, and the bytes of their answers in hexadecimal digits, which both engines keep
  // as they are. The asker removes both.
  static const Step agents_have_a_queue = {
      "CREATE TABLE queue(sweep TEXT NOT NULL, unit TEXT NOT NULL, spec TEXT NOT NULL, "
      "framework TEXT NOT NULL, device TEXT NOT NULL, wanted TEXT NOT NULL, state TEXT NOT NULL, "
      "agent TEXT, asked_at DOUBLE PRECISION NOT NULL, lease_until DOUBLE PRECISION, "
      "PRIMARY KEY(sweep, unit))",
      "CREATE TABLE upload(sweep TEXT NOT NULL, unit TEXT NOT NULL, part INTEGER NOT NULL, "
      "bytes TEXT NOT NULL, PRIMARY KEY(sweep, unit, part))",
  };
  static const std::vector<Step> all = {first,         tasks_are_timed,  agents_have_a_queue,
                                        kApiHasTokens, kSweepsHaveNames, kTasksHaveReasons};
  return all;
}

Error newer(int64_t version) {
  return failed("catalogue: version " + std::to_string(version) + " was made by a newer xsp, " +
                "which knows more than version " + std::to_string(schema_version()) +
                ": use that xsp, or another catalogue");
}

}  // namespace

Result<int64_t> version_of(Engine& engine) {
  XSP_TRY(const store::Table table, engine.query("SELECT version FROM catalogue"));
  if (table.rows.empty()) return failed("catalogue: its table `catalogue` is empty: rebuild it");
  return store::int_of(table.rows[0][0]);
}

int schema_version() { return static_cast<int>(steps().size()); }

Status migrate(Engine& engine) {
  return write_whole(engine, [&]() -> Status {
    XSP_CHECK_OK(run(engine, "CREATE TABLE IF NOT EXISTS catalogue(version INTEGER NOT NULL)"));
    XSP_CHECK_OK(run(engine,
                     "INSERT INTO catalogue SELECT 0 WHERE NOT EXISTS "
                     "(SELECT version FROM catalogue)"));
    XSP_TRY(const int64_t version, version_of(engine));
    if (version > schema_version()) return newer(version);
    for (auto step = static_cast<size_t>(version); step < steps().size(); ++step) {
      for (const char* sql : steps()[step]) XSP_CHECK_OK(run(engine, sql));
    }
    if (version == schema_version()) return Ok{};
    return run(engine, "UPDATE catalogue SET version = $1", {int64_t{schema_version()}});
  });
}

Status check_schema(Engine& engine, const std::string& place) {
  // A message may be kept in a log, so it has no password.
  const std::string named = is_server(place) ? lasting_place(place) : place;
  const Result<int64_t> version = version_of(engine);
  if (!version.ok()) {
    return failed("catalogue: no catalogue is there: make one with xsp catalogue add FOLDER --db " +
                  named);
  }
  if (*version > schema_version()) return newer(*version);
  if (*version == schema_version()) return Ok{};
  return failed("catalogue: an older xsp made it, with version " + std::to_string(*version) +
                " of its tables: bring it to version " + std::to_string(schema_version()) +
                " with xsp catalogue migrate --db " + named);
}

}  // namespace xsp::catalogue
