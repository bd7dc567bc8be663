#include "desk/cli/sweep_names.h"

#include <algorithm>
#include <string_view>

#include "desk/cli/profile_model.h"
#include "desk/experiment/frameworks.h"
#include "desk/experiment/plan.h"
#include "desk/scenario/scenario.h"
#include "shared/base/nearest.h"
#include "shared/base/words.h"

namespace xsp::cli {
namespace {

Status check_scenario_name(const std::string& name) {
  const std::vector<std::string> names = scenario::scenario_names();
  if (std::find(names.begin(), names.end(), name) != names.end()) return Ok{};
  return usage(name + ": there is no such scenario: " +
               did_you_mean(name, names, "write profile, or one of " + joined(names)));
}

// A sweep's file has fields in place of the command line's options.
template <typename Parsed>
Status known_if(const Result<Parsed>& parsed, std::string_view option) {
  if (parsed.ok()) return Ok{};
  const std::string& text = parsed.error().text;
  return usage(text.starts_with(option) ? text.substr(option.size()) : text);
}

}  // namespace

Result<sweep::Names> sweep_names() {
  XSP_TRY(const experiment::Installation installation, experiment::this_installation());
  sweep::Names names;
  names.model = [installation](const std::string& word) {
    return check_model_word(word, installation);
  };
  names.framework = [installation](const std::string& name) {
    return experiment::check_framework_name(installation, name);
  };
  names.scenario = check_scenario_name;
  names.levels = [](const std::string& text) {
    return known_if(experiment::parse_levels(text), "--levels: ");
  };
  names.counters = [](const std::string& text) {
    return known_if(experiment::parse_counters(text), "--counters: ");
  };
  return names;
}

}  // namespace xsp::cli
