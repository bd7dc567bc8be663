#include "desk/serve/timeline/span.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "desk/serve/http/routes.h"
#include "desk/serve/timeline/cells.h"

namespace xsp::serve {
namespace {

using nlohmann::json;
using store::Database;
using store::Table;

// The facts of a related span.
constexpr const char* kBrief = R"(
    SELECT span_id, parent_id, level, process, thread, device, stream, depth, name, type,
      start_ns, duration_ns, self_ns FROM span WHERE run_id = $run AND )";

struct Brief {
  int64_t span = 0;
  std::optional<int64_t> parent;
  int64_t level = 0;
  json told;
};

json lane_json(const TimelineRun& run, const std::vector<store::Value>& row) {
  const auto lane = run.lane_of(int_of(row[2]), maybe_int(row[3]), maybe_int(row[4]),
                                maybe_int(row[5]), maybe_int(row[6]));
  return lane ? json(*lane) : json();
}

std::vector<Brief> briefs_of(const TimelineRun& run, const Table& table) {
  std::vector<Brief> briefs;
  for (const auto& row : table.rows) {
    Brief one{int_of(row[0]), maybe_int(row[1]), int_of(row[2]), {}};
    one.told = {{"span", one.span},
                {"parent", cell_json(row[1])},
                {"level", one.level},
                {"lane", lane_json(run, row)},
                {"row", std::min<int64_t>(int_of(row[7]), kMaxRows - 1)},
                {"name", cell_json(row[8])},
                {"type", cell_json(row[9])},
                {"start_ns", int_of(row[10]) - run.base_ns()},
                {"duration_ns", cell_json(row[11])},
                {"self_ns", cell_json(row[12])}};
    briefs.push_back(std::move(one));
  }
  return briefs;
}

Result<std::vector<Brief>> read(Database& database, const TimelineRun& run,
                                const std::string& condition, int64_t value, size_t limit) {
  XSP_TRY(const Table table,
          database.query(
              kBrief + condition + " ORDER BY start_ns, span_id LIMIT $limit",
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
  XSP_TRY(const Table table, database.query(R"(
      SELECT span_id, parent_id, level, process, thread, device, stream, depth, name, type,
        start_ns, duration_ns, self_ns, iteration, ordinal, correlation_id, model_id, layer_id,
        is_open, site_id FROM span WHERE run_id = $run AND span_id = $span)",
                                            {{"run", run.run()}, {"span", span}}));
  if (table.rows.empty()) {
    return not_available("span " + std::to_string(span) + ": not in run " +
                         std::to_string(run.run()));
  }
  const auto& row = table.rows[0];
  json answer = std::move(briefs_of(run, table)[0].told);
  for (size_t i = 13; i <= 18; ++i) answer[table.columns[i].name] = cell_json(row[i]);
  for (const size_t i : {3, 4, 5, 6}) answer[table.columns[i].name] = cell_json(row[i]);
  answer["run"] = run.run();
  const int64_t site = int_of(row[19]);
  XSP_TRY(answer["attributes"], facts_of(database, run, span, site, "attribute", "key"));
  XSP_TRY(answer["counters"], facts_of(database, run, span, site, "counter", "name"));
  XSP_TRY(answer["ancestors"], ancestors_of(database, run, maybe_int(row[1])));
  XSP_CHECK_OK(add_descendants(database, run, span, maybe_int(row[16]), &answer));
  XSP_TRY(answer["correlated"], correlated_with(database, run, span, maybe_int(row[15])));
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
  XSP_TRY(Table table, database.query(kBrief + (kFound + part) + " LIMIT $limit",
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
