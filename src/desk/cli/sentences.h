// Sentences: writes rows of the analysis findings as text for a person.
#ifndef XSP_DESK_CLI_SENTENCES_H_
#define XSP_DESK_CLI_SENTENCES_H_

#include <string>

#include "desk/store/database.h"

namespace xsp::cli {

// A row of a table, by the names of its columns. NULL, and a missing column, give an empty text.
// The table must outlive it.
class Row {
 public:
  Row(const store::Table& table, size_t row) : table_(table), row_(table.rows[row]) {}

  const store::Value& cell(const std::string& column) const;
  std::string text(const std::string& column) const;
  double number(const std::string& column) const;  // 0: not a number

 private:
  const store::Table& table_;
  const std::vector<store::Value>& row_;
};

// Returns false for rows that are not findings: doubts about the measurement, and rules that could
// not be applied.
bool is_finding(const Row& row);

// Returns text like "... (about 12 % of a step).". A bound below ten has one more digit. `unit`
// is "a step" or "an inference".
std::string with_bound(const Row& row, const std::string& unit);

// Returns whether the findings of this file are of steps or of inferences. They must have been
// computed before.
Result<std::string> unit_of_findings(store::Database& database);

}  // namespace xsp::cli

#endif  // XSP_DESK_CLI_SENTENCES_H_
