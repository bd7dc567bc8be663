#include "desk/sweep/task.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "desk/sweep/child.h"
#include "desk/sweep/device_lock.h"
#include "desk/sweep/stream.h"
#include "shared/base/scratch.h"
#include "shared/base/text.h"
#include "shared/base/words.h"

namespace xsp::sweep {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr size_t kHeaderBytesMax = 64 << 10;
constexpr size_t kReasonBytesMax = 2000;

// Returns the last error line of a log, or its last line.
std::string last_words(const fs::path& log) {
  std::ifstream file(log);
  std::string line, last, error;
  while (std::getline(file, line)) {
    if (line.starts_with("error: ")) error = line.substr(7);
    if (!line.empty()) last = line;
  }
  return check_text(error.empty() ? last : error, kReasonBytesMax).text;
}

// Judges the end of xsp profile or xsp evaluate, by the exit statuses that they promise.
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
  options.words = words_of(plan, task, program, output);
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

// Takes the answer of `xsp task -`: a line of JSON, and then the evaluation.
class Answer {
 public:
  explicit Answer(const fs::path& output)
      : fd_(::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {}
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;
  ~Answer() { ::close(fd_); }

  bool take(std::string_view bytes) {
    if (!has_header_) {
      const size_t end = bytes.find('\n');
      header_.append(bytes.substr(0, end));
      if (end == std::string_view::npos) return header_.size() <= kHeaderBytesMax;
      has_header_ = true;
      bytes.remove_prefix(end + 1);
    }
    while (!bytes.empty()) {
      const ssize_t count = ::write(fd_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      written_ += static_cast<uint64_t>(count);
      bytes.remove_prefix(static_cast<size_t>(count));
    }
    return true;
  }

  // Returns false if the answer is not whole.
  bool read(Attempt* attempt) const {
    const json object = json::parse(header_, nullptr, false);
    if (!has_header_ || !object.is_object()) return false;
    const auto number = [&](const char* key) {
      const auto found = object.find(key);
      return found != object.end() && found->is_number() ? found->get<double>() : -1.0;
    };
    const auto reason = object.find("reason");
    if (number("bytes") != static_cast<double>(written_)) return false;
    const double end = number("end");
    if (end < 1 || end > static_cast<double>(End::kLost)) return false;
    attempt->end = static_cast<End>(static_cast<int>(end));
    attempt->seconds = number("seconds");
    if (reason != object.end() && reason->is_string()) {
      attempt->reason = check_text(reason->get<std::string>(), kReasonBytesMax).text;
    }
    return true;
  }

 private:
  int fd_;
  bool has_header_ = false;
  std::string header_;
  uint64_t written_ = 0;
};

// Asks another machine to measure.
Status ask(const Plan& plan, const Task& task, const Through& through, const fs::path& output,
           const fs::path& log, const std::atomic<int>& stop, Attempt* attempt) {
  Plan one = plan;
  one.tasks = {task};
  one.left_out.clear();
  one.source.clear();
  Answer answer(output);
  ChildOptions options;
  options.words = through.words;
  options.log = log;
  options.input = to_json(one) + "\n";
  options.out = [&answer](std::string_view bytes) { return answer.take(bytes); };
  options.stop = &stop;
  XSP_TRY(const ChildEnd end, run_child(options));
  const bool is_whole = answer.read(attempt);
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
    XSP_TRY(const bool is_first, folder.commit(task, attempt));
    if (!is_first) attempt.end = End::kSecond;
  }
  XSP_CHECK_OK(folder.note(task, attempt));
  return attempt;
}

Status answer_task(int in, int out, size_t index, const fs::path& program,
                   const std::atomic<int>& stop) {
  XSP_TRY(const std::string line, read_line(in));
  XSP_TRY(const Plan plan, plan_of(line, "the plan"));
  if (index >= plan.tasks.size()) return usage("the plan has no such task");
  XSP_TRY(const std::unique_ptr<ScratchFolder> scratch, ScratchFolder::create());
  const fs::path output = scratch->path() / "evaluation.xsp";
  const fs::path log = scratch->path() / "log";
  Attempt attempt;
  XSP_CHECK_OK(measure(plan, plan.tasks[index], program, output, log, in, stop, &attempt));
  std::error_code error;
  const bool has_file = attempt.end == End::kDone;
  const json header = {{"end", static_cast<int>(attempt.end)},
                       {"reason", attempt.reason},
                       {"seconds", attempt.seconds},
                       {"bytes", has_file ? fs::file_size(output, error) : 0}};
  XSP_CHECK_OK(send(out, header.dump(-1, ' ', false, json::error_handler_t::replace) + "\n"));
  return has_file ? send_file(out, output) : Status(Ok{});
}

}  // namespace xsp::sweep
