#include "desk/serve/timeline/span.h"

#include <algorithm>
#include <iterator>
#include <map>
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

// A query's parameter is one value, so numbers go as a text, which the query takes apart.
constexpr const char* kAmong = " IN (SELECT unnest(string_split($values, ','))::BIGINT)";
std::string text_of_numbers(const std::vector<int64_t>& numbers) {
  std::string text;
  for (const int64_t number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

using Rows = std::vector<std::vector<Value>>;

// Selects rows of the run whose `key` is among the numbers; `rest` may use $limit.
Result<Table> select(Database& database, const TimelineRun& run, const std::string& from,
                     const std::string& key, const std::vector<int64_t>& numbers,
                     const std::string& rest, size_t limit = 0) {
  if (numbers.empty()) return Table{};
  std::map<std::string, Value> parameters = {{"run", run.run()},
                                             {"values", text_of_numbers(numbers)}};
  if (limit != 0) parameters["limit"] = static_cast<int64_t>(limit);
  return database.query("SELECT " + from + " WHERE run_id = $run AND " + key + kAmong + rest,
                        parameters);
}

std::string brief_columns() { return store::select_list(kBriefColumns); }

// Orders rows, and keeps the first of each value of `key`.
std::string first_of(const std::string& key) {
  return " QUALIFY row_number() OVER (PARTITION BY " + key +
         " ORDER BY start_ns, span_id) <= $limit ORDER BY start_ns, span_id";
}

// The spans of one inference, by their parents, and in order.
struct Tree {
  std::vector<int64_t> in_order;
  std::unordered_map<int64_t, std::vector<int64_t>> children;
};

constexpr size_t kSpansOfInference = 200'000;

Result<Tree> tree_of(Database& database, const TimelineRun& run, int64_t model) {
  XSP_TRY(const Table spans,
          select(database, run, "span_id, parent_id FROM span", "model_id", {model},
                 " ORDER BY start_ns, span_id LIMIT $limit", kSpansOfInference));
  Tree tree;
  for (const auto& row : spans.rows) {
    tree.in_order.push_back(int_of(row[0]));
    if (const auto* parent = std::get_if<int64_t>(&row[1])) {
      tree.children[*parent].push_back(int_of(row[0]));
    }
  }
  return tree;
}

std::vector<int64_t> below(const Tree& tree, int64_t top) {
  std::unordered_set<int64_t> found;
  std::vector<int64_t> open = {top};
  while (!open.empty()) {
    const int64_t parent = open.back();
    open.pop_back();
    const auto at = tree.children.find(parent);
    if (at == tree.children.end()) continue;
    for (const int64_t child : at->second) {
      if (found.insert(child).second) open.push_back(child);
    }
  }
  std::vector<int64_t> in_order;
  std::copy_if(tree.in_order.begin(), tree.in_order.end(), std::back_inserter(in_order),
               [&](int64_t span) { return found.contains(span); });
  return in_order;
}

// Holds the facts of some spans of a run; one query of each kind reads them for all spans.
class Spans {
 public:
  Spans(Database& database, const TimelineRun& run) : database_(database), run_(run) {}

  Status load(const std::vector<int64_t>& spans) {
    XSP_CHECK_OK(load_own(spans));
    std::vector<int64_t> found;
    for (const auto& [span, own] : own_) found.push_back(span);
    XSP_CHECK_OK(load_facts(found));
    XSP_CHECK_OK(load_ancestors());
    XSP_CHECK_OK(load_below(found));
    return load_correlated();
  }

  Result<json> json_of(int64_t span) const {
    const auto found = own_.find(span);
    if (found == own_.end()) {
      return not_available("span " + std::to_string(span) + ": not in run " +
                           std::to_string(run_.run()));
    }
    const Own& own = found->second;
    json answer = own.brief.told;
    for (const auto& [name, value] : own.details.items()) {
      if (name != "site_id") answer[name] = value;
    }
    answer["run"] = run_.run();
    answer["attributes"] = facts_json(own.attributes, attributes_of_sites_, own.site, "key");
    answer["counters"] = facts_json(own.counters, counters_of_sites_, own.site, "name");
    answer["ancestors"] = ancestors_json(own);
    add_descendants(own, &answer);
    answer["correlated"] = correlated_json(own);
    return answer;
  }

 private:
  struct Own {
    Brief brief;
    json details;
    int64_t site = 0;
    std::optional<int64_t> model;
    std::optional<int64_t> correlation;
    Rows attributes;
    Rows counters;
    std::vector<Brief> children;
  };

  Status load_own(const std::vector<int64_t>& spans) {
    XSP_TRY(const Table table, select(database_, run_, brief_columns() + " FROM span", "span_id",
                                      spans, " ORDER BY start_ns, span_id"));
    for (Brief& one : briefs_of(run_, table)) {
      known_[one.span] = one;
      own_[one.span].brief = std::move(one);
    }
    std::string columns = "span_id";
    for (const char* name : kDetails) columns += ", " + std::string(name);
    XSP_TRY(const Table details,
            select(database_, run_, columns + " FROM span", "span_id", spans, ""));
    for (const auto& row : details.rows) {
      Own& own = own_[int_of(row[0])];
      for (size_t i = 1; i < row.size(); ++i) {
        own.details[details.columns[i].name] = cell_json(row[i]);
      }
      own.site = own.details["site_id"];
      const auto number = [&](const char* name) -> std::optional<int64_t> {
        const json& value = own.details[name];
        return value.is_null() ? std::nullopt : std::optional(value.get<int64_t>());
      };
      own.model = number("model_id");
      own.correlation = number("correlation_id");
    }
    return Ok{};
  }

  using OfSites = std::unordered_map<int64_t, Rows>;

  Status load_facts(const std::vector<int64_t>& spans) {
    std::vector<int64_t> sites;
    for (const auto& [span, own] : own_) sites.push_back(own.site);
    const auto load = [&](const std::string& kind, const std::string& name, Rows Own::*of_span,
                          OfSites* of_sites) -> Status {
      XSP_TRY(Table table, select(database_, run_, "span_id, " + name + ", value FROM span_" + kind,
                                  "span_id", spans, ""));
      for (auto& row : table.rows) (own_[int_of(row[0])].*of_span).push_back(std::move(row));
      XSP_TRY(table, select(database_, run_, "site_id, " + name + ", value FROM site_" + kind,
                            "site_id", sites, ""));
      for (auto& row : table.rows) (*of_sites)[int_of(row[0])].push_back(std::move(row));
      return Ok{};
    };
    XSP_CHECK_OK(load("attribute", "key", &Own::attributes, &attributes_of_sites_));
    return load("counter", "name", &Own::counters, &counters_of_sites_);
  }

  Status load_ancestors() {
    std::vector<int64_t> wanted;
    const auto want = [&](const Brief& one) {
      if (one.parent && !known_.contains(*one.parent)) wanted.push_back(*one.parent);
    };
    for (const auto& [span, own] : own_) want(own.brief);
    for (size_t round = 0; round < kMaxAncestors && !wanted.empty(); ++round) {
      XSP_TRY(const Table table,
              select(database_, run_, brief_columns() + " FROM span", "span_id", wanted, ""));
      wanted.clear();
      for (Brief& one : briefs_of(run_, table)) {
        want(one);
        known_[one.span] = std::move(one);
      }
    }
    return Ok{};
  }

  Status load_below(const std::vector<int64_t>& spans) {
    XSP_TRY(const Table table, select(database_, run_, brief_columns() + " FROM span", "parent_id",
                                      spans, first_of("parent_id"), kSpansOfInference));
    for (Brief& one : briefs_of(run_, table)) {
      own_[*one.parent].children.push_back(std::move(one));
    }
    for (const auto& [span, own] : own_) {
      if (!own.model || own.children.empty() || trees_.contains(*own.model)) continue;
      XSP_TRY(trees_[*own.model], tree_of(database_, run_, *own.model));
    }
    return Ok{};
  }

  Status load_correlated() {
    std::vector<int64_t> wanted;
    for (const auto& [span, own] : own_) {
      if (own.correlation.value_or(0) != 0) wanted.push_back(*own.correlation);
    }
    XSP_TRY(const Table table,
            select(database_, run_, brief_columns() + ", correlation_id FROM span",
                   "correlation_id", wanted, first_of("correlation_id"), kMaxCorrelated));
    std::vector<Brief> briefs = briefs_of(run_, table);
    for (size_t i = 0; i < briefs.size(); ++i) {
      correlated_[int_of(table.rows[i].back())].push_back(std::move(briefs[i]));
    }
    return Ok{};
  }

  // Returns the facts of a span and of its site, by name.
  static json facts_json(Rows rows, const OfSites& of_sites, int64_t site, const char* name) {
    constexpr size_t kFacts = 1000;
    const auto more = of_sites.find(site);
    if (more != of_sites.end()) rows.insert(rows.end(), more->second.begin(), more->second.end());
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto& a, const auto& b) { return text_of(a[1]) < text_of(b[1]); });
    if (rows.size() > kFacts) rows.resize(kFacts);
    json facts = json::array();
    for (const auto& row : rows) {
      facts.push_back({{name, cell_json(row[1])}, {"value", cell_json(row[2])}});
    }
    return facts;
  }

  // Returns the ancestors, from the parent upwards.
  json ancestors_json(const Own& own) const {
    json ancestors = json::array();
    std::optional<int64_t> parent = own.brief.parent;
    while (parent && ancestors.size() < kMaxAncestors) {
      const auto found = known_.find(*parent);
      if (found == known_.end()) break;
      ancestors.push_back(found->second.told);
      parent = found->second.parent;
    }
    return ancestors;
  }

  void add_descendants(const Own& own, json* answer) const {
    std::vector<int64_t> descendants;
    if (own.model && !own.children.empty()) {
      descendants = below(trees_.at(*own.model), own.brief.span);
    } else {
      for (const Brief& one : own.children) descendants.push_back(one.span);
    }
    (*answer)["total_children"] = own.children.size();
    // Only the children of a span that holds whole inferences are known here.
    (*answer)["total_descendants"] = descendants.size();
    (*answer)["descendants_are_children"] = !own.model;
    if (descendants.size() > kMaxDescendants) descendants.resize(kMaxDescendants);
    (*answer)["children"] = json::array();
    for (size_t i = 0; i < std::min(own.children.size(), kMaxChildren); ++i) {
      (*answer)["children"].push_back(own.children[i].told);
    }
    (*answer)["descendants"] = std::move(descendants);
  }

  // Returns a launch and its executions.
  json correlated_json(const Own& own) const {
    json correlated = json::array();
    const auto found = correlated_.find(own.correlation.value_or(0));
    if (found == correlated_.end()) return correlated;
    for (const Brief& one : found->second) {
      if (one.span == own.brief.span) continue;
      correlated.push_back(one.told);
      correlated.back()["role"] = one.level == 6 ? "execution" : "launch";
    }
    return correlated;
  }

  Database& database_;
  const TimelineRun& run_;
  std::unordered_map<int64_t, Own> own_;
  std::unordered_map<int64_t, Brief> known_;  // the spans themselves, and their ancestors
  std::unordered_map<int64_t, Tree> trees_;   // by the inference
  std::unordered_map<int64_t, std::vector<Brief>> correlated_;  // by the correlation's number
  OfSites attributes_of_sites_;
  OfSites counters_of_sites_;
};

}  // namespace

Result<std::vector<json>> spans_json(Database& database, const TimelineRun& run,
                                     const std::vector<int64_t>& spans) {
  Spans known(database, run);
  XSP_CHECK_OK(known.load(spans));
  std::vector<json> answers;
  for (const int64_t span : spans) {
    XSP_TRY(json one, known.json_of(span));
    answers.push_back(std::move(one));
  }
  return answers;
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
  XSP_TRY(Table table,
          database.query("SELECT " + brief_columns() + " FROM span WHERE run_id = $run AND " +
                             kFound + part + " LIMIT $limit",
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
