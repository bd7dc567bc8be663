// xsp doctor: checks whether `xsp run` can watch programs here.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "desk/cli/doctor.h"
#include "desk/watch/watch.h"
#include "shared/base/words.h"

namespace xsp::cli {
namespace {

constexpr const char* kKind = "xsp run";

std::string environment_of(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Finding program_finding(const experiment::Installation& installation) {
  const char* const kName = "programs";
  const auto trial = watch::try_attach({"true"}, installation);
  if (!trial.ok()) return {kKind, kName, kNotAvailable, trial.error().text, "see the error"};
  if (!trial->is_recorded) {
    return {kKind, kName, kNotAvailable,
            installation.attach.string() + " could not be preloaded into a program",
            "reinstall xsp, if LD_PRELOAD works here otherwise"};
  }
  return {kKind, kName, kAvailable,
          "by LD_PRELOAD; not those that are linked statically, or set-user-id", ""};
}

// Returns the Python modules whose calls are recorded: the top of python/xsp/watch.
std::string watched_modules(const experiment::Installation& installation) {
  std::vector<std::string> names;
  std::error_code error;
  const std::filesystem::path folder = installation.python / "xsp" / "watch";
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().stem();
    if (name.rfind("__", 0) != 0) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return joined(names, ", ");
}

Finding python_finding(const experiment::Installation& installation) {
  const char* const kName = "Python";
  const auto python = watch::find_program("python3");
  if (!python.ok()) {
    return {kKind, kName, kNotAvailable, "there is no python3 in PATH", "install Python, if used"};
  }
  // The package has a part in C, which must match this Python.
  const auto trial =
      watch::try_attach({"sh", "-c", "exec python3 -c 'import xsp' 2>/dev/null"}, installation);
  if (!trial.ok()) return {kKind, kName, kNotAvailable, trial.error().text, "see the error"};
  if (trial->wait_status != 0) {
    return {kKind, kName, kNotAvailable,
            python->string() + " cannot import xsp from " + installation.python.string(),
            "run: xsp run -- python3 -c 'import xsp'"};
  }
  return {kKind, kName, kAvailable,
          "calls of " + watched_modules(installation) + ", in " + python->string(), ""};
}

// Reports whether a level's collector can be loaded into processes by `variable`, or another tool
// uses the variable.
Finding injection_finding(const char* name, const char* level, const char* variable,
                          const std::vector<experiment::Collector>& collectors) {
  const experiment::Collector* collector = collector_of(collectors, level);
  if (collector == nullptr) {
    return {kKind, name, kNotAvailable, std::string("no collector has the level ") + level,
            std::string("see the level ") + level};
  }
  const std::string other = environment_of(variable);
  if (other.empty()) {
    return {kKind, name, kAvailable, std::string("by ") + variable + ", in processes that use it",
            ""};
  }
  return {kKind, name, kLimited,
          std::string(variable) + " names " + other + ", which is called first and may take it",
          std::string("unset ") + variable};
}

Finding nvtx_finding() {
  const char* const kVariable = "NVTX_INJECTION64_PATH";
  const std::string other = environment_of(kVariable);
  if (other.empty()) return {kKind, "NVTX", kAvailable, "ranges and marks of any program", ""};
  return {kKind, "NVTX", kLimited,
          std::string(kVariable) + " names " + other + ", which gets the ranges instead",
          std::string("unset ") + kVariable};
}

}  // namespace

const experiment::Collector* collector_of(const std::vector<experiment::Collector>& collectors,
                                          const std::string& level) {
  for (const experiment::Collector& one : collectors) {
    if (!one.probe.ok() || !one.probe->unavailable.empty()) continue;
    const auto& levels = one.probe->levels;
    if (std::find(levels.begin(), levels.end(), level) != levels.end()) return &one;
  }
  return nullptr;
}

Findings findings_of_run(const experiment::Installation& installation,
                         const std::vector<experiment::Collector>& collectors) {
  Findings findings;
  // This check comes first, before our own value is set.
  findings.push_back(nvtx_finding());
  findings.push_back(injection_finding("CUDA", "kernel", "CUDA_INJECTION64_PATH", collectors));
  findings.push_back(python_finding(installation));
  findings.push_back(program_finding(installation));
  std::reverse(findings.begin(), findings.end());
  return findings;
}

}  // namespace xsp::cli
