// Runs the sweeps that requests to `xsp serve` start, one after another, each as `xsp sweep` in a
// process of its own.
#ifndef XSP_DESK_CLI_SERVE_SWEEP_H_
#define XSP_DESK_CLI_SERVE_SWEEP_H_

#include <atomic>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "desk/serve/services.h"
#include "executors/shared/executor.h"
#include "shared/base/result.h"

namespace xsp::cli {

// Returns an executor's settings in a text of YAML: "executors: {...}", or nothing.
Result<executors::Settings> settings_in(const std::string& text,
                                        const executors::Executor& executor);

struct NetworkSweepsOptions {
  std::filesystem::path folder;  // the served one; the sweeps are below sweeps/
  std::string executor;          // runs the tasks
  std::string settings;          // YAML: the executor's settings, "executors: {...}"; or empty
  std::string place;             // of the catalogue that gets the results
};

class NetworkSweeps : public serve::Sweeps {
 public:
  // Fails if there is no such executor, or if its settings are wrong.
  static Result<std::unique_ptr<NetworkSweeps>> open(NetworkSweepsOptions options);
  // Interrupts what runs; `xsp sweep resume` goes on with it.
  ~NetworkSweeps() override;

  Result<serve::SweepState> start(const std::string& text) override;
  Result<serve::SweepState> find(const std::string& name) override;
  Result<serve::SweepState> cancel(const std::string& name) override;

 private:
  NetworkSweeps(NetworkSweepsOptions options, executors::Executor executor);
  std::filesystem::path folder_of(const std::string& name) const;
  // Returns the name of the sweep that a name or an id means. The caller holds the lock, as for
  // look().
  Result<std::string> name_of(const std::string& asked) const;
  Result<serve::SweepState> look(const std::string& asked) const;
  // Ends what the engine still has of a sweep that was interrupted.
  Status cancel_jobs(const std::string& name) const;
  void work();
  // Runs it to its end, which its folder then tells.
  void run(const std::string& name);

  const NetworkSweepsOptions options_;
  const executors::Executor executor_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> waiting_;
  std::string running_;
  std::atomic<int> stop_{0};  // of the one that runs
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace xsp::cli

#endif  // XSP_DESK_CLI_SERVE_SWEEP_H_
