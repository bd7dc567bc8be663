#include <algorithm>
#include <charconv>
#include <cmath>

#include "pipelines/shared/step.h"
#include "shared/base/nearest.h"
#include "shared/base/words.h"

namespace xsp::pipelines {
namespace {

template <typename Number>
bool parse(std::string_view text, Number* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool parse_finite(std::string_view text, double* number) {
  return parse(text, number) && std::isfinite(*number);
}

}  // namespace

const std::string* Parameters::find(const std::string& name, bool is_required) {
  known_.insert(name);
  const auto found = values_.find(name);
  if (found != values_.end()) return &found->second;
  if (is_required && fault_.empty()) fault_ = "parameter '" + name + "' is missing: give it";
  return nullptr;
}

void Parameters::refuse(const std::string& name, const std::string& why) {
  if (!fault_.empty()) return;
  const auto found = values_.find(name);
  fault_ = name + (found == values_.end() ? "" : " '" + found->second + "'") + ": " + why;
}

int64_t Parameters::integer(const std::string& name, int64_t least, int64_t most,
                            std::optional<int64_t> otherwise) {
  const std::string* text = find(name, !otherwise);
  if (text == nullptr) return otherwise.value_or(least);
  int64_t number = 0;
  if (parse(*text, &number) && number >= least && number <= most) return number;
  refuse(name, "not a whole number from " + std::to_string(least) + " to " + std::to_string(most) +
                   ": write one");
  return least;
}

double Parameters::number(const std::string& name, std::optional<double> otherwise) {
  const std::string* text = find(name, !otherwise);
  if (text == nullptr) return otherwise.value_or(0);
  double number = 0;
  if (!parse_finite(*text, &number)) refuse(name, "not a number: write one such as 0.5");
  return number;
}

std::vector<double> Parameters::numbers(const std::string& name, std::vector<double> otherwise) {
  const std::string* text = find(name, false);
  if (text == nullptr) return otherwise;
  std::vector<double> numbers;
  for (std::string part : split(*text, ',')) {
    part.erase(std::remove(part.begin(), part.end(), ' '), part.end());
    if (!parse_finite(part, &numbers.emplace_back(0))) {
      refuse(name, "not a list of numbers: write one such as [0.5, 0.5, 0.5]");
    }
  }
  if (numbers.empty()) refuse(name, "an empty list: write one such as [0.5, 0.5, 0.5]");
  return numbers;
}

bool Parameters::truth(const std::string& name, bool otherwise) {
  const std::string* text = find(name, false);
  if (text == nullptr) return otherwise;
  if (*text != "true" && *text != "false") refuse(name, "not true or false: write one of them");
  return *text == "true";
}

std::string Parameters::text(const std::string& name) {
  const std::string* text = find(name, true);
  if (text == nullptr) return "";
  if (text->empty()) refuse(name, "empty: write a name");
  return *text;
}

std::string Parameters::word(const std::string& name, const std::vector<std::string>& words,
                             std::optional<std::string> otherwise) {
  const std::string* text = find(name, !otherwise);
  if (text == nullptr) return otherwise.value_or(words[0]);
  if (std::find(words.begin(), words.end(), *text) == words.end()) {
    refuse(name, "unknown: it is one of " + joined(words));
  }
  return *text;
}

Status Parameters::check() const {
  if (!fault_.empty()) return usage(fault_);
  for (const auto& [name, value] : values_) {
    if (known_.count(name) > 0) continue;
    const std::vector<std::string> known(known_.begin(), known_.end());
    return usage(
        "parameter '" + name + "': unknown: " +
        (known.empty() ? "it has none" : did_you_mean(name, known, "it has " + joined(known))));
  }
  return Ok{};
}

}  // namespace xsp::pipelines
