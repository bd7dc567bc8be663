// Runs the tasks here, one after another on each device.
#include <unistd.h>

#include "executors/shared/executor.h"
#include "executors/shared/lanes.h"

namespace xsp::executors {
namespace {

std::string host_name() {
  char name[256] = "";
  return ::gethostname(name, sizeof name - 1) == 0 && name[0] != '\0' ? name : "localhost";
}

Result<std::vector<std::string>> systems(const Settings&) { return std::vector{host_name()}; }

Result<std::unique_ptr<Session>> open(const Job& job) {
  return std::unique_ptr<Session>(
      new Lanes(job, {host_name()}, [job](size_t index, const std::string&) {
        return std::vector<std::string>{job.program, "task", job.plan, std::to_string(index)};
      }));
}

}  // namespace

std::vector<Executor> local_executors() {
  return {{"local", "this machine: one task at a time on each device", {}, systems, open}};
}

}  // namespace xsp::executors
