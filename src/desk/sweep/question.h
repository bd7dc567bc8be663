// Question: a model of another machine is to answer a file. It travels like a task without a common
// folder (task.h): a plan with one task of the scenario `predict`, which carries the file's bytes.
#ifndef XSP_DESK_SWEEP_QUESTION_H_
#define XSP_DESK_SWEEP_QUESTION_H_

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "desk/sweep/task.h"
#include "shared/base/result.h"

namespace xsp::sweep {

inline constexpr const char* kPredict = "predict";  // the scenario of such a task

struct Question {
  std::string model;      // a name of the other machine's `xsp models --list`
  std::string framework;  // that the machine must have; empty: any
  std::filesystem::path input;
  std::filesystem::path output;  // the .xsp file to write
};

// Asks through the words, which run `xsp task - 0` there. Returns what `xsp predict --format json`
// printed. `limit_s` is for the model's process; the machine may take as long again to begin.
Result<std::string> ask_model(const Question& question, const Through& through, double limit_s,
                              const std::atomic<int>& stop);

// Lets the model of the task answer, and sends the answer. A manifest whose steps run code is
// refused. `lifeline` is a descriptor whose end means that the asker is gone.
Status answer_question(const Plan& plan, const Task& task, const std::filesystem::path& program,
                       int lifeline, int out, const std::atomic<int>& stop);

}  // namespace xsp::sweep

#endif  // XSP_DESK_SWEEP_QUESTION_H_
