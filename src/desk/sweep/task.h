// Runs one task of a plan, here or through a program such as ssh.
//
// A task without a common folder is asked for over a stream: the asker writes the plan as one line
// to the standard input of `xsp task - INDEX`, and keeps it open; the answer on the standard output
// is one line of JSON and the bytes of the evaluation. If the input ends, the asker is gone, and
// the task is ended.
#ifndef XSP_DESK_SWEEP_TASK_H_
#define XSP_DESK_SWEEP_TASK_H_

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "desk/sweep/child.h"
#include "desk/sweep/folder.h"
#include "desk/sweep/plan.h"
#include "shared/base/result.h"

namespace xsp::sweep {

struct Through {
  std::vector<std::string> words;  // that run `xsp task - 0` on another machine; empty: here
  std::string host;                // that machine
};

// Runs the task, unless it has a result, and notes in the folder what became of it. Waits for the
// device. An error says that the folder could not be written.
Result<Attempt> run_task(const Folder& folder, const Plan& plan, size_t index,
                         const std::filesystem::path& program, const Through& through,
                         const std::atomic<int>& stop);

// Judges the end of a verb of xsp, by the exit statuses that it promises.
void judge(const ChildEnd& end, const std::filesystem::path& log, Attempt* attempt);
// Returns the last error line of a log, or its last line.
std::string last_words(const std::filesystem::path& log);

// Answers one request over a stream. Returns once the answer is written.
Status answer_task(int in, int out, size_t index, const std::filesystem::path& program,
                   const std::atomic<int>& stop);

}  // namespace xsp::sweep

#endif  // XSP_DESK_SWEEP_TASK_H_
