#include "desk/compare/gate.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "desk/compare/tables.h"
#include "shared/base/words.h"

namespace xsp::compare {
namespace {

constexpr const char* kRemedy = ": profile for longer, or the batch sizes that both have";

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

}  // namespace

Gate judge(const Comparison& model, double limit_pct) {
  if (!model.other_inputs.empty()) {
    return {Gate::State::kUnjudged,
            "the inputs differ: " + model.other_inputs + ": profile both with the same"};
  }
  std::vector<std::string> tripped, unjudged;
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
      unjudged.push_back(at + verdict);
    } else if (const bool is_worse = *low > 1 && 100 * (*ratio - 1) > limit_pct;
               is_worse &&
               std::holds_alternative<std::monostate>(cell_of(model, row, "significant_b"))) {
      unjudged.push_back(at + verdict);
    } else if (++judged; is_worse) {
      tripped.push_back(at + "B takes " + number_text("%.2f", 100 * (*ratio - 1)) +
                        " % longer than A, certainly " + number_text("%.2f", 100 * (*low - 1)) +
                        " %");
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
  if (!unjudged.empty()) {
    return {Gate::State::kUnjudged,
            "no regression by more than " + limit +
                " was seen, and it cannot be ruled out: " + joined(unjudged, "; ") + kRemedy};
  }
  if (judged == 0) {
    return {Gate::State::kUnjudged,
            std::string("no batch size was measured in both: there is nothing to judge") + kRemedy};
  }
  return {Gate::State::kPassed, "no certain regression by more than " + limit};
}

}  // namespace xsp::compare
