// Session: a worker that answers loads.
#ifndef XSP_DESK_SCENARIO_SESSION_H_
#define XSP_DESK_SCENARIO_SESSION_H_

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "desk/experiment/experiment.h"
#include "desk/scenario/scenario.h"
#include "shared/base/result.h"

namespace xsp::scenario {

class Session {
 public:
  // Opens the model for a run: at its levels, with its collectors. The trace and all other files go
  // into `folder`, under `name`.
  static Result<std::unique_ptr<Session>> open(const experiment::Request& request,
                                               const experiment::PlannedRun& planned,
                                               const std::filesystem::path& folder,
                                               const std::string& name,
                                               experiment::Listener& listener,
                                               const std::atomic<int>& stop);

  // Lets it answer one load. `records_requests`: the requests have spans.
  Result<Load> load(const Scenario& scenario, bool records_requests);
  // Ends the worker. Returns the run of its loads.
  Result<experiment::Run> finish();
  // Returns the processor time that the worker has used.
  double cpu_seconds() const { return worker_->process().cpu_seconds(); }

 private:
  Session(std::filesystem::path folder, std::string name, experiment::Listener& listener)
      : folder_(std::move(folder)), name_(std::move(name)), listener_(listener) {}
  Status write_settings(const Scenario& scenario, bool records_requests,
                        const std::filesystem::path& path,
                        const std::filesystem::path& answers) const;

  std::filesystem::path outputs_path() const { return folder_ / (name_ + ".outputs"); }
  std::filesystem::path tokens_path() const { return folder_ / (name_ + ".tokens"); }
  std::filesystem::path logs_path() const { return folder_ / (name_ + ".loadgen"); }

  std::filesystem::path folder_;
  std::string name_;
  experiment::Listener& listener_;
  std::unique_ptr<experiment::Worker> worker_;
  experiment::Run run_;
  bool is_warm_ = false;  // it has answered a load
};

}  // namespace xsp::scenario

#endif  // XSP_DESK_SCENARIO_SESSION_H_
