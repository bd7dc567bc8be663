#include "desk/cli/numbers.h"

#include <charconv>
#include <cstdint>
#include <string_view>

namespace xsp::cli {
namespace {

template <typename T>
bool is_number(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error != std::errc::invalid_argument && end == text.data() + text.size();
}

bool is_whole(std::string_view text) { return is_number<int64_t>(text); }

std::string not_whole(const std::string& text) { return "'" + text + "' is not a whole number"; }

// Returns the error of a value that is out of a range. `option` ends with ": ".
std::string range_error(const std::string& option, const std::string& value,
                        const std::string& range) {
  // CLI11 prints the largest double as the end of a range of any numbers that has none.
  const bool is_open = range.find("e+308]") != std::string::npos;
  if (is_open && !is_number<double>(value)) return option + "'" + value + "' is not a number";
  if (is_open) return option + "Value " + value + " is too small";
  if (!is_whole(value)) return option + not_whole(value);
  return option + "Value " + value + range;
}

}  // namespace

CLI::Validator whole_above_zero() {
  return {[](const std::string& text) {
            if (!is_whole(text)) return not_whole(text);
            const bool is_above = text.find_first_not_of("+-0") < text.size() && text[0] != '-';
            return is_above ? std::string() : "Value " + text + " is too small";
          },
          "POSITIVE"};
}

std::string plain_number_error(const std::string& text) {
  constexpr std::string_view kValue = "Value ", kRange = " not in range ";
  constexpr std::string_view kConversion = "Could not convert: ", kEquals = " = ";
  const size_t value = text.find(kValue), range = text.find(kRange);
  if (value < range && range != std::string::npos) {
    const size_t begin = value + kValue.size();
    return range_error(text.substr(0, value), text.substr(begin, range - begin),
                       text.substr(range));
  }
  const size_t equals = text.find(kEquals);
  if (!text.starts_with(kConversion) || equals == std::string::npos) return text;
  const std::string option = text.substr(kConversion.size(), equals - kConversion.size());
  const std::string given = text.substr(equals + kEquals.size());
  // A number that was refused has a fraction or a sign.
  return option + ": " +
         (is_number<double>(given) ? not_whole(given) : "'" + given + "' is not a number");
}

}  // namespace xsp::cli
