// Frameworks and collectors: the plugins of this installation, and which of them can run here.
#ifndef XSP_EVALUATE_FRAMEWORKS_H_
#define XSP_EVALUATE_FRAMEWORKS_H_

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "evaluate/worker.h"

namespace xsp::evaluate {

// Where this program's parts are: beside it, wherever the tree was moved to.
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
  Result<Probe> probe;  // an Error: it cannot run here, and why
};

// The adapters' names, in order.
std::vector<std::string> framework_names(const Installation& installation);
// Asks these adapters, each in a process of its own.
std::vector<Framework> probe_frameworks(const Installation& installation,
                                        const std::vector<std::string>& names,
                                        const std::atomic<int>& stop);

// The framework that is to run a model: the one asked for, else the one whose name the model begins
// with ("fake:layers=3"), else the first that opens files of its ending.
Result<Framework> choose_framework(const Installation& installation, const std::string& wanted,
                                   const std::string& model, const std::atomic<int>& stop);

struct Collector {
  std::string name;
  std::filesystem::path path;
  Result<CollectorProbe> probe;
};
// Asks every collector what it can watch of runs on that device, each in a process of its own.
std::vector<Collector> probe_collectors(const Installation& installation, const std::string& device,
                                        const std::atomic<int>& stop);
// Every counter that a collector knows by name, beyond those of its probe.
Result<std::vector<std::string>> counter_names(const Installation& installation,
                                               const std::filesystem::path& collector,
                                               const std::atomic<int>& stop);

}  // namespace xsp::evaluate

#endif  // XSP_EVALUATE_FRAMEWORKS_H_
