#include "adapters/tensorrt/options.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

namespace xsp::tensorrt {
namespace {

bool parse_number(std::string_view text, int least, int most, int* number) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *number);
  return error == std::errc() && stop == end && *number >= least && *number <= most;
}

struct Number {
  const char* key;
  int Options::*value;
  int least;
  int most;
};
constexpr Number kNumbers[] = {
    {"workspace_mib", &Options::workspace_mib, 1, 1 << 20},
    {"optimization_level", &Options::optimization_level, 0, 5},
    {"aux_streams", &Options::aux_streams, 0, 64},
};

struct Choice {
  const char* key;
  std::string Options::*value;
  std::vector<std::string> values;
};
const std::vector<Choice>& choices() {
  static const std::vector<Choice>& all = *new std::vector<Choice>{
      {"precision", &Options::precision, {"fp32", "tf32", "fp16", "bf16"}},
      {"layers", &Options::layers, {"host", "device"}},
  };
  return all;
}

std::string take(const std::string& key, const std::string& value, Options* options) {
  const std::string what = "option '" + key + "': ";
  if (key == "cuda_graph") {
    options->cuda_graph = value == "1";
    if (value == "0" || value == "1") return "";
    return what + "'" + value + "' is neither: give 0 or 1";
  }
  for (const Number& one : kNumbers) {
    if (key != one.key) continue;
    if (parse_number(value, one.least, one.most, &(options->*one.value))) return "";
    return what + "'" + value + "' is not one of them: give a whole number from " +
           std::to_string(one.least) + " to " + std::to_string(one.most);
  }
  for (const Choice& one : choices()) {
    if (key != one.key) continue;
    options->*one.value = value;
    if (std::count(one.values.begin(), one.values.end(), value) > 0) return "";
    std::string all;
    for (const std::string& each : one.values) all += (all.empty() ? "" : ", ") + each;
    return what + "'" + value + "' is not one of them: give one of " + all;
  }
  return what +
         "tensorrt has no such option: it has aux_streams, cuda_graph, layers, "
         "optimization_level, precision, workspace_mib";
}

}  // namespace

std::string parse_options(const xsp_open_options& given, Options* options) {
  for (size_t i = 0; i < given.option_count; ++i) {
    const std::string why = take(given.options[i].key, given.options[i].value, options);
    if (!why.empty()) return why;
  }
  return "";
}

int device_index(const std::string& device) {
  int index = 0;
  if (device == "cuda") return 0;
  const bool is_numbered = device.rfind("cuda:", 0) == 0 &&
                           parse_number(std::string_view(device).substr(5), 0, 1 << 16, &index);
  return is_numbered ? index : -1;
}

std::string engine_text(const Options& options) {
  return options.precision + ",workspace_mib=" + std::to_string(options.workspace_mib) +
         ",optimization_level=" + std::to_string(options.optimization_level) +
         ",aux_streams=" + std::to_string(options.aux_streams);
}

}  // namespace xsp::tensorrt
