// The collectors that are put into the processes of an attached command, and what they say of the
// levels and the devices of its runs.
//
// Thread rule: one thread, the only one while a command is started.
#ifndef XSP_EVALUATE_ATTACH_COLLECTORS_H_
#define XSP_EVALUATE_ATTACH_COLLECTORS_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "evaluate/frameworks.h"
#include "store/database.h"

namespace xsp::evaluate {

class AttachedCollectors {
 public:
  // Those of the installation that emit one of the levels.
  AttachedCollectors(const Installation& installation, uint32_t levels);

  // Bits of the levels that they can emit.
  uint32_t levels() const;
  // Whether the levels, bits, come from collectors of devices alone.
  bool watch_devices_alone(uint32_t levels) const;
  // Of this process, which the command inherits. `scratch`: a folder for what it needs.
  void set_environment(const std::filesystem::path& scratch) const;
  // When all runs are in the file: each run's levels become those that were recorded, and its
  // device the one that it used; then what is known of the devices. `facts`: of the evaluation, to
  // which it adds why a level was not measured.
  Status complete(store::Database& database, std::map<std::string, std::string>* facts) const;

 private:
  struct One {
    std::string name;
    std::filesystem::path path;
    std::string kind;  // what it watches: "cuda", "host"
    uint32_t levels = 0;
  };
  // Why a level was not recorded; empty: it was, by a process at least.
  Result<std::string> why_not(store::Database& database, uint32_t level) const;
  Status write_devices(store::Database& database, std::map<std::string, std::string>* facts) const;
  // Those of the installation that describe devices of that kind.
  std::vector<std::filesystem::path> libraries_that_watch(const std::string& kind) const;

  const Installation& installation_;
  const uint32_t wanted_;
  std::vector<One> all_;
};

// Whether a process of the runs in the file used CUDA.
Result<bool> has_used_cuda(store::Database& database);

}  // namespace xsp::evaluate

#endif  // XSP_EVALUATE_ATTACH_COLLECTORS_H_
