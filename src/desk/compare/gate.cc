#include "desk/compare/gate.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "desk/compare/tables.h"
#include "shared/base/words.h"

namespace xsp::compare {
namespace {

constexpr const char* kRemedy = ": profile for longer, or the batch sizes that both have";
constexpr const char* kDisturbedRemedy = ": measure again on an idle machine, or with --run";
// Two more recordings of one process each would leave the same doubt.
constexpr const char* kProcessRemedy =
    ": measure with --run, which opens several processes of each";

std::string number_text(const char* format, double value) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// Returns the cell of a row by its column's name, or NULL if there is no such column.
store::Value cell_of(const Comparison& comparison, size_t row, std::string_view column) {
  const auto found = std::find_if(comparison.columns.begin(), comparison.columns.end(),
                                  [&](const analyze::Column& one) { return one.name == column; });
  if (found == comparison.columns.end()) return std::monostate{};
  return comparison.table.rows[row][static_cast<size_t>(found - comparison.columns.begin())];
}

std::string percent_over(double ratio) { return number_text("%.2f", 100 * (ratio - 1)) + " %"; }

// Returns why no regression was seen and none can be ruled out. `seeming` are the batch sizes at
// which B is slower, but for a reason that makes it doubtful; `unknown` are those without a ratio.
Gate unjudged_gate(const std::string& limit, std::vector<std::string> seeming,
                   const std::vector<std::string>& unknown) {
  if (seeming.empty()) {
    return {Gate::State::kUnjudged,
            "no regression by more than " + limit +
                " was seen, and it cannot be ruled out: " + joined(unknown, "; ") + kRemedy};
  }
  const bool needs_processes = std::all_of(
      seeming.begin(), seeming.end(),
      [](const std::string& one) { return one.find(kOneProcess) != std::string::npos; });
  seeming.insert(seeming.end(), unknown.begin(), unknown.end());
  return {Gate::State::kUnjudged, "a regression by more than " + limit +
                                      " cannot be ruled out: " + joined(seeming, "; ") +
                                      (needs_processes ? kProcessRemedy : kDisturbedRemedy)};
}

}  // namespace

Gate judge(const Comparison& model, double limit_pct) {
  if (!model.other_inputs.empty()) {
    return {Gate::State::kUnjudged,
            "the inputs differ: " + model.other_inputs + ": profile both with the same"};
  }
  std::vector<std::string> tripped, seeming, unknown;
  size_t judged = 0;
  for (size_t row = 0; row < model.table.rows.size(); ++row) {
    const auto batch = number_of(cell_of(model, row, "batch"));
    const std::string at = batch ? "batch " + number_text("%.0f", *batch) + ": " : "";
    const std::string state_a = text_of(cell_of(model, row, "state_a"));
    const std::string state_b = text_of(cell_of(model, row, "state_b"));
    const std::string verdict = text_of(cell_of(model, row, "verdict_b"));
    // If A was not measured, B cannot be worse.
    if (state_a != kMeasured) continue;
    const auto ratio = number_of(cell_of(model, row, "ratio_b"));
    const auto low = number_of(cell_of(model, row, "ratio_low_b"));
    if (state_b == kFailed) {
      tripped.push_back(at + "B " + verdict);
    } else if (!model.unknown_batches.empty()) {
      continue;
    } else if (!ratio || !low) {
      unknown.push_back(at + verdict);
    } else if (const bool is_beyond = 100 * (*ratio - 1) > limit_pct;
               is_beyond &&
               std::holds_alternative<std::monostate>(cell_of(model, row, "significant_b"))) {
      const size_t doubt = std::min(verdict.find(kDoubt), verdict.size());
      seeming.push_back(at + "B seems " + percent_over(*ratio) + " longer" + verdict.substr(doubt));
    } else if (++judged; is_beyond && *low > 1) {
      tripped.push_back(at + "B takes " + percent_over(*ratio) + " longer than A, certainly " +
                        percent_over(*low));
    }
  }
  const std::string limit = number_text("%.6g", limit_pct) + " %";
  if (!tripped.empty()) {
    return {Gate::State::kTripped,
            "regression by more than " + limit + ": " + joined(tripped, "; ")};
  }
  if (!model.unknown_batches.empty()) {
    return {Gate::State::kUnjudged, "the inputs are not of one size: " + model.unknown_batches +
                                        ": measure both with batches of one size"};
  }
  if (!seeming.empty() || !unknown.empty()) return unjudged_gate(limit, seeming, unknown);
  if (judged == 0) {
    return {Gate::State::kUnjudged,
            std::string("no batch size was measured in both: there is nothing to judge") + kRemedy};
  }
  return {Gate::State::kPassed, "no certain regression by more than " + limit};
}

}  // namespace xsp::compare
