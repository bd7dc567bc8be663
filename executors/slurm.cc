// Runs the tasks as arrays of Slurm. The folder of the sweep is one that all nodes see.
//
// A job's name has the sweep's id, and its comment the indexes of its units, so the queue alone
// tells what was submitted. `squeue --format` is used, not `--json`, whose fields differ between
// versions and which ignores the choice of jobs in older ones.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <span>

#include "executors/shared/executor.h"
#include "executors/shared/indexes.h"
#include "executors/shared/program.h"
#include "shared/base/words.h"

namespace xsp::executors {
namespace {

constexpr size_t kArrayMax = 1000;         // Slurm's own default of MaxArraySize is 1001
constexpr size_t kCommentBytesMax = 1000;  // its controller refuses one of more than 1024
constexpr double kMarginSeconds = 300;

class Slurm : public Session {
 public:
  explicit Slurm(Job job) : job_(std::move(job)), name_("xsp-" + job_.id) {}

  Status submit(const std::vector<size_t>& indexes) override {
    // An array is for one kind of machine.
    std::map<std::pair<std::string, bool>, std::vector<size_t>> arrays;
    for (const size_t index : indexes) {
      const Unit& unit = job_.units[index];
      arrays[{unit.system, unit.device.starts_with("cuda")}].push_back(index);
    }
    for (const auto& [kind, units] : arrays) {
      for (std::span<const size_t> rest = units; !rest.empty();) {
        const Ranges ranges = ranges_of(rest, kArrayMax, kCommentBytesMax);
        XSP_CHECK_OK(submit_array({rest.begin(), rest.begin() + ranges.count}, ranges.text,
                                  kind.first, kind.second));
        rest = rest.subspan(ranges.count);
      }
    }
    return Ok{};
  }

  Result<std::map<size_t, Held>> poll(std::chrono::milliseconds patience) override {
    ::usleep(static_cast<useconds_t>(patience.count()) * 1000);
    XSP_TRY(const std::string queue, run_program({"squeue", "--noheader", "--array", "--name",
                                                  name_, "--format", "%K|%T|%N|%r|%k|%F"}));
    std::map<size_t, Held> held;
    for (const std::string& line : split(queue, '\n')) XSP_CHECK_OK(add(line, &held));
    return held;
  }

  Status cancel() override {
    const auto cancelled = run_program({"scancel", "--name", name_});
    return cancelled.ok() ? Status(Ok{}) : Status(cancelled.error());
  }

 private:
  Status submit_array(const std::vector<size_t>& units, const std::string& comment,
                      const std::string& system, bool has_gpu) {
    const std::filesystem::path logs = job_.plan.parent_path() / "engine";
    std::error_code ignored;
    std::filesystem::create_directories(logs, ignored);
    std::vector<std::string> words = {"sbatch",
                                      "--parsable",
                                      "--requeue",
                                      "--job-name=" + name_,
                                      "--comment=" + comment,
                                      "--array=0-" + std::to_string(units.size() - 1),
                                      "--output=" + (logs / "%A_%a.log").string()};
    const long minutes = static_cast<long>((job_.limit_s + kMarginSeconds) / 60) + 1;
    words.push_back("--time=" + std::to_string(minutes));
    if (text_of(job_.settings, "exclusive", "yes") != "no") words.push_back("--exclusive");
    if (has_gpu) words.push_back("--gres=" + text_of(job_.settings, "gres", "gpu:1"));
    if (!system.empty()) words.push_back("--nodelist=" + system);
    for (const char* setting : {"partition", "constraint", "account"}) {
      const std::string text = text_of(job_.settings, setting);
      if (!text.empty()) words.push_back("--" + std::string(setting) + "=" + text);
    }
    for (const std::string& option : texts_of(job_.settings, "options")) words.push_back(option);
    // The batch script becomes `xsp task`, so that Slurm's signals reach it.
    const std::string script = "#!/bin/sh\nset -- " + joined(units, " ") +
                               "\nshift \"$SLURM_ARRAY_TASK_ID\"\nexec '" + job_.program.string() +
                               "' task '" + job_.plan.string() + "' \"$1\"\n";
    const auto submitted = run_program(words, script);
    if (submitted.ok()) return Ok{};
    return Error{submitted.error().code, "slurm: " + submitted.error().text};
  }

  // A line is "POSITION|STATE|NODE|REASON|UNITS|JOB".
  Status add(const std::string& line, std::map<size_t, Held>* held) const {
    std::vector<std::string> cells(1);
    for (const char c : line) {
      if (c == '|') {
        cells.emplace_back();
      } else {
        cells.back() += c;
      }
    }
    if (cells.size() != 6) return Ok{};
    const std::vector<size_t> units = indexes_of(cells[4], kArrayMax);
    const size_t position = number_of(cells[0]);
    if (position >= units.size()) return Ok{};
    const size_t index = units[position];
    if (index >= job_.units.size()) return Ok{};
    // Slurm keeps such a job in its queue, but never runs it: it counts as lost.
    if (cells[3] == "BadConstraints" || cells[3].starts_with("launch_failed")) {
      const auto ended = run_program({"scancel", cells[5] + "_" + cells[0]});
      return ended.ok() ? Status(Ok{}) : Status(ended.error());
    }
    const bool is_running = cells[1] == "RUNNING" || cells[1] == "COMPLETING";
    (*held)[index] = {is_running, cells[2], is_running ? std::string() : cells[3]};
    return Ok{};
  }

  Job job_;
  std::string name_;
};

Result<std::vector<std::string>> systems(const Settings& settings) {
  std::vector<std::string> words = {"sinfo", "--noheader", "--Node", "--format", "%N"};
  const std::string partition = text_of(settings, "partition");
  if (!partition.empty()) words.push_back("--partition=" + partition);
  XSP_TRY(const std::string nodes, run_program(words));
  std::vector<std::string> all = split(nodes, '\n');
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

Result<std::unique_ptr<Session>> open(const Job& job) {
  XSP_CHECK_OK([]() -> Status {
    const auto version = run_program({"sinfo", "--version"});
    return version.ok() ? Status(Ok{}) : Status(not_available("slurm: " + version.error().text));
  }());
  return std::unique_ptr<Session>(new Slurm(job));
}

}  // namespace

std::vector<Executor> slurm_executors() {
  return {{"slurm",
           "a cluster with Slurm, whose nodes see the folder of the sweep",
           {{"partition", "the partition", false},
            {"constraint", "the features that a node must have", false},
            {"account", "the account that pays", false},
            {"gres", "what a task on a GPU asks for; else gpu:1", false},
            {"exclusive", "no: other jobs may run on the node during a task", false},
            {"options", "options of sbatch, such as [--qos=low]", false}},
           systems,
           open,
           nullptr,
           true}};
}

}  // namespace xsp::executors
