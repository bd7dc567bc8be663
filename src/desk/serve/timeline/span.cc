#include "desk/serve/timeline/span.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "desk/serve/http/routes.h"
#include "desk/serve/timeline/rows.h"

namespace xsp::serve {
namespace {

using nlohmann::json;
using store::Database;
using store::Table;

// Selects the facts of related spans; a condition follows.
std::string brief_query() {
  return "SELECT " + store::select_list(kBriefColumns) + " FROM span WHERE run_id = $run AND ";
}

// The columns of span that are told of the span in question alone, by their own names.
constexpr const char* kDetails[] = {"process",   "thread",  "device",         "stream",
                                    "iteration", "ordinal", "correlation_id", "model_id",
                                    "layer_id",  "is_open", "site_id"};

struct Brief {
  int64_t span = 0;
  std::optional<int64_t> parent;
  int64_t level = 0;
  json told;
};

std::vector<Brief> briefs_of(const TimelineRun& run, const Table& table) {
  std::vector<Brief> briefs;
  for (const auto& cells : table.rows) {
    const BriefRow row = store::read_row(kBriefColumns, cells);
    const Place& place = row.place;
    const auto lane =
        run.lane_of(place.level, place.process, place.thread, place.device, place.stream);
    Brief one{row.span, row.parent, place.level, {}};
    one.told = {{"span", row.span},
                {"parent", row.parent ? json(*row.parent) : json()},
                {"level", place.level},
                {"lane", lane ? json(*lane) : json()},
                {"row", std::min<int64_t>(row.depth, kMaxRows - 1)},
                {"name", row.name},
                {"type", cell_json(row.type)},
                {"start_ns", row.start_ns - run.base_ns()},
                {"duration_ns", row.duration_ns},
                {"self_ns", row.self_ns}};
    briefs.push_back(std::move(one));
  }
  return briefs;
}

Result<std::vector<Brief>> read(Database& database, const TimelineRun& run,
                                const std::string& condition, int64_t value, size_t limit) {
  XSP_TRY(const Table table,
          database.query(
              brief_query() + condition + " ORDER BY start_ns, span_id LIMIT $limit",
              {{"run", run.run()}, {"value", value}, {"limit", static_cast<int64_t>(limit)}}));
  return briefs_of(run, table);
}

// Returns the ancestors, from the parent upwards.
Result<json> ancestors_of(Database& database, const TimelineRun& run,
                          std::optional<int64_t> parent) {
  json ancestors = json::array();
  while (parent && ancestors.size() < kMaxAncestors) {
    XSP_TRY(auto found, read(database, run, "span_id = $value", *parent, 1));
    if (found.empty()) break;
    ancestors.push_back(std::move(found[0].told));
    parent = found[0].parent;
  }
  return ancestors;
}

// Returns the spans below `top`, from the spans of one inference, which include all of them.
std::unordered_set<int64_t> below(const std::vector<Brief>& spans, int64_t top) {
  std::unordered_map<int64_t, std::vector<int64_t>> children;
  for (const Brief& one : spans) {
    if (one.parent) children[*one.parent].push_back(one.span);
  }
  std::unordered_set<int64_t> found;
  std::vector<int64_t> open = {top};
  while (!open.empty()) {
    const int64_t parent = open.back();
    open.pop_back();
    const auto at = children.find(parent);
    if (at == children.end()) continue;
    for (const int64_t child : at->second) {
      if (found.insert(child).second) open.push_back(child);
    }
  }
  return found;
}

Status add_descendants(Database& database, const TimelineRun& run, int64_t span,
                       std::optional<int64_t> model, json* answer) {
  constexpr size_t kSpansOfInference = 200'000;
  XSP_TRY(const auto spans,
          model ? read(database, run, "model_id = $value", *model, kSpansOfInference)
                : read(database, run, "parent_id = $value", span, kSpansOfInference));
  const auto descendants = below(spans, span);
  json children = json::array();
  json ids = json::array();
  size_t child_count = 0;
  for (const Brief& one : spans) {
    if (!descendants.contains(one.span)) continue;
    if (ids.size() < kMaxDescendants) ids.push_back(one.span);
    if (one.parent != span) continue;
    if (++child_count <= kMaxChildren) children.push_back(one.told);
  }
  (*answer)["children"] = std::move(children);
  (*answer)["total_children"] = child_count;
  (*answer)["descendants"] = std::move(ids);
  // Only the children of a span that holds whole inferences are known here.
  (*answer)["total_descendants"] = descendants.size();
  (*answer)["descendants_are_children"] = !model;
  return Ok{};
}

Result<json> facts_of(Database& database, const TimelineRun& run, int64_t span, int64_t site,
                      const char* kind, const char* name) {
  const std::string what = kind;
  XSP_TRY(const Table table,
          database.query("SELECT " + std::string(name) + ", value FROM span_" + what +
                             " WHERE run_id = $run AND span_id = $span UNION ALL SELECT " + name +
                             ", value FROM site_" + what +
                             " WHERE run_id = $run AND site_id = $site ORDER BY 1 LIMIT 1000",
                         {{"run", run.run()}, {"span", span}, {"site", site}}));
  json facts = json::array();
  for (const auto& row : table.rows) {
    facts.push_back({{name, cell_json(row[0])}, {"value", cell_json(row[1])}});
  }
  return facts;
}

// Returns the details of one span, by name. The span must exist.
Result<json> details_of(Database& database, const TimelineRun& run, int64_t span) {
  std::string columns;
  for (const char* name : kDetails) columns += (columns.empty() ? "" : ", ") + std::string(name);
  XSP_TRY(const Table table,
          database.query("SELECT " + columns + " FROM span WHERE run_id = $run AND span_id = $span",
                         {{"run", run.run()}, {"span", span}}));
  json details;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    details[table.columns[i].name] = cell_json(table.rows[0][i]);
  }
  return details;
}

// Returns a launch and its executions.
Result<json> correlated_with(Database& database, const TimelineRun& run, int64_t span,
                             std::optional<int64_t> correlation) {
  json correlated = json::array();
  if (!correlation || *correlation == 0) return correlated;
  XSP_TRY(auto found, read(database, run, "correlation_id = $value", *correlation, kMaxCorrelated));
  for (Brief& one : found) {
    if (one.span == span) continue;
    one.told["role"] = one.level == 6 ? "execution" : "launch";
    correlated.push_back(std::move(one.told));
  }
  return correlated;
}

}  // namespace

Result<json> span_json(Database& database, const TimelineRun& run, int64_t span) {
  XSP_TRY(auto found, read(database, run, "span_id = $value", span, 1));
  if (found.empty()) {
    return not_available("span " + std::to_string(span) + ": not in run " +
                         std::to_string(run.run()));
  }
  json answer = std::move(found[0].told);
  XSP_TRY(const json details, details_of(database, run, span));
  for (const auto& [name, value] : details.items()) {
    if (name != "site_id") answer[name] = value;
  }
  answer["run"] = run.run();
  const int64_t site = details["site_id"];
  const auto number = [&](const char* name) -> std::optional<int64_t> {
    const json& value = details[name];
    return value.is_null() ? std::nullopt : std::optional(value.get<int64_t>());
  };
  XSP_TRY(answer["attributes"], facts_of(database, run, span, site, "attribute", "key"));
  XSP_TRY(answer["counters"], facts_of(database, run, span, site, "counter", "name"));
  XSP_TRY(answer["ancestors"], ancestors_of(database, run, found[0].parent));
  XSP_CHECK_OK(add_descendants(database, run, span, number("model_id"), &answer));
  XSP_TRY(answer["correlated"], correlated_with(database, run, span, number("correlation_id")));
  return answer;
}

Result<json> search_json(Database& database, const TimelineRun& run, const std::string& text,
                         int64_t from_ns, std::optional<int64_t> before_ns) {
  constexpr const char* kFound = "contains(lower(name), lower($text))";
  XSP_TRY(const Table total,
          database.query(std::string("SELECT count(*), count(*) FILTER (start_ns < $from) FROM "
                                     "span WHERE run_id = $run AND ") +
                             kFound,
                         {{"run", run.run()},
                          {"text", text},
                          {"from", run.base_ns() + before_ns.value_or(from_ns)}}));
  const std::string part = before_ns ? " AND start_ns < $at ORDER BY start_ns DESC, span_id DESC"
                                     : " AND start_ns >= $at ORDER BY start_ns, span_id";
  XSP_TRY(Table table, database.query(brief_query() + kFound + part + " LIMIT $limit",
                                      {{"run", run.run()},
                                       {"text", text},
                                       {"at", run.base_ns() + before_ns.value_or(from_ns)},
                                       {"limit", static_cast<int64_t>(kMaxMatches)}}));
  if (before_ns) std::reverse(table.rows.begin(), table.rows.end());
  json matches = json::array();
  for (Brief& one : briefs_of(run, table)) matches.push_back(std::move(one.told));
  const int64_t earlier = int_of(total.rows[0][1]);
  const auto shown = static_cast<int64_t>(matches.size());
  return json{{"run", run.run()},
              {"text", text},
              {"total", cell_json(total.rows[0][0])},
              {"first", before_ns ? earlier - shown : earlier},  // index of matches[0], from 0
              {"matches", std::move(matches)}};
}

}  // namespace xsp::serve
