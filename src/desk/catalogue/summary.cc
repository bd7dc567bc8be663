#include "desk/catalogue/summary.h"

#include <charconv>
#include <map>
#include <system_error>

#include "desk/catalogue/fair.h"
#include "desk/store/copies.h"

namespace xsp::catalogue {
namespace {

namespace fs = std::filesystem;

std::string quoted(const std::string& text) {
  std::string sql = "'";
  for (const char c : text) sql += c == '\'' ? std::string("''") : std::string(1, c);
  return sql + "'";
}

std::string sql_of(const std::optional<double>& number) {
  if (!number) return "NULL";
  char text[32];
  return quoted({text, std::to_chars(text, text + sizeof text, *number).ptr});
}

std::string sql_of(const std::string& text) { return text.empty() ? "NULL" : quoted(text); }

// The columns, in the order of row_of(). Every value is a text literal, which DuckDB casts.
constexpr const char* kColumns =
    "evaluation, model, framework, system, fingerprint, scenario, device, CAST(batch AS BIGINT) AS "
    "batch, started_at, metric, CAST(value AS DOUBLE) AS value, word, CAST(low AS DOUBLE) AS low, "
    "CAST(high AS DOUBLE) AS high, unit, levels, doubt, note";
constexpr const char* kNames =
    "evaluation, model, framework, system, fingerprint, scenario, device, batch, started_at, "
    "metric, value, word, low, high, unit, levels, doubt, note";

std::string row_of(const Known& one, const Figure& figure) {
  std::string sql;
  for (const std::string& cell :
       {sql_of(one.id), sql_of(one.model), sql_of(one.framework), sql_of(one.system),
        sql_of(one.fingerprint), sql_of(one.scenario), sql_of(one.device),
        quoted(std::to_string(one.batch)), sql_of(one.started_at), sql_of(figure.metric),
        sql_of(figure.value), sql_of(figure.word), sql_of(figure.low), sql_of(figure.high),
        sql_of(figure.unit), sql_of(figure.levels), sql_of(figure.doubt), sql_of(figure.note)}) {
    sql += (sql.empty() ? "(" : ", ") + cell;
  }
  return sql + ")";
}

bool is_fresh(const fs::path& summary, const fs::path& file) {
  std::error_code error;
  const auto written = fs::last_write_time(summary, error);
  if (error) return false;
  const auto measured = fs::last_write_time(file, error);
  return !error && written >= measured;
}

Status write_one(const fs::path& file, const fs::path& summary, const std::string& rows) {
  const fs::path partial = summary.string() + ".partial";
  const std::string sql = "COPY (SELECT " + std::string(kColumns) + " FROM (VALUES " + rows +
                          ") t(" + kNames + ")) TO " + quoted(fs::absolute(partial).string()) +
                          " (FORMAT parquet)";
  const fs::path folder = fs::absolute(summary).parent_path();
  const auto copied =
      store::with_copies(file, folder, [&](store::Database& database) -> Result<std::string> {
        XSP_CHECK_OK(database.execute(sql));
        return std::string();
      });
  std::error_code error;
  if (copied.ok()) fs::rename(partial, summary, error);
  if (copied.ok() && !error) return Ok{};
  std::error_code ignored;
  fs::remove(partial, ignored);
  return copied.ok() ? failed(summary.string() + ": " + error.message()) : copied.error();
}

}  // namespace

Result<size_t> write_summaries(Catalogue& catalogue) {
  XSP_TRY(const std::vector<Known> all, load(catalogue));
  std::map<std::string, std::string> rows;  // by file
  for (const Known& one : all) {
    std::string& its = rows[one.file];
    for (const auto& [metric, figure] : one.figures) {
      its += (its.empty() ? "" : ", ") + row_of(one, figure);
    }
  }
  size_t written = 0;
  for (const auto& [name, its] : rows) {
    const fs::path file = catalogue.path_of(name);
    fs::path summary = file;
    summary.replace_extension(kSummaryEnding);
    std::error_code error;
    if (its.empty() || !fs::exists(file, error) || is_fresh(summary, file)) continue;
    XSP_CHECK_OK(write_one(file, summary, its));
    ++written;
  }
  return written;
}

}  // namespace xsp::catalogue
