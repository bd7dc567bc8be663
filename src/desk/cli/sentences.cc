#include "desk/cli/sentences.h"

#include <cstdio>

#include "desk/cli/units.h"

namespace xsp::cli {
namespace {

std::string without_full_stop(std::string sentence) {
  if (sentence.ends_with('.')) sentence.pop_back();
  return sentence;
}

}  // namespace

const store::Value& Row::cell(const std::string& column) const {
  static const store::Value null;
  for (size_t i = 0; i < table_.columns.size(); ++i) {
    if (table_.columns[i].name == column) return row_[i];
  }
  return null;
}

std::string Row::text(const std::string& column) const { return raw_text(cell(column)); }

double Row::number(const std::string& column) const {
  double value = 0;
  return as_number(cell(column), &value) ? value : 0;
}

bool is_finding(const Row& row) {
  const std::string rule = row.text("rule");
  return rule != "doubt" && rule != "unasked";
}

std::string with_bound(const Row& row, const std::string& unit) {
  double pct = 0;
  if (!as_number(row.cell("gain_pct"), &pct)) {
    return without_full_stop(row.text("finding")) + " (how much it costs is not known).";
  }
  char share[32];
  std::snprintf(share, sizeof share, "%.*f", pct < 10 ? 1 : 0, pct);
  return without_full_stop(row.text("finding")) + " (about " + share + " % of " + unit + ").";
}

Result<std::string> unit_of_findings(store::Database& database) {
  XSP_TRY(const store::Table unit, database.query("SELECT unit FROM finding_step"));
  const bool is_step = !unit.rows.empty() && raw_text(unit.rows[0][0]) == "step";
  return std::string(is_step ? "a step" : "an inference");
}

}  // namespace xsp::cli
