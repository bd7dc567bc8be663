#include "executors/shared/executor.h"

#include <algorithm>

#include "shared/base/nearest.h"
#include "shared/base/words.h"

namespace xsp::executors {

Result<Executor> find_executor(const std::string& name) {
  std::vector<std::string> names;
  for (Executor& one : all_executors()) {
    if (one.name == name) return std::move(one);
    names.push_back(one.name);
  }
  return usage("executor '" + name +
               "': unknown: " + did_you_mean(name, names, "name one of " + joined(names)));
}

Status check_settings(const Executor& executor, const Settings& settings) {
  std::vector<std::string> names;
  for (const Setting& one : executor.settings) names.push_back(one.name);
  for (const auto& [name, texts] : settings) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return usage("executors." + executor.name + "." + name + ": there is no such setting: " +
                 did_you_mean(name, names, "write one of " + joined(names)));
  }
  for (const Setting& one : executor.settings) {
    if (!one.is_required || !text_of(settings, one.name).empty()) continue;
    return usage("executors." + executor.name + ": '" + one.name + "' is missing: it is " +
                 one.title);
  }
  return Ok{};
}

std::string text_of(const Settings& settings, const std::string& name,
                    const std::string& otherwise) {
  const auto found = settings.find(name);
  return found == settings.end() || found->second.empty() ? otherwise : found->second.front();
}

std::vector<std::string> texts_of(const Settings& settings, const std::string& name) {
  const auto found = settings.find(name);
  return found == settings.end() ? std::vector<std::string>{} : found->second;
}

}  // namespace xsp::executors
