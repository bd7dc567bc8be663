// Units: formats a column of numbers for a person.
#ifndef XSP_DESK_CLI_UNITS_H_
#define XSP_DESK_CLI_UNITS_H_

#include <string>
#include <string_view>
#include <vector>

#include "desk/store/database.h"

namespace xsp::cli {

// The unit of numbers that are neither scaled nor rounded to few digits: those of a user's query.
inline constexpr const char* kAsIs = "as is";

// The scale and the number of decimals of a whole column. They are chosen from its values, so that
// the column is easy to compare: 0.021, 12.403 ms.
class Scale {
 public:
  // `unit` is one of analyze::units(); an unknown one counts as "number". Columns of one unit that
  // are compared with each other share the scale of `largest_beside`, the largest value of them
  // all, unless this column is far below it. A column whose smallest value would vanish in the unit
  // of its largest takes a smaller one. `sides` are the values of all columns of the same quantity,
  // such as the latency of A and of B: they have one unit, in which three decimals show the
  // smallest.
  Scale(std::string_view unit, const std::vector<double>& values, double largest_beside = 0,
        const std::vector<double>& sides = {});

  const std::string& label() const { return label_; }  // "ms"; may be empty
  std::string text(double value) const;
  // Formats an integer or a double. An integer keeps every digit if it is not scaled.
  std::string text(const store::Value& value) const;

 private:
  std::string label_;
  double factor_ = 1;
  int decimals_ = 0;
  bool groups_ = false;  // as in 12,345
  bool plain_ = false;   // shortest form
};

// Gets the value as a double. Returns false if it is not a number.
bool as_number(const store::Value& value, double* number);
// Returns the value in full precision, as CSV and JSON need it. NULL is empty.
std::string raw_text(const store::Value& value);
// Returns the unit from the end of a column's name: "latency_ns" has "ns", "name" has "text" or
// "number".
std::string unit_of_name(std::string_view name, bool is_number);
// Removes the unit from a name: "latency_ns" with unit "ns" becomes "latency". The unit is written
// separately.
std::string label_of_name(std::string_view name, std::string_view unit);

}  // namespace xsp::cli

#endif  // XSP_DESK_CLI_UNITS_H_
