// xsp task: runs one task of a sweep. Executors call it.
#include "desk/sweep/task.h"

#include <charconv>
#include <csignal>
#include <cstdio>
#include <memory>

#include "desk/cli/verbs.h"
#include "desk/experiment/interrupt.h"
#include "desk/sweep/folder.h"

namespace xsp::cli {
namespace {

namespace fs = std::filesystem;

struct TaskOptions {
  std::string plan;
  size_t index = 0;
  sweep::Through through;
};

Status say(const sweep::Attempt& attempt) {
  std::string text = std::string("task: ") + sweep::text_of(attempt.end);
  if (attempt.end == sweep::End::kDone) return Ok{};
  if (attempt.end == sweep::End::kSecond) {
    std::fprintf(stderr, "task: it has a result already\n");
    return Ok{};
  }
  if (!attempt.reason.empty()) text += ": " + attempt.reason;
  const bool is_refused = attempt.end == sweep::End::kRefused;
  return is_refused ? not_available(text) : failed(text);
}

Status task(const TaskOptions& options) {
  ::signal(SIGXFSZ, SIG_IGN);
  const experiment::Interrupts interrupts;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (options.plan == "-") {
    return sweep::answer_task(0, 1, options.index, program, interrupts.count());
  }
  const sweep::Folder folder(fs::path(options.plan).parent_path());
  XSP_TRY(const sweep::Plan plan, folder.plan());
  XSP_TRY(const sweep::Attempt attempt, sweep::run_task(folder, plan, options.index, program,
                                                        options.through, interrupts.count()));
  return say(attempt);
}

}  // namespace

void add_task(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<TaskOptions>();
  CLI::App* verb = app.add_subcommand("task", "Run one task of a sweep; executors call it");
  verb->add_option("PLAN", options->plan,
                   "The plan.json in the sweep's folder; -: the plan is one line of the standard "
                   "input, and the evaluation goes to the standard output")
      ->required()
      ->type_name("");
  verb->add_option("INDEX", options->index, "The task's position in the plan, from 0")
      ->required()
      ->type_name("");
  verb->add_option(
          "--through", options->through.words,
          "A word of the command that runs xsp task - 0 on another machine; once for each word")
      ->expected(1)
      ->take_all();
  verb->add_option("--on", options->through.host, "That machine");
  verb->footer(
      "The task is done once: if it has a result, nothing happens. It waits until no other task\n"
      "is measured on its device. Exit status: 0 it has a result, 1 it failed, 2 usage, 4 it "
      "cannot\n"
      "be done on this machine.\n"
      "\n"
      "Example:\n"
      "  xsp task zoo/plan.json 3");
  verb->callback([options, &exit_status] {
    const Status status = task(*options);
    exit_status = status.ok() ? 0 : report(status.error());
  });
}

}  // namespace xsp::cli
