#include "adapters/torch/options.h"

#include <cstdlib>
#include <optional>
#include <string_view>

namespace xsp::torch_adapter {
namespace {

struct Switch {
  std::string_view key;
  bool Options::*value;
};
// These have no value until they are given: torch has a default of its own.
struct Choice {
  std::string_view key;
  std::optional<bool> Options::*value;
};
constexpr Choice kChoices[] = {{"fuser", &Options::fuser}, {"tf32", &Options::tf32}};
constexpr Switch kSwitches[] = {
    {"cuda_graph", &Options::cuda_graph},
    {"freeze", &Options::freeze},
    {"optimize_for_inference", &Options::optimize_for_inference},
    {"channels_last", &Options::channels_last},
    {"nested", &Options::nested},
};

// Takes the option if `all` has it; returns the error, if any.
template <typename All>
std::optional<std::string> take_truth(const All& all, std::string_view key,
                                      const std::string& value, Options* options) {
  for (const auto& known : all) {
    if (known.key != key) continue;
    if (value != "0" && value != "1") return "'" + value + "' is neither: give 0 or 1";
    options->*known.value = value == "1";
    return "";
  }
  return std::nullopt;
}

std::string take(std::string_view key, const std::string& value, Options* options) {
  const std::string what = "option '" + std::string(key) + "': ";
  std::optional<std::string> error = take_truth(kSwitches, key, value, options);
  if (!error) error = take_truth(kChoices, key, value, options);
  if (error) return error->empty() ? "" : what + *error;
  if (key == "dtype") {
    if (value != "float32" && value != "float16" && value != "bfloat16") {
      return what + "'" + value + "' is none: give float32, float16 or bfloat16";
    }
    options->dtype = value;
    return "";
  }
  if (key == "repeat_s") {
    char* end = nullptr;
    options->repeat_s = std::strtod(value.c_str(), &end);
    if (*end == '\0' && options->repeat_s > 0 && options->repeat_s < 1000) return "";
    return what + "'" + value + "' is no time in seconds: give one, e.g. 2.5";
  }
  if (key == "signature") {
    options->signature = value;
    return "";
  }
  if (key == "library") {
    options->libraries.push_back(value);
    return "";
  }
  std::string known = "dtype, library, repeat_s, signature";
  for (const Choice& one : kChoices) known += ", " + std::string(one.key);
  for (const Switch& one : kSwitches) known += ", " + std::string(one.key);
  return what + "torch has no such option: it has " + known;
}

}  // namespace

std::string parse_options(const xsp_open_options& given, Options* options) {
  if (given.inputs != nullptr) options->shapes = given.inputs;
  for (size_t i = 0; i < given.option_count; ++i) {
    const std::string why = take(given.options[i].key, given.options[i].value, options);
    if (!why.empty()) return why;
  }
  return "";
}

}  // namespace xsp::torch_adapter
