// SQL over one evaluation, as `xsp query` runs it.
//
//   GET /evaluations/{}/query?sql=SELECT ...
//
// Each query has a session of its own, in a process of its own that is confined (store/apart.h):
// what it makes (temporary tables, macros, settings) ends with it, and no analysis of others ever
// sees it. So it costs the opening of the file, 12 ms and more; only kAtOnce run at a time, and
// others wait for their turn.
#include <algorithm>

#include "desk/analyze/ask.h"
#include "desk/serve/http/routes.h"

namespace xsp::serve {
namespace {

using nlohmann::json;

constexpr size_t kRows = 10'000;
constexpr size_t kTableBytes = size_t{16} << 20;  // of the texts of an answer
constexpr int kAtOnce = 2;

std::string_view why_no_queries(const Services& services) {
  return services.has_queries ? "" : "queries: not in this report: open the file with xsp serve";
}

Result<json> get_query(const Context& context) {
  for (const auto& [name, value] : context.request.query) {
    if (name != "sql") return usage("parameter '" + name + "' of query: unknown: it takes sql");
  }
  const std::vector<std::string> sql = context.request.all("sql");
  if (sql.size() != 1 || sql[0].empty()) return usage("sql: give it once: sql=FROM run");
  XSP_TRY(Library::Alone alone, context.library.open_alone(context.parts[0]));
  auto asked =
      analyze::ask(*alone.database, sql[0], std::min(context.row_limit, kRows), kTableBytes);
  if (!asked.ok()) {
    // The asker can mend a mistake in the SQL (400), but not a bound of time or memory (503).
    const Code code = asked.error().code;
    const bool is_bound = code == Code::kInterrupted || code == Code::kOutOfMemory;
    return is_bound ? asked.error() : usage(asked.error().text);
  }
  json answer = rows_json(asked->table, asked->columns, kRows);
  answer["is_cut"] = asked->is_cut;
  return answer;
}

}  // namespace

const std::vector<Route>& query_routes() {
  static const std::vector<Route> routes = {
      {.method = "GET",
       .pattern = "/evaluations/{}/query",
       .scope = catalogue::Scope::kRead,
       .handler = get_query,
       .summary = "The rows of SQL over one evaluation, which may read and not write.",
       .parameters = {{"evaluation", "the evaluation's id"},
                      {"sql", "one or more statements in DuckDB's SQL", "string", true}},
       .answer = kRowsSchema,
       .why_off = why_no_queries,
       .at_once = kAtOnce},
  };
  return routes;
}

}  // namespace xsp::serve
