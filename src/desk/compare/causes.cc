// The table `causes`: how the time of an inference, or of a step, is divided, in each evaluation.
#include <array>
#include <map>
#include <set>

#include "desk/analyze/run.h"
#include "desk/compare/tables.h"

namespace xsp::compare {
namespace {

using store::Value;

constexpr const char* kWhole = "step";  // the row of all causes together
constexpr const char* kTogether = "together";

struct Cause {
  double time_ns = 0;
  double hidden_ns = 0;
};
using Causes = std::map<std::string, Cause>;

// Returns the time of each cause of the analysis time_of_step.
Result<Causes> causes_of(store::Database& database, int64_t batch) {
  XSP_TRY(const analyze::Analysis* const analysis, analyze::find("time_of_step"));
  XSP_TRY(const store::Table table,
          analyze::run(database, *analysis, {{"batch", std::to_string(batch)}}));
  std::array<size_t, 3> place{};
  const std::array names = {"cause", "time_ns", "hidden_ns"};
  for (size_t i = 0; i < table.columns.size(); ++i) {
    for (size_t k = 0; k < names.size(); ++k) {
      if (table.columns[i].name == names[k]) place[k] = i;
    }
  }
  Causes causes;
  for (const auto& row : table.rows) {
    const std::string name = text_of(row[place[0]]);
    Cause& one = causes[name == kWhole ? kTogether : name];
    one.time_ns += number_of(row[place[1]]).value_or(0);
    one.hidden_ns += number_of(row[place[2]]).value_or(0);
  }
  return causes;
}

void add_cause_columns(TableBuilder* table, size_t evaluations) {
  table->column("cause", "text",
                "What the time is for, as in time_of_step: compute is matrix products; launch, "
                "framework and host code are times in which the device waits for the host. "
                "together: all causes.");
  add_difference_columns(table, evaluations, "Time");
  for (size_t e = 0; e < evaluations; ++e) {
    table->column(named("hidden", e), "ns",
                  "Time of it in " + letter_of(e) + " that ran underneath something else.");
  }
}

}  // namespace

Result<Comparison> compare_causes(Databases evaluations, const CompareOptions& options) {
  XSP_TRY(Choice choice, choose_batch(evaluations, "model", options.batch));
  XSP_CHECK_OK(warn_of_distortion(evaluations, "kernel", &choice));
  std::vector<Causes> of;
  std::vector<double> totals;
  std::set<std::string> names;
  for (size_t e = 0; e < evaluations.size(); ++e) {
    of.emplace_back();
    totals.push_back(0);
    if (!choice.has[e]) continue;
    XSP_TRY(of[e], causes_of(*evaluations[e], choice.batch));
    totals[e] = of[e][kTogether].time_ns;
    for (const auto& [name, cause] : of[e]) names.insert(name);
  }
  TableBuilder table;
  add_cause_columns(&table, evaluations.size());
  std::vector<Rank> ranks;
  for (const std::string& name : names) {
    std::vector<Value> cells = {name};
    std::vector<std::optional<double>> times;
    for (size_t e = 0; e < evaluations.size(); ++e) {
      const auto found = of[e].find(name);
      times.push_back(found == of[e].end() ? std::nullopt : std::optional(found->second.time_ns));
    }
    Rank rank = add_differences(times, totals, choice.has, &cells);
    if (name == kTogether) rank = {-1, 0};  // last, as a sum
    ranks.push_back(rank);
    for (const Causes& causes : of) {
      const auto found = causes.find(name);
      cells.push_back(found == causes.end() ? Value() : Value(found->second.hidden_ns));
    }
    table.row(std::move(cells));
  }
  Comparison comparison = std::move(table).finish(ranks);
  comparison.batch = choice.named;
  comparison.warnings = std::move(choice.warnings);
  return comparison;
}

}  // namespace xsp::compare
