#include "desk/store/schema.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "desk/store/duck.h"

namespace xsp::store {
namespace {

// Maps each table to its columns, and each column to its type.
using Tables = std::map<std::string, std::map<std::string, std::string>>;

std::string without_comments(std::string_view sql) {
  std::istringstream lines{std::string(sql)};
  std::string text;
  for (std::string line; std::getline(lines, line);) text += line.substr(0, line.find("--")) + " ";
  return text;
}

// Adds the tables that our own statements create. These contain no other parentheses.
void add_tables(std::string_view sql, Tables* tables) {
  constexpr std::string_view kCreate = "CREATE TABLE ";
  const std::string text = without_comments(sql);
  for (size_t at = text.find(kCreate); at != std::string::npos; at = text.find(kCreate, at + 1)) {
    const size_t open = text.find('(', at);
    const size_t name = at + kCreate.size();
    std::istringstream columns(text.substr(open + 1, text.find(')', open) - open - 1));
    auto& table = (*tables)[text.substr(name, open - name)];
    for (std::string column; std::getline(columns, column, ',');) {
      std::istringstream words(column);
      std::string title, type;
      words >> title >> type;
      table[title] = type;
    }
  }
}

const Tables& tables_of_xsp() {
  static const Tables tables = [] {
    Tables all;
    for (const std::string_view sql : {kSchemaSql, kSpansSql, kSamplesSql}) add_tables(sql, &all);
    return all;
  }();
  return tables;
}

// A table in one format, a view in the other.
constexpr const char* kSpan = "span";

Error no_xsp_file(const std::string& name, const std::string& why) {
  return corrupt(name + ": not an .xsp file: " + why + ": name one that xsp wrote");
}

Status check_tables(Database& database, const std::string& name) {
  XSP_TRY(
      const Table found,
      database.query("SELECT table_name, true FROM duckdb_tables() WHERE NOT internal "
                     "UNION ALL SELECT view_name, false FROM duckdb_views() WHERE NOT internal"));
  size_t needed = 0;
  for (const auto& row : found.rows) {
    const auto* table = std::get_if<std::string>(&row[0]);
    if (table == nullptr) continue;
    for (const char* one : {"evaluation", "run", kSpan, "loss", "audit_fact"}) {
      needed += *table == one ? 1 : 0;
    }
    if (row[1] == Value(true) || *table == kSpan || tables_of_xsp().count(*table) == 0) continue;
    return no_xsp_file(name, *table + " is a view in it, and no table");
  }
  if (needed == 5) return Ok{};
  return no_xsp_file(name, "a DuckDB database without xsp's tables");
}

Status check_columns(Database& database, const std::string& name) {
  XSP_TRY(const Table found,
          database.query("SELECT table_name, column_name, data_type, column_default FROM "
                         "duckdb_columns() WHERE NOT internal"));
  for (const auto& row : found.rows) {
    const auto* table = std::get_if<std::string>(&row[0]);
    const auto* column = std::get_if<std::string>(&row[1]);
    if (table == nullptr || column == nullptr) continue;
    const auto known = tables_of_xsp().find(*table);
    if (known == tables_of_xsp().end()) continue;
    const auto type = known->second.find(*column);
    if (type == known->second.end()) continue;
    if (row[2] == Value(type->second) && row[3] == Value(std::monostate())) continue;
    return no_xsp_file(
        name, "the column " + *column + " of its table " + *table + " is not " + type->second);
  }
  return Ok{};
}

// Adds the views that our own statements create, as temporary ones.
void add_views(std::string_view sql, std::map<std::string, std::string>* views) {
  constexpr std::string_view kCreate = "CREATE VIEW ";
  const std::string text = without_comments(sql);
  for (size_t at = text.find(kCreate); at != std::string::npos; at = text.find(kCreate, at + 1)) {
    const size_t name = at + kCreate.size();
    const size_t end = std::min(text.find(';', at), text.size());
    (*views)[text.substr(name, text.find(' ', name) - name)] =
        "CREATE TEMP VIEW " + text.substr(name, end - name) + ";";
  }
}

}  // namespace

Status check_schema(Database& database, const std::string& name) {
  XSP_CHECK_OK(check_tables(database, name));
  XSP_CHECK_OK(check_columns(database, name));
  XSP_TRY(Table format,
          database.query("SELECT try_cast(value AS INTEGER) FROM evaluation WHERE key = "
                         "'xsp_format'"));
  if (format.rows.size() != 1 || !std::holds_alternative<int64_t>(format.rows[0][0])) {
    return no_xsp_file(name, "it does not say its format");
  }
  const int64_t found = std::get<int64_t>(format.rows[0][0]);
  if (found > kFormat || found < 1) {
    return corrupt(name + ": written by a newer xsp: format " + std::to_string(found) +
                   ", this one reads up to " + std::to_string(kFormat) + ": update xsp");
  }
  return Ok{};
}

namespace {

// Makes the table of results empty in a file that is older.
Status complete_results(Database& database) {
  XSP_TRY(const Table found,
          database.query("SELECT 1 FROM duckdb_tables() WHERE table_name = 'result'"));
  if (!found.rows.empty()) return Ok{};
  constexpr std::string_view kCreate = "CREATE TABLE result(";
  constexpr std::string_view kEnd = ");";
  const size_t at = kSchemaSql.find(kCreate) + kCreate.size();
  const std::string_view columns = kSchemaSql.substr(at, kSchemaSql.find(kEnd, at) - at);
  return database.execute("CREATE TEMP TABLE result(" + std::string(columns) + ")");
}

}  // namespace

Status complete_schema(Database& database) {
  XSP_CHECK_OK(complete_results(database));
  XSP_TRY(const Table found,
          database.query("SELECT max(database_name), bool_or(column_name = 'faults') FROM "
                         "duckdb_columns() WHERE table_name = 'sample'"));
  if (const auto* name = std::get_if<std::string>(&found.rows[0][0])) {
    if (found.rows[0][1] == Value(true)) return Ok{};
    return database.execute(
        "CREATE TEMP VIEW sample AS SELECT *, NULL::BIGINT AS system_ns, NULL::BIGINT AS faults "
        "FROM \"" +
        *name + "\".main.sample");
  }
  constexpr std::string_view kCreate = "CREATE TABLE";
  std::string sql(kSamplesSql);
  for (size_t at = sql.find(kCreate); at != std::string::npos; at = sql.find(kCreate, at + 1)) {
    sql.replace(at, kCreate.size(), "CREATE TEMP TABLE");
  }
  return database.execute(sql);
}

Status replace_views(Database& database, const std::string& name) {
  XSP_TRY(const Table found, database.query("SELECT view_name FROM duckdb_views() WHERE NOT "
                                            "internal AND NOT temporary"));
  std::map<std::string, std::string> views;
  for (const std::string_view sql : {kSchemaSql, kSpansSql}) add_views(sql, &views);
  std::string sql;
  for (const auto& row : found.rows) {
    const auto* view = std::get_if<std::string>(&row[0]);
    if (view == nullptr || views.count(*view) == 0) continue;
    // The others refer to span.
    sql.insert(*view == kSpan ? 0 : sql.size(), views[*view]);
  }
  if (sql.empty() || database.execute(sql).ok()) return Ok{};
  return no_xsp_file(name, "its tables lack what its views need");
}

}  // namespace xsp::store
