#include "desk/compare/compare.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "desk/analyze/prelude.h"
#include "desk/analyze/run.h"
#include "desk/compare/tables.h"
#include "shared/base/nearest.h"
#include "shared/base/words.h"

namespace xsp::compare {

using store::Value;

const std::vector<std::string>& comparison_tables() {
  static const std::vector<std::string> tables = {"model", "causes", "layers", "kernels", "facts"};
  return tables;
}

std::string letter_of(size_t evaluation) {
  return std::string(1, static_cast<char>('A' + evaluation));
}

std::string named(const std::string& what, size_t evaluation) {
  return what + "_" + static_cast<char>('a' + evaluation);
}

std::optional<double> number_of(const Value& value) {
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* whole = std::get_if<int64_t>(&value)) return static_cast<double>(*whole);
  return std::nullopt;
}

std::string text_of(const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? std::string() : *text;
}

Value cell(const std::optional<double>& number) {
  return number ? Value(*number) : Value(std::monostate{});
}

std::string json_of(const std::vector<std::string>& texts) {
  return nlohmann::json(texts).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void TableBuilder::column(const std::string& name, const std::string& unit,
                          const std::string& description) {
  const auto& known = analyze::units();
  const auto found = std::find_if(known.begin(), known.end(),
                                  [&](const analyze::Unit& one) { return one.name == unit; });
  const bool has_suffix = found != known.end() && !found->suffix.empty();
  const std::string full = has_suffix ? name + "_" + std::string(found->suffix) : name;
  comparison_.columns.push_back({full, unit, description});
  const char* type = unit == "text"    ? "VARCHAR"
                     : unit == "bool"  ? "BOOLEAN"
                     : unit == "count" ? "BIGINT"
                                       : "DOUBLE";
  comparison_.table.columns.push_back({full, type});
}

Comparison TableBuilder::finish(const std::vector<Rank>& ranks) && {
  std::vector<size_t> order(rows_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (!ranks.empty()) {
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return ranks[a] > ranks[b]; });
  }
  for (const size_t i : order) comparison_.table.rows.push_back(std::move(rows_[i]));
  return std::move(comparison_);
}

void add_difference_columns(TableBuilder* builder, size_t evaluations, const std::string& of) {
  for (size_t e = 0; e < evaluations; ++e) {
    builder->column(named("latency", e), "ns",
                    of + " in " + letter_of(e) + ", in one inference; empty: it has none.");
  }
  for (size_t e = 1; e < evaluations; ++e) {
    builder->column(named("difference", e), "ns",
                    "How much longer " + letter_of(e) + " takes than A; less than 0: shorter.");
    builder->column(named("share", e), "pct",
                    "Share of the difference in that of all rows together.");
  }
}

Rank add_differences(const std::vector<std::optional<double>>& latencies,
                     const std::vector<double>& totals, const std::vector<bool>& has,
                     std::vector<Value>* cells) {
  Rank rank;
  for (const auto& one : latencies) {
    cells->push_back(cell(one));
    rank.second = std::max(rank.second, one.value_or(0));
  }
  for (size_t e = 1; e < latencies.size(); ++e) {
    if (!has[e]) {
      cells->insert(cells->end(), 2, std::monostate{});
      continue;
    }
    const double difference = latencies[e].value_or(0) - latencies[0].value_or(0);
    const double total = totals[e] - totals[0];
    cells->push_back(difference);
    cells->push_back(total == 0 ? Value(std::monostate{}) : Value(100 * difference / total));
    rank.first = std::max(rank.first, std::abs(difference));
  }
  return rank;
}

namespace {

// Returns why an evaluation has no numbers of a level at any batch size, or an empty text if it
// has.
Result<std::string> why_not(store::Database& database, const std::string& level) {
  XSP_TRY(const store::Table table,
          analyze::query_with_prelude(database, "SELECT why_no_level($level)", {{"level", level}}));
  return text_of(table.rows.at(0).at(0));
}

Result<std::vector<int64_t>> batches_of(store::Database& database, const std::string& level) {
  XSP_TRY(const store::Table table,
          analyze::query_with_prelude(database,
                                      "SELECT CAST(batch AS BIGINT) FROM measured_batches($level)",
                                      {{"level", level}}));
  std::vector<int64_t> batches;
  for (const auto& row : table.rows) {
    if (const auto batch = number_of(row[0])) batches.push_back(static_cast<int64_t>(*batch));
  }
  return batches;
}

bool contains(const std::vector<int64_t>& batches, int64_t batch) {
  return std::find(batches.begin(), batches.end(), batch) != batches.end();
}

// Returns the smallest batch size of the reference that every other evaluation with any batch size
// has, too.
std::optional<int64_t> common_batch(const std::vector<std::vector<int64_t>>& batches) {
  std::vector<int64_t> sorted = batches[0];
  std::sort(sorted.begin(), sorted.end());
  for (const int64_t one : sorted) {
    const bool all = std::all_of(batches.begin(), batches.end(), [&](const auto& list) {
      return list.empty() || contains(list, one);
    });
    if (all) return one;
  }
  return std::nullopt;
}

}  // namespace

Result<Choice> choose_batch(Databases evaluations, const std::string& level,
                            const std::optional<int64_t>& batch) {
  Choice choice;
  std::vector<std::vector<int64_t>> batches;
  std::vector<std::string> reasons;
  bool are_known = true;
  for (store::Database* database : evaluations) {
    XSP_TRY(std::string why, why_not(*database, level));
    batches.emplace_back();
    if (why.empty()) {
      XSP_TRY(batches.back(), batches_of(*database, level));
    }
    reasons.push_back(std::move(why));
    XSP_TRY(const store::Table known,
            analyze::query_with_prelude(*database, "SELECT inputs_of(1) IS NOT NULL"));
    are_known = are_known && std::get<bool>(known.rows.at(0).at(0));
  }
  if (!reasons[0].empty()) return not_available("not measured: A: " + reasons[0]);
  std::optional<int64_t> chosen = batch ? batch : common_batch(batches);
  if (!chosen) {
    std::string all;
    for (size_t e = 0; e < batches.size(); ++e) {
      all += (e == 0 ? "" : "; ") + letter_of(e) + ": " + joined(batches[e]);
    }
    return not_available("not measured: level " + level + " at a batch size that all have: " + all);
  }
  choice.batch = *chosen;
  if (are_known) choice.named = chosen;
  bool is_any = false;
  for (size_t e = 0; e < batches.size(); ++e) {
    choice.has.push_back(contains(batches[e], *chosen));
    if (choice.has[e]) {
      is_any = is_any || e > 0;
      continue;
    }
    if (reasons[e].empty()) {
      reasons[e] = "batch " + std::to_string(*chosen) + ": level " + level +
                   " was measured at batch " + joined(batches[e]);
    }
    choice.warnings.push_back(letter_of(e) + ": not measured: " + reasons[e]);
  }
  if (!choice.has[0] || !is_any) {
    const size_t who = choice.has[0] ? 1 : 0;
    return not_available("not measured: " + letter_of(who) + ": " + reasons[who]);
  }
  return choice;
}

Status warn_of_distortion(Databases evaluations, const std::string& level, Choice* choice) {
  for (size_t e = 0; e < evaluations.size(); ++e) {
    if (!choice->has[e]) continue;
    XSP_TRY(const store::Table doubts,
            analyze::query_with_prelude(
                *evaluations[e],
                "SELECT DISTINCT doubt FROM level_doubt WHERE kind = 'distorted' AND "
                "level_name(level) = $level AND batch = $batch",
                {{"level", level}, {"batch", choice->batch}}));
    for (const auto& row : doubts.rows) {
      choice->warnings.push_back(letter_of(e) + ", batch " + std::to_string(choice->batch) + ": " +
                                 text_of(row[0]));
    }
  }
  return Ok{};
}

Result<Comparison> compare(std::string_view table, Databases evaluations,
                           const CompareOptions& options) {
  if (evaluations.size() < kComparedMin || evaluations.size() > kComparedMax) {
    return usage("compare: " + std::to_string(evaluations.size()) +
                 " evaluations were named: give two to six");
  }
  const auto& tables = comparison_tables();
  if (std::find(tables.begin(), tables.end(), table) == tables.end()) {
    return usage("comparison '" + std::string(table) + "': unknown: " +
                 did_you_mean(std::string(table), tables, "model, causes, layers, kernels, facts"));
  }
  for (store::Database* database : evaluations) analyze::forget_prelude(*database);
  XSP_TRY(Comparison comparison, table == "model"     ? compare_model(evaluations, options)
                                 : table == "causes"  ? compare_causes(evaluations, options)
                                 : table == "layers"  ? compare_layers(evaluations, options)
                                 : table == "kernels" ? compare_kernels(evaluations, options)
                                                      : compare_facts(evaluations));
  XSP_TRY(std::vector<std::string> warnings, warnings_of(evaluations));
  for (std::string& one : comparison.warnings) warnings.push_back(std::move(one));
  comparison.warnings = std::move(warnings);
  XSP_TRY(comparison.other_inputs, other_inputs_of(evaluations));
  return comparison;
}

}  // namespace xsp::compare
