// Units: how a column of numbers is written for a person.
#ifndef XSP_CLI_UNITS_H_
#define XSP_CLI_UNITS_H_

#include <string>
#include <string_view>
#include <vector>

#include "store/database.h"

namespace xsp::cli {

// One scale and one number of decimals for a whole column, chosen from its values, so that a
// column can be read down: 0.021, 12.403 ms.
class Scale {
 public:
  // `unit` is one of analyze::units(); an unknown one counts as "number". Columns of one unit that
  // are compared across share the scale of `largest_beside`, the largest value among them all,
  // unless this column is far below it.
  Scale(std::string_view unit, const std::vector<double>& values, double largest_beside = 0);

  const std::string& label() const { return label_; }  // "ms"; may be empty
  std::string text(double value) const;
  // Of an integer or a double; integers keep every digit where nothing scales them.
  std::string text(const store::Value& value) const;

 private:
  std::string label_;
  double factor_ = 1;
  int decimals_ = 0;
  bool groups_ = false;  // 12,345
  bool plain_ = false;   // shortest form
};

// The value as a double; false if it is not a number.
bool as_number(const store::Value& value, double* number);
// The value in full precision, as CSV and JSON need it; NULL is empty.
std::string raw_text(const store::Value& value);
// The unit that a column's name ends in: "latency_ns" is "ns", "name" is "text" or "number".
std::string unit_of_name(std::string_view name, bool is_number);
// "latency_ns" of unit "ns" is "latency": the unit is written apart.
std::string label_of_name(std::string_view name, std::string_view unit);

}  // namespace xsp::cli

#endif  // XSP_CLI_UNITS_H_
