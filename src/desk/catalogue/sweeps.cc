// Notes what was asked for: sweeps and their tasks.
#include <algorithm>
#include <set>

#include "desk/catalogue/catalogue.h"
#include "desk/store/values.h"

namespace xsp::catalogue {
namespace {

// SQLite searches the names of all parameters for each one, so more rows take longer.
constexpr size_t kRowsOfStatement = 40;

// Adds tasks by one statement, which on a server costs one round trip.
Status add_tasks(Engine& engine, const std::string& sweep, const std::vector<Task>& tasks,
                 size_t from) {
  std::string sql =
      "INSERT INTO task(id, sweep, spec, state, attempt, subject, seconds, host, reason) VALUES ";
  Cells cells;
  for (size_t i = from; i < std::min(tasks.size(), from + kRowsOfStatement); ++i) {
    const Task& task = tasks[i];
    sql += cells.empty() ? "(" : ", (";
    for (const store::Value& cell :
         {store::Value(sweep + "/" + task.name), store::Value(sweep), store::Value(task.spec),
          store::Value(task.state), store::Value(int64_t{task.attempt}), store::Value(task.subject),
          task.seconds > 0 ? store::Value(task.seconds) : store::Value(), text_or_null(task.host),
          text_or_null(task.reason)}) {
      cells.push_back(cell);
      sql += (sql.back() == '(' ? "$" : ", $") + std::to_string(cells.size());
    }
    sql += ")";
  }
  const auto done = engine.query(sql, cells);
  return done.ok() ? Status(Ok{}) : Status(done.error());
}

}  // namespace

Status Catalogue::note_sweep(const Sweep& sweep, const std::vector<Task>& tasks) {
  return write_whole(*engine_, [&]() -> Status {
    const auto known = engine_->query("SELECT created_at FROM sweep WHERE id = $1", {sweep.id});
    if (!known.ok()) return known.error();
    const bool is_known = !known->rows.empty();
    const store::Value created_at = is_known ? known->rows[0][0] : store::Value(sweep.created_at);
    for (const char* sql :
         {"DELETE FROM task WHERE sweep = $1", "DELETE FROM sweep WHERE id = $1"}) {
      const auto done = engine_->query(sql, {sweep.id});
      if (!done.ok()) return done.error();
    }
    const auto done = engine_->query(
        "INSERT INTO sweep(id, name, spec, state, created_at) "
        "VALUES ($1, $2, $3, $4, $5)",
        {sweep.id, sweep.name, sweep.spec, sweep.state, created_at});
    if (!done.ok()) return done.error();
    for (size_t from = 0; from < tasks.size(); from += kRowsOfStatement) {
      XSP_CHECK_OK(add_tasks(*engine_, sweep.id, tasks, from));
    }
    return Ok{};
  });
}

Result<std::map<std::string, double>> Catalogue::seconds_of(
    const std::vector<std::string>& subjects) {
  std::map<std::string, double> medians;
  for (const std::string& subject : std::set<std::string>(subjects.begin(), subjects.end())) {
    XSP_TRY(const store::Table table,
            query("SELECT seconds FROM task WHERE subject = $1 AND seconds IS NOT NULL "
                  "ORDER BY seconds",
                  {subject}));
    if (table.rows.empty()) continue;
    const auto seconds = store::maybe_double(table.rows[table.rows.size() / 2][0]);
    if (seconds) medians[subject] = *seconds;
  }
  return medians;
}

}  // namespace xsp::catalogue
