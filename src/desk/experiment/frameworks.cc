#include "desk/experiment/frameworks.h"

#include <unistd.h>

#include <algorithm>

#include "shared/base/words.h"

namespace xsp::experiment {
namespace {

namespace fs = std::filesystem;

// The limit on a framework's answer to a probe. A framework that takes longer is skipped.
constexpr WorkerLimits kProbeLimits{.answer_s = 60, .grace_s = 0};

std::vector<std::string> plugin_names(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".so") names.push_back(it->path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Returns the endings of a model: that of its file, or those of the files in its folder.
std::vector<std::string> endings_of(const fs::path& model) {
  std::error_code error;
  if (!fs::is_directory(model, error)) return {model.extension()};
  std::vector<std::string> endings;
  for (fs::directory_iterator it(model, error), end; !error && it != end; it.increment(error)) {
    if (it->is_regular_file(error)) endings.push_back(it->path().extension());
  }
  return endings;
}

Framework probe_one(const Installation& installation, const std::string& name,
                    const std::atomic<int>& stop) {
  const fs::path adapter = installation.adapters / (name + ".so");
  return {name, adapter, probe_adapter(installation.worker, adapter, kProbeLimits, stop)};
}

}  // namespace

Result<Installation> this_installation() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return failed("/proc/self/exe: cannot be read: is /proc mounted?");
  const fs::path folder = program.parent_path();
  const fs::path libraries = folder.parent_path() / "lib";
  const fs::path own = libraries / "xsp";
  return Installation{folder / "xsp-worker", own / "adapters", own / "collectors",
                      libraries / "libxsp-attach.so", own / "python"};
}

std::vector<std::string> framework_names(const Installation& installation) {
  return plugin_names(installation.adapters);
}

std::vector<Collector> probe_collectors(const Installation& installation, const std::string& device,
                                        const std::atomic<int>& stop) {
  std::vector<Collector> collectors;
  for (const std::string& name : plugin_names(installation.collectors)) {
    const fs::path path = installation.collectors / (name + ".so");
    collectors.push_back(
        {name, path, probe_collector(installation.worker, path, device, kProbeLimits, stop)});
  }
  return collectors;
}

Result<std::vector<std::string>> counter_names(const Installation& installation,
                                               const std::filesystem::path& collector,
                                               const std::atomic<int>& stop) {
  return counter_names(installation.worker, collector, kProbeLimits, stop);
}

std::vector<Framework> probe_frameworks(const Installation& installation,
                                        const std::vector<std::string>& names,
                                        const std::atomic<int>& stop) {
  std::vector<Framework> frameworks;
  for (const std::string& name : names) frameworks.push_back(probe_one(installation, name, stop));
  return frameworks;
}

Result<Framework> choose_framework(const Installation& installation, const std::string& wanted,
                                   const std::string& model, const std::atomic<int>& stop) {
  const std::vector<std::string> names = framework_names(installation);
  const auto is_known = [&names](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::string chosen = wanted;
  if (chosen.empty()) {
    const std::string prefix = model.substr(0, model.find(':'));
    if (prefix != model && is_known(prefix)) chosen = prefix;
  }
  if (!chosen.empty()) {
    if (!is_known(chosen)) {
      return not_available("--framework " + chosen + ": there is no such adapter: choose from " +
                           (names.empty() ? "none is installed" : joined(names)) +
                           ", or see 'xsp doctor'");
    }
    Framework framework = probe_one(installation, chosen, stop);
    if (!framework.probe.ok()) return framework.probe.error();
    return framework;
  }
  const std::vector<std::string> endings = endings_of(model);
  const auto opens = [&endings](const std::string& format) {
    return !format.empty() && std::find(endings.begin(), endings.end(), format) != endings.end();
  };
  std::string reasons;
  for (Framework& framework : probe_frameworks(installation, names, stop)) {
    if (!framework.probe.ok()) {
      reasons += "; " + framework.probe.error().text;
      continue;
    }
    const auto& formats = framework.probe->formats;
    if (std::any_of(formats.begin(), formats.end(), opens)) return framework;
  }
  return not_available(model + ": no framework here opens files ending in '" + joined(endings) +
                       "': name one with --framework, or see 'xsp doctor'" + reasons);
}

}  // namespace xsp::experiment
