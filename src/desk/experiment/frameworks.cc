#include "desk/experiment/frameworks.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>

#include "desk/experiment/local.h"
#include "shared/base/nearest.h"
#include "shared/base/words.h"

namespace xsp::experiment {
namespace {

namespace fs = std::filesystem;

// The limit on a framework's answer to a probe. A framework that takes longer is skipped.
constexpr WorkerLimits kProbeLimits{.answer_s = 60, .grace_s = 0};

// Returns the names of the files with that ending, in order.
std::vector<std::string> names_of(const fs::path& folder, const std::string& ending) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ending) names.push_back(it->path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> plugin_names(const fs::path& folder) { return names_of(folder, ".so"); }

// Returns the endings of a model: that of its file, or those of the files in its folder. Returns
// none for a folder without files.
std::vector<std::string> endings_of(const fs::path& model) {
  std::error_code error;
  if (!fs::is_directory(model, error)) return {model.extension()};
  std::vector<std::string> endings;
  for (fs::directory_iterator it(model, error), end; !error && it != end; it.increment(error)) {
    if (it->is_regular_file(error)) endings.push_back(it->path().extension());
  }
  return endings;
}

Framework probe_file(const Installation& installation, const std::string& name,
                     const fs::path& adapter, const std::atomic<int>& stop) {
  return {name, adapter, probe_adapter(installation.worker, adapter, kProbeLimits, stop)};
}

// Probes an installed adapter. If it does not find its framework, the Python environment may have
// it.
Framework probe_one(const Installation& installation, const std::string& name,
                    const std::vector<LocalFramework>& locals, const std::atomic<int>& stop) {
  const fs::path adapter = installation.adapters / (name + ".so");
  Framework framework = probe_file(installation, name, adapter, stop);
  if (framework.probe.ok() || stop != 0) return framework;
  for (const LocalFramework& local : locals) {
    if (local.name == name && local.opens.empty() && local_status(local).ok()) {
      return probe_file(installation, name, adapter, stop);
    }
  }
  return framework;
}

// Probes the adapter for the framework of the user's Python, which is built if need be; else the
// installed one.
Framework probe_best(const Installation& installation, const std::string& name,
                     const LocalFramework& local, const std::atomic<int>& stop) {
  const fs::path installed = installation.adapters / (name + ".so");
  std::error_code error;
  std::optional<Framework> found;
  if (fs::exists(installed, error)) found = probe_file(installation, name, installed, stop);
  const bool is_usable = found && found->probe.ok();
  const auto adapter = local_adapter(local, is_usable ? found->probe->library : "");
  if (adapter.ok() && adapter->has_value()) return probe_file(installation, name, **adapter, stop);
  if (is_usable) return *found;
  return {name, installed, adapter.ok() ? found->probe : adapter.error()};
}

// Returns the helper that builds this framework's adapter, or null.
const LocalFramework* local_of(const std::vector<LocalFramework>& locals, const std::string& name) {
  const auto at = std::find_if(locals.begin(), locals.end(), [&](const LocalFramework& one) {
    return one.name == name && !one.opens.empty();
  });
  return at == locals.end() ? nullptr : &*at;
}

std::string unknown_adapter(const std::string& name, const std::vector<std::string>& names) {
  const std::string all = "choose from " + (names.empty() ? "none is installed" : joined(names)) +
                          ", or see 'xsp doctor'";
  return name + ": there is no such adapter: " + did_you_mean(name, names, all);
}

Error interrupted() { return {Code::kInterrupted, "interrupted: nothing was measured"}; }

// Returns what to do about a file that no framework opens.
std::string remedy_for(const std::string& model, const std::string& ending) {
  if (ending == ".py") {
    return "name a function of it that returns a model, " + model +
           ":FUNCTION, or watch it: xsp run -- python " + model;
  }
  // Python's packages write these: weights alone, or a model that only its own classes read.
  for (const char* const weights : {".safetensors", ".ckpt", ".keras", ".h5"}) {
    if (ending == weights) {
      return "write a function in Python that loads it, and profile FILE.py:FUNCTION";
    }
  }
  return "name one with --framework, or see 'xsp doctor'";
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

std::vector<Absent> absent_adapters(const Installation& installation) {
  std::vector<Absent> absent;
  std::error_code error;
  for (fs::directory_iterator it(installation.adapters, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() != ".absent") continue;
    std::ifstream file(it->path());
    std::string reason;
    std::getline(file, reason);
    absent.emplace_back(it->path().stem(), reason);
  }
  return absent;
}

Status check_framework_name(const Installation& installation, const std::string& name) {
  std::vector<std::string> names = framework_names(installation);
  for (const auto& [absent, reason] : absent_adapters(installation)) names.push_back(absent);
  for (const LocalFramework& local : local_frameworks(installation.adapters)) {
    names.push_back(local.name);
  }
  for (std::string& fetched : names_of(installation.adapters, ".get")) {
    names.push_back(std::move(fetched));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (std::binary_search(names.begin(), names.end(), name)) return Ok{};
  return usage(unknown_adapter(name, names));
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
  const std::vector<LocalFramework> locals = local_frameworks(installation.adapters);
  for (const std::string& name : names) {
    frameworks.push_back(probe_one(installation, name, locals, stop));
  }
  return frameworks;
}

Result<Framework> choose_framework(const Installation& installation, const std::string& wanted,
                                   const std::string& model, const std::atomic<int>& stop) {
  std::vector<std::string> names = framework_names(installation);
  const std::vector<LocalFramework> locals = local_frameworks(installation.adapters);
  for (const LocalFramework& local : locals) {
    if (!local.opens.empty() && std::find(names.begin(), names.end(), local.name) == names.end()) {
      names.push_back(local.name);
    }
  }
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
      return not_available("--framework " + unknown_adapter(chosen, names));
    }
    const LocalFramework* const local = local_of(locals, chosen);
    Framework framework = local == nullptr ? probe_one(installation, chosen, locals, stop)
                                           : probe_best(installation, chosen, *local, stop);
    if (stop != 0) return interrupted();
    if (!framework.probe.ok()) return framework.probe.error();
    return framework;
  }
  const std::vector<std::string> endings = endings_of(model);
  if (endings.empty()) {
    return failed(model + ": is a folder without files: name a model's file");
  }
  const auto opens = [&endings](const std::string& format) {
    return !format.empty() && std::find(endings.begin(), endings.end(), format) != endings.end();
  };
  std::string reasons;
  for (const std::string& name : names) {
    const LocalFramework* const local = local_of(locals, name);
    const bool is_local =
        local != nullptr && std::any_of(local->opens.begin(), local->opens.end(), opens);
    if (local != nullptr && !is_local) continue;
    Framework framework = is_local ? probe_best(installation, name, *local, stop)
                                   : probe_one(installation, name, locals, stop);
    if (stop != 0) return interrupted();
    if (!framework.probe.ok()) {
      // A framework that is known to open such files is the one that the user wants.
      if (is_local) return framework.probe.error();
      // One that can be fetched is advised for the files that it opens alone.
      const auto fetched = words_after(installation.adapters / (name + ".get"), "# opens:");
      if (fetched.empty() || std::any_of(fetched.begin(), fetched.end(), opens)) {
        reasons += (reasons.empty() ? "" : "; ") + framework.probe.error().text;
      }
      continue;
    }
    const auto& formats = framework.probe->formats;
    if (std::any_of(formats.begin(), formats.end(), opens)) return framework;
  }
  std::error_code error;
  const std::string what = fs::is_directory(model, error)
                               ? ": no framework here opens what is in this folder"
                               : ": no framework here opens files ending in '" + endings[0] + "'";
  return not_available(model + what + ": " +
                       (reasons.empty() ? remedy_for(model, endings[0]) : reasons));
}

}  // namespace xsp::experiment
