#include "desk/cli/sweep_names.h"

#include <algorithm>

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
  names.levels = [](const std::string& text) -> Status {
    const auto levels = experiment::parse_levels(text);
    return levels.ok() ? Status(Ok{}) : Status(levels.error());
  };
  names.counters = [](const std::string& text) -> Status {
    const auto counters = experiment::parse_counters(text);
    return counters.ok() ? Status(Ok{}) : Status(counters.error());
  };
  return names;
}

}  // namespace xsp::cli
