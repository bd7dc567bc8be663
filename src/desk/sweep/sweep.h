// Sweep: has an executor run the tasks of a plan until each is done, or has failed for good.
#ifndef XSP_DESK_SWEEP_SWEEP_H_
#define XSP_DESK_SWEEP_SWEEP_H_

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "desk/sweep/folder.h"
#include "desk/sweep/plan.h"
#include "executors/shared/executor.h"
#include "shared/base/result.h"

namespace xsp::sweep {

enum class State { kPending, kWaiting, kRunning, kDone, kFailed, kLeft };
const char* text_of(State state);

struct TaskView {
  State state = State::kPending;
  std::string where;      // the machine
  std::string why;        // why it waits, failed, or was left
  double seconds = 0;     // how long its result took; 0: not known
  double started_at = 0;  // of its last attempt
  int attempts = 0;
};

struct View {
  std::vector<TaskView> tasks;  // by index
  double used_s = 0;            // by all attempts
  std::string silence;          // the engine's error, if it did not answer or take a task
  size_t count(State state) const;
  bool is_over() const;  // no task waits, runs or is pending
};

// Returns what the files say. A task that began and has not ended counts as running, which may be
// on a machine that is dead.
View view_of(const Folder& folder, const Plan& plan);

// Returns how a sweep ended whose tasks are so. `is_over`: none of them was to be tried again.
SweepEnd end_of(const View& view, bool is_over);

// Runs it. `told` is called after each look at the engine. A task that failed, or whose machine was
// lost, is tried again as often as the plan says; one that was refused, took too long, or failed
// twice in the same way is not. An engine that answered once, or took a task, and does not any
// more, is asked again for five minutes. Ends when all tasks are settled, or after `stop`; then
// tasks may still be in the engine's queue.
Result<View> run_sweep(const Folder& folder, const Plan& plan, executors::Session& session,
                       const std::atomic<int>& stop, const std::function<void(const View&)>& told);

// Says how many jobs the engine goes on with after the sweep has ended, and how they are ended;
// empty: none. `view` is what run_sweep() returned.
std::string left_behind(const Folder& folder, const executors::Executor& executor,
                        const View& view);
// Ends all that the engine still has of the sweep. `program` is this xsp.
Status cancel_jobs(const Folder& folder, const Plan& plan, const executors::Executor& executor,
                   const std::filesystem::path& program);

executors::Job job_of(const Folder& folder, const Plan& plan, const std::filesystem::path& program);

}  // namespace xsp::sweep

#endif  // XSP_DESK_SWEEP_SWEEP_H_
