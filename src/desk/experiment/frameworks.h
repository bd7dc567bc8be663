// Frameworks and collectors: the plugins of this installation, and whether each can run here.
#ifndef XSP_DESK_EXPERIMENT_FRAMEWORKS_H_
#define XSP_DESK_EXPERIMENT_FRAMEWORKS_H_

#include <atomic>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "desk/experiment/worker.h"
#include "shared/base/result.h"

namespace xsp::experiment {

// The paths of this program's parts. They are relative to the program, so that the tree can be
// moved.
struct Installation {
  std::filesystem::path worker;      // bin/xsp-worker
  std::filesystem::path adapters;    // lib/xsp/adapters
  std::filesystem::path collectors;  // lib/xsp/collectors
  std::filesystem::path attach;      // lib/libxsp-attach.so
  std::filesystem::path python;      // lib/xsp/python
};
Result<Installation> this_installation();

struct Framework {
  std::string name;
  std::filesystem::path adapter;
  Result<Probe> probe;  // an Error says why it cannot run here
};

// Returns the adapters' names, in order.
std::vector<std::string> framework_names(const Installation& installation);
// Fails if no adapter has this name: neither an installed one, nor one that this installation lacks
// and knows how to get. Whether it can run here is not asked.
Status check_framework_name(const Installation& installation, const std::string& name);
using Absent = std::pair<std::string, std::string>;  // an adapter's name, and `why: what to do`
// Returns the adapters that this installation lacks. The build leaves a file NAME.absent of each.
std::vector<Absent> absent_adapters(const Installation& installation);
// Probes these adapters, each in its own process.
std::vector<Framework> probe_frameworks(const Installation& installation,
                                        const std::vector<std::string>& names,
                                        const std::atomic<int>& stop);

// Returns the framework for a model: the wanted one; else the one whose name the model begins with
// ("fake:layers=3"); else the first that opens files with the model's ending.
Result<Framework> choose_framework(const Installation& installation, const std::string& wanted,
                                   const std::string& model, const std::atomic<int>& stop);

struct Collector {
  std::string name;
  std::filesystem::path path;
  Result<CollectorProbe> probe;
};
// Asks every collector what it can watch in runs on that device, each in its own process.
std::vector<Collector> probe_collectors(const Installation& installation, const std::string& device,
                                        const std::atomic<int>& stop);
// Returns every counter that a collector knows by name, including those that its probe leaves out.
Result<std::vector<std::string>> counter_names(const Installation& installation,
                                               const std::filesystem::path& collector,
                                               const std::atomic<int>& stop);

}  // namespace xsp::experiment

#endif  // XSP_DESK_EXPERIMENT_FRAMEWORKS_H_
