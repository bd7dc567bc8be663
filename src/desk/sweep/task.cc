#include "desk/sweep/task.h"

#include <fstream>

#include "desk/sweep/answer.h"
#include "desk/sweep/container.h"
#include "desk/sweep/device_lock.h"
#include "desk/sweep/question.h"
#include "desk/sweep/stream.h"
#include "shared/base/cache.h"
#include "shared/base/scratch.h"
#include "shared/base/text.h"
#include "shared/base/words.h"

namespace xsp::sweep {
namespace {

namespace fs = std::filesystem;

constexpr size_t kReasonBytesMax = 2000;

std::vector<std::string> words_of(const Plan& plan, const Task& task, const fs::path& program,
                                  const fs::path& output) {
  std::vector<std::string> words = task.words();
  words.insert(words.begin(), program);
  if (plan.price > 0 && task.scenario == "profile") {
    words.insert(words.end(), {"--price", std::to_string(plan.price)});
  }
  words.insert(words.end(), {"--tag", "sweep=" + plan.id, "--tag", "task=" + task.name, "--quiet",
                             "-o", output});
  return words;
}

// Returns the words that run those of the task in the container that it names.
Result<std::vector<std::string>> contained(const Task& task, const fs::path& program,
                                           const fs::path& output, std::vector<std::string> words) {
  if (task.container.empty()) return words;
  XSP_TRY(const fs::path cache, make_cache_folder());
  InContainer container{task.container, task.device, cache, {}, {}};
  container.read.push_back(program.parent_path().parent_path());  // bin, and lib beside it
  if (task.model.starts_with("/")) container.read.push_back(fs::path(task.model).parent_path());
  container.written = {cache, fs::absolute(output).parent_path()};
  words.back() = fs::absolute(output);
  return in_container(container, std::move(words));
}

// Measures here: waits for the device, and runs the verb.
Status measure(const Plan& plan, const Task& task, const fs::path& program, const fs::path& output,
               const fs::path& log, int lifeline, const std::atomic<int>& stop, Attempt* attempt) {
  auto device = DeviceLock::take(task.device, stop);
  if (!device.ok()) {
    attempt->end = device.error().code == Code::kInterrupted ? End::kInterrupted : End::kFailed;
    attempt->reason = device.error().text;
    return Ok{};
  }
  ChildOptions options;
  auto words = contained(task, program, output, words_of(plan, task, program, output));
  if (!words.ok()) {
    attempt->end = End::kRefused;
    attempt->reason = words.error().text;
    return Ok{};
  }
  options.words = std::move(*words);
  options.log = log;
  options.limit_s = plan.timeout_s;
  options.stop = &stop;
  options.lifeline = lifeline;
  const double began = now_s();
  XSP_TRY(const ChildEnd end, run_child(options));
  attempt->seconds = now_s() - began;
  judge(end, log, attempt);
  return Ok{};
}

// Asks another machine to measure.
Status ask(const Plan& plan, const Task& task, const Through& through, const fs::path& output,
           const fs::path& log, const std::atomic<int>& stop, Attempt* attempt) {
  Plan one = plan;
  one.tasks = {task};
  one.left_out.clear();
  one.source.clear();
  one.place.clear();
  Answer answer(output);
  ChildOptions options;
  options.words = through.words;
  options.log = log;
  options.input = to_json(one) + "\n";
  options.out = [&answer](std::string_view bytes) { return answer.take(bytes); };
  options.stop = &stop;
  XSP_TRY(const ChildEnd end, run_child(options));
  std::string printed;
  const bool is_whole = answer.read(attempt, &printed);
  if (end.is_stopped) {
    attempt->end = End::kInterrupted;
    attempt->reason = "it was stopped";
  } else if (!is_whole) {
    const std::string said = last_words(log);
    attempt->end = End::kLost;
    attempt->reason =
        "no whole answer came from " + through.host + (said.empty() ? std::string() : ": " + said);
  }
  return Ok{};
}

}  // namespace

std::string last_words(const fs::path& log) {
  std::ifstream file(log);
  std::string line, last, error;
  while (std::getline(file, line)) {
    if (line.starts_with("error: ")) error = line.substr(7);
    if (!line.empty()) last = line;
  }
  return check_text(error.empty() ? last : error, kReasonBytesMax).text;
}

void judge(const ChildEnd& end, const fs::path& log, Attempt* attempt) {
  attempt->reason = last_words(log);
  if (end.is_timeout) {
    attempt->end = End::kTimeout;
    attempt->reason = "it took longer than the sweep's timeout";
  } else if (end.is_stopped) {
    attempt->end = End::kInterrupted;
    attempt->reason = "it was stopped";
  } else if (end.status == 0 || end.status == 3) {  // 3: a bound is missed, which is a result
    attempt->end = End::kDone;
    attempt->reason.clear();
  } else if (end.status == 2 || end.status == 4) {
    attempt->end = End::kRefused;
  } else {
    attempt->end = End::kFailed;
    if (end.status > 128) {
      attempt->reason =
          "signal " + std::to_string(end.status - 128) + " ended it: " + attempt->reason;
    }
  }
}

Result<Attempt> run_task(const Folder& folder, const Plan& plan, size_t index,
                         const fs::path& program, const Through& through,
                         const std::atomic<int>& stop) {
  if (index >= plan.tasks.size()) {
    return usage("task " + std::to_string(index) + ": the plan has " +
                 std::to_string(plan.tasks.size()) + " tasks, counted from 0");
  }
  const Task& task = plan.tasks[index];
  if (folder.is_done(task)) {
    Attempt attempt;
    attempt.end = End::kSecond;
    return attempt;
  }
  XSP_TRY(Attempt attempt, folder.begin(task, through.words.empty() ? host_name() : through.host));
  const fs::path part = folder.part(task, attempt.number);
  const fs::path log = folder.log(task, attempt.number);
  XSP_CHECK_OK(through.words.empty() ? measure(plan, task, program, part, log, -1, stop, &attempt)
                                     : ask(plan, task, through, part, log, stop, &attempt));
  if (attempt.end == End::kDone) {
    const Result<bool> is_first = folder.commit(task, attempt);
    if (!is_first.ok()) {
      attempt.end = End::kFailed;
      attempt.reason = is_first.error().text;
    } else if (!*is_first) {
      attempt.end = End::kSecond;
    }
  }
  XSP_CHECK_OK(folder.note(task, attempt));
  return attempt;
}

Status answer_task(int in, int out, size_t index, const fs::path& program,
                   const std::atomic<int>& stop) {
  XSP_TRY(const std::string line, read_line(in));
  XSP_TRY(const Plan plan, plan_of(line, "the plan"));
  if (index >= plan.tasks.size()) return usage("the plan has no such task");
  const Task& task = plan.tasks[index];
  if (task.scenario == kPredict) return answer_question(plan, task, program, in, out, stop);
  XSP_TRY(const std::unique_ptr<ScratchFolder> scratch, ScratchFolder::create());
  const fs::path output = scratch->path() / "evaluation.xsp";
  const fs::path log = scratch->path() / "log";
  Attempt attempt;
  XSP_CHECK_OK(measure(plan, task, program, output, log, in, stop, &attempt));
  return send_answer(out, attempt, {}, output);
}

}  // namespace xsp::sweep
