#include "desk/analyze/run.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "desk/analyze/prelude.h"
#include "shared/base/nearest.h"

namespace xsp::analyze {
namespace {

using store::Database;
using store::Table;
using store::Value;

std::string text_of(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<int64_t>(&value)) return std::to_string(*number);
  return {};
}

// Joins a table's first column as text.
std::string join_column(const Table& table) {
  std::string text;
  for (const auto& row : table.rows) text += (text.empty() ? "" : ", ") + text_of(row[0]);
  return text;
}

template <typename T>
std::optional<T> parse_number(const std::string& text) {
  T number{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

std::string least_text(double least) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", least);
  return text;
}

Result<Value> parse_value(const Analysis& analysis, const Param& param, const std::string& text) {
  const auto wrong = [&](const std::string& what) {
    return usage("parameter " + param.name + " of " + analysis.name + ": '" + text + "' is " +
                 what + ": " + param.description);
  };
  // Returns what is wrong with a number that is out of bounds; empty: nothing is.
  const auto out_of_bounds = [&](auto number) -> std::string {
    const auto value = static_cast<double>(number);
    if (!param.least) return "";
    if (param.is_above) return value > *param.least ? "" : "not above " + least_text(*param.least);
    return value >= *param.least ? "" : "below " + least_text(*param.least);
  };
  if (param.type == "integer") {
    const auto number = parse_number<int64_t>(text);
    if (!number) return wrong("not an integer");
    if (const std::string why = out_of_bounds(*number); !why.empty()) return wrong(why);
    return Value(*number);
  }
  if (param.type == "double") {
    const auto number = parse_number<double>(text);
    if (!number || !std::isfinite(*number)) return wrong("not a number");
    if (const std::string why = out_of_bounds(*number); !why.empty()) return wrong(why);
    return Value(*number);
  }
  return Value(text);
}

Result<std::map<std::string, Value>> bind(const Analysis& analysis, const Parameters& parameters) {
  std::map<std::string, Value> bound;
  std::vector<std::string> known;
  for (const Param& param : analysis.params) {
    known.push_back(param.name);
    const auto given = parameters.find(param.name);
    const std::string& text = given == parameters.end() ? param.default_value : given->second;
    if (given == parameters.end() && text == "-") {
      bound[param.name] = std::monostate{};
      continue;
    }
    XSP_TRY(bound[param.name], parse_value(analysis, param, text));
  }
  for (const auto& [name, text] : parameters) {
    if (bound.count(name) != 0) continue;
    std::string all;
    for (const std::string& one : known) all += (all.empty() ? "it takes " : ", ") + one;
    return usage("parameter '" + name + "' of " + analysis.name +
                 ": unknown: " + did_you_mean(name, known, all.empty() ? "it takes none" : all));
  }
  return bound;
}

bool is_level(const std::string& need) {
  return std::count(level_names().begin(), level_names().end(), need) != 0;
}

// Returns the rows of `sql`, which depend on the database alone. A session whose database cannot
// change keeps them as a table of that name, because planning takes longer than most analyses.
Result<Table> query_once(Database& database, const std::string& name, const std::string& sql) {
  if (!database.reads_only()) return query_with_prelude(database, sql);
  if (database.loaded().count(name) == 0) {
    XSP_TRY(const Table made,
            query_with_prelude(database, "CREATE OR REPLACE TEMP TABLE " + name + " AS " + sql));
    (void)made;
    database.loaded().insert(name);
  }
  return database.query("FROM " + name);
}

// Returns why a level, or another need, has no numbers, or nothing if it has. Each need has its own
// macro, because planning a macro that covers all takes longer than most analyses.
Result<std::optional<std::string>> why_not_measured(Database& database, const std::string& need) {
  XSP_TRY(const Table table,
          query_once(database, "kept_why_no_" + need,
                     is_level(need) ? "SELECT why_no_level('" + need + "') AS why"
                                    : "SELECT why_no_" + need + "() AS why"));
  if (table.rows.empty() || std::holds_alternative<std::monostate>(table.rows[0][0])) {
    return std::optional<std::string>();
  }
  return std::optional<std::string>(text_of(table.rows[0][0]));
}

Status check_needs(Database& database, const Analysis& analysis) {
  for (const std::string& need : analysis.needs) {
    XSP_TRY(const std::optional<std::string> why, why_not_measured(database, need));
    if (why) return not_available("not measured: " + *why);
  }
  return Ok{};
}

// Returns the batch sizes at which a need was measured, in their order; none if it has no batch
// size.
Result<Table> batches_of(Database& database, const std::string& need) {
  return query_once(
      database, "kept_batches_of_" + need,
      "SELECT CAST(batch AS BIGINT) AS batch FROM measured_batches('" + need + "') ORDER BY batch");
}

// Fails if a need of the analysis was not measured at the batch size.
Status check_batch(Database& database, const Analysis& analysis, const Value& batch) {
  for (const std::string& need : analysis.needs) {
    // These have no batch size.
    if (need == "peak" || need == "whole" || need == "part") continue;
    XSP_TRY(const Table measured, batches_of(database, need));
    const bool found = std::any_of(measured.rows.begin(), measured.rows.end(),
                                   [&](const auto& row) { return row[0] == batch; });
    if (!found) {
      return not_available("not measured: batch " + text_of(batch) + ": " +
                           (is_level(need) ? "level " + need + " was" : need + " were") +
                           " measured at batch " + join_column(measured));
    }
  }
  return Ok{};
}

// Returns the smallest batch size at which everything that the analysis needs was measured, and the
// model, if that was measured at one of them. NULL: there is none. Steps are no measure: a program
// without a model has no batch size.
Result<Value> default_batch(Database& database, const Analysis& analysis) {
  std::vector<std::string> needs = analysis.needs;
  std::erase_if(needs, [](const auto& need) { return need == "steps" || need == "watched"; });
  needs.push_back("model");
  std::optional<std::vector<Value>> common;
  for (const std::string& need : needs) {
    XSP_TRY(const Table measured, batches_of(database, need));
    if (measured.rows.empty()) continue;
    std::vector<Value> both;
    for (const auto& row : measured.rows) {
      if (!common || std::count(common->begin(), common->end(), row[0]) != 0) {
        both.push_back(row[0]);
      }
    }
    if (!both.empty()) common = std::move(both);
  }
  return common ? common->front() : Value();
}

// Sets the parameter `batch` if it is NULL, and tells the prelude's tables what they are about.
Status choose_batch(Database& database, const Analysis& analysis,
                    std::map<std::string, Value>* bound) {
  const auto batch = bound->find("batch");
  if (batch == bound->end()) return Ok{};
  if (std::holds_alternative<std::monostate>(batch->second)) {
    XSP_TRY(batch->second, default_batch(database, analysis));
  } else {
    XSP_CHECK_OK(check_batch(database, analysis, batch->second));
  }
  AskedFor asked{.batch = batch->second};
  const auto peaks = bound->find("peaks");
  if (peaks != bound->end()) asked.peaks = text_of(peaks->second);
  return ask_for(database, asked);
}

// Fills the table `found` with the rows of the analysis's rules, or of the one requested rule.
Status apply_rules(Database& database, const Analysis& analysis,
                   const std::map<std::string, Value>& bound) {
  const auto asked = bound.find("rule");
  const std::string only = asked == bound.end() ? "" : text_of(asked->second);
  std::vector<std::string> known;
  for (const Rule& rule : analysis.rules) known.push_back(rule.name);
  if (!only.empty() && std::find(known.begin(), known.end(), only) == known.end()) {
    return usage("parameter rule of " + analysis.name + ": '" + only +
                 "': unknown: " + did_you_mean(only, known, "see docs/analyses.md"));
  }
  std::map<std::string, bool> has;  // needs that were measured
  const auto is_asked = [&](const Rule& rule) -> Result<bool> {
    for (const std::string& need : rule.needs) {
      if (has.count(need) == 0) {
        XSP_TRY(const std::optional<std::string> why, why_not_measured(database, need));
        has[need] = !why;
      }
      if (!has[need]) return false;
    }
    return true;
  };
  const auto apply = [&](const Rule& rule, const std::string& sql) -> Status {
    XSP_TRY(const bool asked_for, is_asked(rule));
    if (!asked_for) return Ok{};
    const Result<Table> rows = query_with_prelude(database, sql, bound);
    if (rows.ok()) return Ok{};
    return Error{rows.error().code, "rule " + rule.name + ": " + rows.error().text};
  };
  for (const Rule& facts : analysis.facts) {
    XSP_CHECK_OK(apply(facts, std::string(facts.sql)));
  }
  for (const Rule& rule : analysis.rules) {
    if (!only.empty() && rule.name != only) continue;
    XSP_CHECK_OK(apply(rule, "INSERT INTO found BY NAME SELECT '" + rule.name +
                                 "' AS rule, * FROM (\n" + std::string(rule.sql) + ")"));
  }
  return Ok{};
}

// Returns the numbers of the levels whose figures an analysis shows.
std::string levels_of(const Analysis& analysis) {
  std::string levels;
  const auto& names = level_names();
  std::vector<std::string> shown = analysis.needs;
  shown.insert(shown.end(), analysis.doubts.begin(), analysis.doubts.end());
  for (const std::string& need : shown) {
    const std::string level = need == "counters" || need == "memory" ? "kernel"
                              : need == "steps"                      ? "model"
                                                                     : need;
    const auto found = std::find(names.begin(), names.end(), level);
    if (found == names.end()) continue;
    levels += (levels.empty() ? "" : ", ") + std::to_string(found - names.begin() + 1);
  }
  return levels;
}

bool says(const Table& table, const std::string& text) {
  for (const auto& row : table.rows) {
    for (const Value& cell : row) {
      const auto* said = std::get_if<std::string>(&cell);
      if (said != nullptr && said->find(text) != std::string::npos) return true;
    }
  }
  return false;
}

}  // namespace

Result<std::vector<std::string>> doubts(Database& database, const Analysis& analysis,
                                        const Parameters& parameters, const Table& table) {
  std::vector<std::string> lines;
  const std::string levels = levels_of(analysis);
  if (levels.empty()) return lines;
  XSP_TRY(auto bound, bind(analysis, parameters));
  forget_prelude(database);
  const bool has_batch = bound.count("batch") != 0;
  XSP_TRY(const Table found,
          query_with_prelude(
              database,
              "SELECT DISTINCT doubt, CAST(batch AS BIGINT) AS batch, min(level) AS first, "
              "(SELECT count(DISTINCT batch) > 1 FROM source_run) FROM level_doubt "
              "WHERE level IN (" +
                  levels +
                  ") AND ($all OR batch = coalesce($batch, "
                  "(SELECT min(batch) FROM source_run WHERE level IN (" +
                  levels +
                  ")))) "
                  "GROUP BY doubt, batch ORDER BY batch, first, doubt",
              {{"all", !has_batch}, {"batch", has_batch ? bound["batch"] : Value()}}));
  for (const auto& row : found.rows) {
    const std::string doubt = text_of(row[0]);
    if (says(table, doubt)) continue;
    const bool* several = std::get_if<bool>(&row[3]);
    const bool is_named = !has_batch && several != nullptr && *several;
    lines.push_back(is_named ? "batch " + text_of(row[1]) + ": " + doubt : doubt);
  }
  return lines;
}

Result<Table> run(Database& database, const Analysis& analysis, const Parameters& parameters) {
  XSP_TRY(auto bound, bind(analysis, parameters));
  forget_prelude(database);
  XSP_CHECK_OK(check_needs(database, analysis));
  XSP_CHECK_OK(choose_batch(database, analysis, &bound));
  if (!analysis.rules.empty()) XSP_CHECK_OK(apply_rules(database, analysis, bound));
  return query_with_prelude(database, analysis.sql, bound);
}

}  // namespace xsp::analyze
