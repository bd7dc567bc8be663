// Sentences: rows of the analysis findings, as they are said to a person.
#ifndef XSP_CLI_SENTENCES_H_
#define XSP_CLI_SENTENCES_H_

#include <string>

#include "store/database.h"

namespace xsp::cli {

// A row of a table, by the names of its columns; NULL, and a column that is not there, is an empty
// text. The table must outlive it.
class Row {
 public:
  Row(const store::Table& table, size_t row) : table_(table), row_(table.rows[row]) {}

  const store::Value& cell(const std::string& column) const;
  std::string text(const std::string& column) const;
  double number(const std::string& column) const;  // 0: it is none

 private:
  const store::Table& table_;
  const std::vector<store::Value>& row_;
};

// Rows of findings that are none: what puts the measurement in doubt, and what was not asked.
bool is_finding(const Row& row);

// "... (at most 12 % of a step).": a bound below ten has one more digit. `unit` is "a step" or "an
// inference".
std::string with_bound(const Row& row, const std::string& unit);

// Whether the findings of this file, which were just asked for, are of steps or of inferences.
Result<std::string> unit_of_findings(store::Database& database);

}  // namespace xsp::cli

#endif  // XSP_CLI_SENTENCES_H_
