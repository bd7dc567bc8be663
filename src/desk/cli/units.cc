#include "desk/cli/units.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "desk/analyze/ask.h"
#include "desk/analyze/catalogue.h"

namespace xsp::cli {
namespace {

struct Step {
  double factor;
  const char* label;
};

// Returns the larger units in which values of a unit are written.
const std::vector<Step>& steps_of(std::string_view unit) {
  static const std::vector<Step> time = {{1, "ns"}, {1e3, "us"}, {1e6, "ms"}, {1e9, "s"}};
  static const std::vector<Step> bytes = {
      {1, "B"}, {1024, "KiB"}, {1048576, "MiB"}, {1073741824, "GiB"}, {1099511627776, "TiB"}};
  static const std::vector<Step> flops = {
      {1, "flop"}, {1e3, "kflop"}, {1e6, "Mflop"}, {1e9, "Gflop"}, {1e12, "Tflop"}};
  static const std::vector<Step> flops_per_s = {
      {1, "flop/s"}, {1e6, "Mflop/s"}, {1e9, "Gflop/s"}, {1e12, "Tflop/s"}};
  static const std::vector<Step> bytes_per_s = {
      {1, "B/s"}, {1e6, "MB/s"}, {1e9, "GB/s"}, {1e12, "TB/s"}};
  static const std::vector<Step> flops_per_byte = {{1, "flop/B"}};
  static const std::vector<Step> per_s = {{1, "/s"}};
  static const std::vector<Step> joules = {{1e-6, "uJ"}, {1e-3, "mJ"}, {1, "J"}, {1e3, "kJ"}};
  static const std::vector<Step> watts = {{1, "W"}};
  static const std::vector<Step> pct = {{1, "%"}};
  static const std::vector<Step> none = {{1, ""}};
  if (unit == "ns") return time;
  if (unit == "bytes") return bytes;
  if (unit == "flops") return flops;
  if (unit == "flops_per_s") return flops_per_s;
  if (unit == "bytes_per_s") return bytes_per_s;
  if (unit == "flops_per_byte") return flops_per_byte;
  if (unit == "per_s") return per_s;
  if (unit == "j") return joules;
  if (unit == "w") return watts;
  if (unit == "pct") return pct;
  return none;
}

// Returns the largest unit that does not exceed the value.
Step step_for(std::string_view unit, double value) {
  const std::vector<Step>& steps = steps_of(unit);
  Step best = steps.front();
  for (const Step& step : steps) {
    if (step.factor <= value) best = step;
  }
  return best;
}

// A column takes the scale of its neighbours if its largest value is at least this fraction of that
// unit.
constexpr double kSharedScaleMin = 0.01;

// A unit's value below this loses the digits that tell it from another.
constexpr double kShownMin = 0.01;
constexpr double kSideShownMin = 0.001;
// No value of a column has more digits before its point.
constexpr double kShownMax = 1e6;

// Larger nanosecond values are moments of UNIX time, not durations.
constexpr double kMomentMin = 1e16;

std::string with_groups(std::string digits) {
  const size_t first = digits.starts_with('-') ? 1 : 0;
  const size_t point = std::min(digits.find('.'), digits.size());
  for (size_t i = point; i > first + 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string fixed(double value, int decimals) {
  char buffer[400];
  const auto [end, error] =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, decimals);
  return error == std::errc() ? std::string(buffer, end) : std::string();
}

// Returns the values without their signs, in order; without those that are zero or no number.
std::vector<double> sizes_of(const std::vector<double>& values) {
  std::vector<double> sizes;
  for (const double value : values) {
    if (std::isfinite(value) && value != 0) sizes.push_back(std::fabs(value));
  }
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

Step step_of(std::string_view unit, const std::vector<double>& sizes, double largest_beside,
             double shown_min) {
  const double largest = sizes.empty() ? 0 : sizes.back();
  const Step shared = step_for(unit, std::max(largest, largest_beside));
  const bool is_shared = largest >= kSharedScaleMin * shared.factor;
  Step step = is_shared ? shared : step_for(unit, largest);
  const std::vector<Step>& steps = steps_of(unit);
  for (size_t i = steps.size(); i-- > 1;) {
    if (steps[i].factor != step.factor) continue;
    const bool vanishes = !sizes.empty() && sizes.front() < shown_min * step.factor;
    if (!vanishes || largest >= kShownMax * steps[i - 1].factor) break;
    step = steps[i - 1];
  }
  return step;
}

}  // namespace

Scale::Scale(std::string_view unit, const std::vector<double>& values, double largest_beside,
             const std::vector<double>& sides) {
  const std::vector<double> sizes = sizes_of(values);
  const double largest = sizes.empty() ? 0 : sizes.back();
  const bool is_integral = std::all_of(sizes.begin(), sizes.end(), [](double value) {
    return value == std::floor(value) && value < 1e15;
  });
  if (unit == kAsIs) {
    // Six digits of the middle value, and no exponent where digits serve.
    plain_ = is_integral || largest >= 1e15 || sizes.front() < 1e-9;
    const double middle = sizes.empty() ? 1 : sizes[sizes.size() / 2];
    decimals_ = std::clamp(5 - static_cast<int>(std::floor(std::log10(middle))), 1, 12);
    return;
  }
  if (unit == "number" || unit == "count" || (unit == "ns" && largest >= kMomentMin)) {
    plain_ = !is_integral || unit != "count";
    groups_ = unit == "count";
    return;
  }
  const Step step = sides.empty() ? step_of(unit, sizes, largest_beside, kShownMin)
                                  : step_of(unit, sizes_of(sides), largest_beside, kSideShownMin);
  factor_ = step.factor;
  label_ = step.label;
  groups_ = true;
  if (factor_ == 1 && is_integral && unit != "pct" && unit != "ratio") return;
  // The middle value has three significant digits, or four for times; at most three decimals.
  const double middle = sizes.empty() ? 1 : sizes[sizes.size() / 2] / factor_;
  const int digits = unit == "ns" ? 4 : 3;
  const int decimals = digits - 1 - static_cast<int>(std::floor(std::log10(middle)));
  decimals_ = std::clamp(decimals, unit == "pct" ? 1 : 0, unit == "pct" ? 1 : 3);
}

std::string Scale::text(double value) const {
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  if (plain_) {
    char buffer[64];
    const bool is_integral = value == std::floor(value) && std::fabs(value) < 1e15;
    const auto [end, error] =
        is_integral
            ? std::to_chars(buffer, buffer + sizeof buffer, static_cast<int64_t>(value))
            : std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general, 6);
    return error == std::errc() ? std::string(buffer, end) : std::string();
  }
  const std::string digits = fixed(value / factor_, decimals_);
  return groups_ ? with_groups(digits) : digits;
}

std::string Scale::text(const store::Value& value) const {
  if (plain_ && std::holds_alternative<int64_t>(value)) return raw_text(value);
  double number = 0;
  return as_number(value, &number) ? text(number) : std::string();
}

bool as_number(const store::Value& value, double* number) {
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    *number = static_cast<double>(*integer);
    return true;
  }
  if (const auto* real = std::get_if<double>(&value)) {
    *number = *real;
    return true;
  }
  return false;
}

std::string raw_text(const store::Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<int64_t>(&value)) return std::to_string(*integer);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* real = std::get_if<double>(&value)) {
    char buffer[64];
    const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, *real);
    return error == std::errc() ? std::string(buffer, end) : std::string();
  }
  return {};
}

std::string unit_of_name(std::string_view name, bool is_number) {
  return analyze::unit_of_name(name, is_number);
}

std::string label_of_name(std::string_view name, std::string_view unit) {
  for (const analyze::Unit& one : analyze::units()) {
    if (one.name == unit && name.size() > one.suffix.size() && one.ends(name)) {
      name.remove_suffix(one.suffix.empty() ? 0 : one.suffix.size() + 1);
    }
  }
  std::string label(name);
  std::replace(label.begin(), label.end(), '_', ' ');
  return label;
}

}  // namespace xsp::cli
