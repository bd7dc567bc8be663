// The collectors that are loaded into the processes of an attached command. They describe the
// levels and the devices of its runs.
//
// Thread rule: one thread, which is the only one while a command is started.
#ifndef XSP_DESK_WATCH_COLLECTORS_H_
#define XSP_DESK_WATCH_COLLECTORS_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "desk/experiment/frameworks.h"
#include "desk/store/database.h"
#include "shared/base/result.h"

namespace xsp::watch {

class AttachedCollectors {
 public:
  // Selects the collectors of the installation that emit one of the levels.
  AttachedCollectors(const experiment::Installation& installation, uint32_t levels);

  // Returns the bits of the levels that the collectors can emit.
  uint32_t levels() const;
  // Returns whether only collectors of devices emit these levels (bits).
  bool watch_devices_alone(uint32_t levels) const;
  // Changes the environment of this process, which the command inherits. `scratch` is a folder for
  // the files that the collectors need.
  void set_environment(const std::filesystem::path& scratch) const;
  // Completes the evaluation when all runs are in the file: corrects each run's levels and device
  // to those that were recorded and used, and writes what is known of the devices. Adds to `facts`,
  // the facts of the evaluation, why a level was not measured.
  Status complete(store::Database& database, std::map<std::string, std::string>* facts) const;

 private:
  struct One {
    std::string name;
    std::filesystem::path path;
    std::string kind;  // kind of device that it watches: "cuda", "host"
    uint32_t levels = 0;
    bool is_preloaded = false;
  };
  // Returns why a level was not recorded. Returns an empty string if at least one process recorded
  // it.
  Result<std::string> why_not(store::Database& database, uint32_t level) const;
  Status write_devices(store::Database& database, std::map<std::string, std::string>* facts) const;
  // Returns the libraries of the installation that describe devices of that kind.
  std::vector<std::filesystem::path> libraries_that_watch(const std::string& kind) const;

  const experiment::Installation& installation_;
  const uint32_t wanted_;
  std::vector<One> all_;
};

// Returns whether a process of the runs in the file used CUDA.
Result<bool> has_used_cuda(store::Database& database);

}  // namespace xsp::watch

#endif  // XSP_DESK_WATCH_COLLECTORS_H_
