#include "desk/sweep/question.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>

#include "desk/sweep/answer.h"
#include "desk/sweep/child.h"
#include "desk/sweep/device_lock.h"
#include "shared/base/hex.h"
#include "shared/base/scratch.h"

namespace xsp::sweep {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPrintedBytesMax = 8 << 20;

Result<std::string> content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  if (!file.is_open()) return failed(path.string() + ": cannot be read");
  return content.str();
}

// The name of a task becomes that of a file, and a model's may have any letters.
std::string name_of(const Question& question) {
  std::string name = "predict-" + question.model;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '-');
  return name;
}

// Runs xsp predict, and notes how it ended.
Status predict(const Plan& plan, const Task& task, const fs::path& program, const fs::path& scratch,
               int lifeline, const std::atomic<int>& stop, Attempt* attempt, std::string* printed) {
  const auto bytes = bytes_of_hex(task.input);
  if (!bytes) return corrupt("the plan: its input is damaged");
  const fs::path input = scratch / "input";
  if (const Status written = write_whole(input, *bytes); !written.ok()) {
    attempt->end = End::kFailed;
    attempt->reason = written.error().text;
    return Ok{};
  }
  // A prediction must not disturb what is measured meanwhile.
  auto device = DeviceLock::take(task.device, stop);
  if (!device.ok()) {
    attempt->end = End::kInterrupted;
    attempt->reason = device.error().text;
    return Ok{};
  }
  ChildOptions child;
  child.words = {program,    "predict", task.model, input, "--no-code",
                 "--format", "json",    "--quiet",  "-o",  scratch / "evaluation.xsp"};
  child.log = scratch / "log";
  child.out = [printed](std::string_view text) {
    *printed += text;
    return printed->size() <= kPrintedBytesMax;
  };
  child.limit_s = plan.timeout_s;
  child.stop = &stop;
  child.lifeline = lifeline;
  const double began = now_s();
  XSP_TRY(const ChildEnd end, run_child(child));
  attempt->seconds = now_s() - began;
  judge(end, child.log, attempt);
  if (attempt->end != End::kDone) printed->clear();
  return Ok{};
}

}  // namespace

Result<std::string> ask_model(const Question& question, const Through& through, double limit_s,
                              const std::atomic<int>& stop) {
  XSP_TRY(const auto scratch, ScratchFolder::create());
  XSP_TRY(const std::string content, content_of(question.input));
  Plan plan;
  plan.name = kPredict;
  plan.id = std::string(kPredict) + "-" + scratch->path().filename().string();
  plan.timeout_s = limit_s;
  Task& task = plan.tasks.emplace_back();
  task.name = name_of(question);
  task.model = question.model;
  task.framework = question.framework;
  task.scenario = kPredict;
  task.input = hex_of(content);
  const fs::path part = scratch->path() / "evaluation.xsp";
  Answer answer(part);
  ChildOptions child;
  child.words = through.words;
  child.log = scratch->path() / "log";
  child.input = to_json(plan) + "\n";
  child.out = [&answer](std::string_view bytes) { return answer.take(bytes); };
  child.limit_s = 2 * limit_s;
  child.stop = &stop;
  XSP_TRY(const ChildEnd end, run_child(child));
  Attempt attempt;
  std::string printed;
  const bool is_whole = answer.read(&attempt, &printed);
  if (end.is_timeout) return failed(through.host + " is busy: it did not answer in time");
  if (!is_whole) {
    const std::string said = last_words(child.log);
    return failed("no whole answer came from " + through.host +
                  (said.empty() ? std::string() : ": " + said));
  }
  if (attempt.end != End::kDone) return failed(attempt.reason);
  std::error_code error;
  fs::copy_file(part, question.output, fs::copy_options::overwrite_existing, error);
  if (error) return failed(question.output.string() + ": " + error.message());
  return printed;
}

Status answer_question(const Plan& plan, const Task& task, const fs::path& program, int lifeline,
                       int out, const std::atomic<int>& stop) {
  XSP_TRY(const auto scratch, ScratchFolder::create());
  Attempt attempt;
  std::string printed;
  XSP_CHECK_OK(predict(plan, task, program, scratch->path(), lifeline, stop, &attempt, &printed));
  return send_answer(out, attempt, printed, scratch->path() / "evaluation.xsp");
}

}  // namespace xsp::sweep
