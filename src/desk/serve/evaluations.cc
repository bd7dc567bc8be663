// The catalogue, the evaluations, and their analyses.
#include <chrono>
#include <cmath>
#include <utility>

#include "desk/analyze/run.h"
#include "desk/serve/http/routes.h"

namespace xsp::serve {
namespace {

using nlohmann::json;

std::string iso_time(std::filesystem::file_time_type time) {
  const auto unix_time = std::chrono::file_clock::to_sys(time);
  const std::time_t seconds = std::chrono::system_clock::to_time_t(
      std::chrono::time_point_cast<std::chrono::system_clock::duration>(unix_time));
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  const size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text, length};
}

json entry_json(const Entry& entry) {
  return {{"id", entry.id},
          {"size_bytes", entry.size_bytes},
          {"modified", iso_time(entry.modified)},
          {"status", entry.reason.empty() ? "ok" : "unreadable"},
          {"reason", entry.reason},
          {"facts", entry.facts},
          {"batches", entry.batches}};
}

json analysis_json(const analyze::Analysis& one) {
  json params = json::array();
  for (const auto& param : one.params) {
    params.push_back({{"name", param.name},
                      {"type", param.type},
                      {"default", param.default_value == "-" ? json() : json(param.default_value)},
                      {"description", param.description}});
  }
  json columns = json::array();
  for (const auto& column : one.columns) {
    columns.push_back(
        {{"name", column.name}, {"unit", column.unit}, {"description", column.description}});
  }
  json views = json::array();
  for (const auto& view : one.views) {
    views.push_back({{"kind", view.kind}, {"options", view.options}});
  }
  return {{"id", one.id},
          {"name", one.name},
          {"title", one.title},
          {"question", one.question},
          {"description", one.description},
          {"needs", one.needs},
          {"params", params},
          {"columns", columns},
          {"views", views}};
}

Result<json> get_catalogue(const Context&) {
  const auto& known = analyze::catalogue();
  if (!known.ok()) return known.error();
  json analyses = json::array();
  for (const analyze::Analysis& one : known.value()) analyses.push_back(analysis_json(one));
  return json{{"analyses", analyses}, {"levels", analyze::level_names()}};
}

Result<json> get_evaluations(const Context& context) {
  json list = json::array();
  const Listing listing = context.library.list();
  for (const Entry& entry : listing.entries) list.push_back(entry_json(entry));
  json offers = json::array();
  if (context.services.catalogue != nullptr) offers.push_back("catalogue");
  if (context.services.predict) offers.push_back("predictions");
  if (context.services.has_queries) offers.push_back("queries");
  return json{{"evaluations", list},
              {"offers", std::move(offers)},
              {"left_out", listing.left_out ? json(*listing.left_out) : json()}};
}

// Returns rows as objects, for small tables with fixed columns.
json objects_json(const store::Table& table) {
  json objects = json::array();
  for (const auto& row : table.rows) {
    json object;
    for (size_t i = 0; i < row.size(); ++i) object[table.columns[i].name] = cell_json(row[i]);
    objects.push_back(std::move(object));
  }
  return objects;
}

Result<json> get_evaluation(const Context& context) {
  XSP_TRY(Held held, context.library.hold(context.parts[0]));
  XSP_TRY(const store::Table runs, held.database().query(R"(
      SELECT run.*, coalesce(spans, 0) AS spans
      FROM run LEFT JOIN (SELECT run_id, count(*) AS spans FROM span GROUP BY run_id)
        USING (run_id) ORDER BY run_id)"));
  XSP_TRY(const store::Table peaks,
          held.database().query("FROM peak ORDER BY device, name, source"));
  json one = entry_json(held.entry());
  one["runs"] = objects_json(runs);
  one["peaks"] = objects_json(peaks);
  return one;
}

Result<json> get_analysis(const Context& context) {
  auto found = analyze::find(context.parts[1]);
  if (!found.ok()) return not_available(found.error().text);
  const analyze::Analysis& analysis = **found;
  analyze::Parameters parameters;
  for (const auto& [name, value] : context.request.query) {
    if (!parameters.emplace(name, value).second) {
      return usage("parameter '" + name + "': given twice: give it once");
    }
  }
  XSP_TRY(Held held, context.library.hold(context.parts[0]));
  auto table = analyze::run(held.database(), analysis, parameters);
  if (!table.ok() && table.error().code != Code::kNotAvailable) return table.error();
  json answer = table.ok() ? rows_json(*table, analysis.columns, context.row_limit)
                           : rows_json({}, {}, context.row_limit);
  if (!table.ok()) answer["not_measured"] = table.error().text;
  answer["doubts"] = json::array();
  if (table.ok()) {
    XSP_TRY(answer["doubts"], analyze::doubts(held.database(), analysis, parameters, *table));
  }
  answer["analysis"] = analysis.name;
  json given = json::object();
  for (const auto& param : analysis.params) {
    const auto at = parameters.find(param.name);
    const std::string text = at == parameters.end() ? param.default_value : at->second;
    given[param.name] = text == "-" ? json() : json(text);
  }
  answer["parameters"] = std::move(given);
  return answer;
}

}  // namespace

json cell_json(const store::Value& value) {
  return std::visit(
      [](const auto& cell) -> json {
        using Cell = std::decay_t<decltype(cell)>;
        if constexpr (std::is_same_v<Cell, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<Cell, double>) {
          return std::isfinite(cell) ? json(cell) : json();
        } else {
          return cell;
        }
      },
      value);
}

json rows_json(const store::Table& table, const std::vector<analyze::Column>& columns,
               size_t limit) {
  json heads = json::array();
  for (size_t i = 0; i < table.columns.size(); ++i) {
    heads.push_back(
        {{"name", table.columns[i].name}, {"unit", i < columns.size() ? columns[i].unit : "text"}});
  }
  json rows = json::array();
  for (const auto& row : table.rows) {
    if (rows.size() >= limit) break;
    json::array_t cells;
    cells.reserve(row.size());
    for (const store::Value& value : row) cells.push_back(cell_json(value));
    rows.emplace_back(std::move(cells));
  }
  // A list of initial values would copy the rows.
  json answer = {{"columns", std::move(heads)}, {"total_rows", table.rows.size()}};
  answer["rows"] = std::move(rows);
  return answer;
}

const std::string_view kRowsSchema = R"({
  "type": "object",
  "required": ["columns", "rows", "total_rows"],
  "properties": {
    "columns": {"type": "array", "items": {
      "type": "object", "required": ["name", "unit"], "additionalProperties": false,
      "properties": {"name": {"type": "string"}, "unit": {"type": "string"}}}},
    "rows": {"type": "array", "items": {
      "type": "array", "items": {"type": ["null", "boolean", "number", "string"]}}},
    "total_rows": {"type": "integer", "minimum": 0},
    "offset": {"type": "integer", "minimum": 0},
    "next": {"type": "string", "minLength": 1},
    "is_cut": {"type": "boolean"},
    "not_measured": {"type": "string"},
    "doubts": {"type": "array", "items": {"type": "string"}},
    "analysis": {"type": "string"},
    "parameters": {"type": "object", "additionalProperties": {"type": ["null", "string"]}},
    "comparison": {"type": "string"},
    "evaluations": {"type": "array", "items": {"type": "string"}},
    "batch": {"type": ["null", "integer"]},
    "warnings": {"type": "array", "items": {"type": "string"}}
  },
  "additionalProperties": false
})";

const std::vector<Route>& evaluation_routes() {
  static const std::vector<Route> routes = {
      {.method = "GET",
       .pattern = "/catalogue",
       .scope = catalogue::Scope::kRead,
       .handler = get_catalogue,
       .summary = "The analyses, and the names of the levels.",
       .parameters = {},
       .answer = R"({
         "type": "object", "required": ["analyses", "levels"], "additionalProperties": false,
         "properties": {
           "levels": {"type": "array", "items": {"type": "string"}},
           "analyses": {"type": "array", "items": {
             "type": "object",
             "required": ["id", "name", "title", "question", "description", "needs", "params",
                          "columns", "views"]}}}})"},
      {.method = "GET",
       .pattern = "/evaluations",
       .scope = catalogue::Scope::kRead,
       .handler = get_evaluations,
       .summary = "The evaluations of the folder, the newest first.",
       .parameters = {},
       .answer = R"({
         "type": "object", "required": ["evaluations", "offers", "left_out"],
         "additionalProperties": false,
         "properties": {
           "left_out": {"type": ["null", "integer"]},
           "offers": {"type": "array", "items": {"enum": ["catalogue", "predictions", "queries"]}},
           "evaluations": {"type": "array", "items": {
             "type": "object",
             "required": ["id", "size_bytes", "modified", "status", "reason", "facts", "batches"],
             "properties": {
               "status": {"enum": ["ok", "unreadable"]},
               "facts": {"type": ["object", "null"], "additionalProperties": {"type": "string"}},
               "batches": {"type": "array", "items": {"type": "integer"}}}}}}})"},
      {.method = "GET",
       .pattern = "/evaluations/{}",
       .scope = catalogue::Scope::kRead,
       .handler = get_evaluation,
       .summary = "One evaluation, with its runs and its machine's peaks.",
       .parameters = {{"evaluation", "the evaluation's id"}},
       .answer = R"({
         "type": "object",
         "required": ["id", "size_bytes", "modified", "status", "facts", "batches", "runs",
                      "peaks"],
         "properties": {
           "runs": {"type": "array", "items": {"type": "object", "required": ["run_id"]}},
           "peaks": {"type": "array", "items": {"type": "object"}}}})"},
      {.method = "GET",
       .pattern = "/evaluations/{}/analyses/{}",
       .scope = catalogue::Scope::kRead,
       .handler = get_analysis,
       .summary = "The rows of an analysis of one evaluation.",
       .parameters = {{"evaluation", "the evaluation's id"},
                      {"analysis", "the analysis's name or id"}},
       .answer = kRowsSchema,
       .is_open_ended = true},
  };
  return routes;
}

}  // namespace xsp::serve
