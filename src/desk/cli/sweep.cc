// xsp sweep: measures many models, by many frameworks, on many machines.
#include "desk/sweep/sweep.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "desk/cli/messages.h"
#include "desk/cli/sweep_names.h"
#include "desk/cli/sweep_report.h"
#include "desk/cli/terminal.h"
#include "desk/cli/verbs.h"
#include "desk/experiment/interrupt.h"
#include "desk/manifest/yaml.h"
#include "shared/base/words.h"

namespace xsp::cli {
namespace {

namespace fs = std::filesystem;
using sweep::Folder;
using sweep::Plan;
using sweep::View;

struct SweepOptions {
  std::string file;
  std::string folder;
  std::string executor = "local";
  std::string place;  // of the catalogue
  bool is_dry = false;
  bool has_no_site = false;
  bool is_quiet = false;
};

// Returns the catalogue that gets the results: what is named now, else what was named at first.
std::string place_of(const SweepOptions& options, const Folder& folder, const Plan& plan) {
  if (!options.place.empty()) return options.place;
  return plan.place.empty() ? (folder.path() / catalogue::kFileName).string() : plan.place;
}

// Fails if the catalogue is on a server and cannot be opened.
Status check_server(const std::string& place) {
  if (!catalogue::is_server(place)) return Ok{};
  const auto opened = catalogue::Catalogue::open(place);
  if (opened.ok()) return Ok{};
  return Error{opened.error().code,
               opened.error().text + ": name the catalogue with --db, and its password there or " +
                   "in PGPASSWORD"};
}

// Lets the executor run the plan until all tasks are settled, or there is an interrupt. `seen` gets
// what was there at the last look at the engine.
Result<View> run_plan(const SweepOptions& options, const std::string& place, const Folder& folder,
                      const Plan& plan, const executors::Executor& executor,
                      const std::atomic<int>& stop, View* seen) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  XSP_TRY(const auto session, executor.open(sweep::job_of(folder, plan, program)));
  SweepNotes notes(place, plan);
  XSP_CHECK_OK(notes.begin(sweep::view_of(folder, plan)));
  SweepProgress progress(plan, options.is_quiet);
  return sweep::run_sweep(folder, plan, *session, stop, [&](const View& now) {
    progress.show(now);
    notes.show(now);
    *seen = now;
  });
}

// Notes in the catalogue and in the folder how the sweep ended.
Status note_end(const SweepOptions& options, const std::string& place, const Folder& folder,
                const Plan& plan, const View& view, sweep::SweepEnd end) {
  const Status noted = note_sweep(place, plan, view, end.state, options.is_quiet, folder);
  if (!noted.ok()) end = {"failed", noted.error().text};
  XSP_CHECK_OK(folder.note_end(end));
  return noted;
}

// Runs the plan, and reports the end.
Status work(const SweepOptions& options, const Folder& folder, const Plan& plan) {
  XSP_TRY(const auto lock, folder.lock());
  XSP_TRY(const executors::Executor executor, executors::find_executor(plan.executor));
  const std::string place = place_of(options, folder, plan);
  XSP_CHECK_OK(folder.note_end(std::nullopt));
  const experiment::Interrupts interrupts;
  View seen;
  const Result<View> ran =
      run_plan(options, place, folder, plan, executor, interrupts.count(), &seen);
  const bool is_over = ran.ok() && ran->is_over();
  // An interrupt has ended tasks that the last look at the engine still saw.
  const View view = is_over ? *ran : sweep::view_of(folder, plan);
  if (!is_over) {
    const std::string left = sweep::left_behind(folder, executor, seen);
    if (!left.empty()) std::fprintf(stderr, "\nwarning: %s\n", left.c_str());
  }
  if (!ran.ok()) {
    (void)note_end(options, place, folder, plan, view, {"failed", ran.error().text});
    return ran.error();
  }
  const sweep::SweepEnd end = sweep::end_of(view, is_over);
  XSP_CHECK_OK(note_end(options, place, folder, plan, view, end));
  XSP_CHECK_OK(print_results(place, folder, plan, view));
  if (!options.has_no_site && view.count(sweep::State::kDone) > 0) {
    XSP_CHECK_OK(write_sweep_site(place, folder, options.is_quiet));
  }
  if (!is_over) {
    return Error{Code::kInterrupted, "interrupted: the results so far are in " +
                                         folder.path().string() + ": go on with xsp sweep resume " +
                                         folder.path().string()};
  }
  const size_t open = view.tasks.size() - view.count(sweep::State::kDone);
  if (open == 0) return Ok{};
  return failed(std::to_string(open) + " of " + std::to_string(view.tasks.size()) +
                " tasks have no result: the reasons are above; xsp sweep resume " +
                folder.path().string() + " tries them again");
}

Status begin(const SweepOptions& options) {
  if (options.file.empty()) return usage("SWEEP.yaml: missing: name the file of a sweep");
  sweep::Asked asked;
  asked.file = options.file;
  XSP_TRY(asked.text, manifest::read_small_file(options.file));
  XSP_TRY(const executors::Executor executor, executors::find_executor(options.executor));
  XSP_TRY(const sweep::Names names, sweep_names());
  XSP_TRY(Plan plan, sweep::expand(asked, executor, names));
  const Folder folder(options.folder.empty() ? fs::path(plan.name) : fs::path(options.folder));
  if (options.is_dry) return print_plan(plan, options.place);
  if (!options.place.empty()) plan.place = catalogue::lasting_place(options.place);
  XSP_CHECK_OK(check_server(options.place));
  XSP_CHECK_OK(folder.create(plan));
  if (!options.is_quiet) {
    std::fprintf(stderr, "%s, %zu left out; the results go to %s\n",
                 counted(plan.tasks.size(), "task").c_str(), plan.left_out.size(),
                 folder.path().c_str());
  }
  return work(options, folder, plan);
}

Status resume(const SweepOptions& options) {
  const Folder folder{fs::path(options.folder)};
  XSP_TRY(const Plan plan, folder.plan());
  XSP_CHECK_OK(check_server(place_of(options, folder, plan)));
  return work(options, folder, plan);
}

Status status(const SweepOptions& options) {
  const Folder folder{fs::path(options.folder)};
  XSP_TRY(const Plan plan, folder.plan());
  const bool is_live = terminal_of(1).is_terminal;
  const experiment::Interrupts interrupts;
  size_t lines = 0;
  for (;;) {
    const View view = sweep::view_of(folder, plan);
    const std::string text = status_text(plan, view, terminal_of(1));
    const std::string up = lines > 0 ? "\033[" + std::to_string(lines) + "A\033[J" : "";
    XSP_CHECK_OK(write_stdout(up + text));
    if (!is_live || view.is_over() || interrupts.count() > 0) return Ok{};
    lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
    ::sleep(1);
  }
}

Status cancel(const SweepOptions& options) {
  const Folder folder{fs::path(options.folder)};
  XSP_TRY(const Plan plan, folder.plan());
  XSP_TRY(const executors::Executor executor, executors::find_executor(plan.executor));
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return sweep::cancel_jobs(folder, plan, executor, program);
}

std::string executors_text() {
  std::string text = "Executors:\n";
  for (const executors::Executor& one : executors::all_executors()) {
    text += "  " + one.name + std::string(12 - std::min<size_t>(11, one.name.size()), ' ') +
            one.title + "\n";
    for (const executors::Setting& setting : one.settings) {
      text += "    " + setting.name + ": " + setting.title + "\n";
    }
  }
  return text;
}

void run_with(CLI::App* verb, const std::shared_ptr<SweepOptions>& options, int& exit_status,
              Status (*what)(const SweepOptions&)) {
  verb->callback([options, &exit_status, what] {
    const Status done = what(*options);
    exit_status = done.ok() ? 0 : report(done.error());
  });
}

void add_common(CLI::App* verb, const std::shared_ptr<SweepOptions>& options) {
  verb->add_option("--db", options->place,
                   "The catalogue that gets the results: a file, or postgresql://USER@HOST/NAME; "
                   "else, of a sweep that goes on, the one of its beginning; else catalogue.sqlite "
                   "in the folder")
      ->type_name("PLACE");
  verb->add_flag("--no-site", options->has_no_site, "Write no pages at the end");
  verb->add_flag("--quiet", options->is_quiet, "No progress, no notes");
}

}  // namespace

void add_sweep(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<SweepOptions>();
  CLI::App* verb =
      app.add_subcommand("sweep", "Measure many models, by many frameworks, on many machines");
  verb->add_option("SWEEP.yaml", options->file, "What is to be measured")->type_name("");
  verb->add_option("--executor", options->executor, "What runs the tasks; see below")
      ->type_name("NAME")
      ->capture_default_str();
  verb->add_option("-o,--output", options->folder,
                   "The folder of the results; else the sweep's name")
      ->type_name("DIR");
  verb->add_flag("--dry-run", options->is_dry,
                 "Show the tasks, and the time that they will take by the catalogue (--db)");
  add_common(verb, options);
  verb->require_subcommand(0, 1);
  struct Part {
    const char* name;
    const char* title;
    Status (*what)(const SweepOptions&);
  };
  for (const Part& part : {Part{"status", "Show what is done, runs, waits or failed", status},
                           Part{"resume", "Go on, and try again what has no result", resume},
                           Part{"cancel", "End what the engine still has", cancel}}) {
    CLI::App* sub = verb->add_subcommand(part.name, part.title);
    sub->add_option("DIR", options->folder, "The sweep's folder")->required()->type_name("");
    if (part.what == resume) add_common(sub, options);
    run_with(sub, options, exit_status, part.what);
  }
  verb->footer(
      "SWEEP.yaml has lists: models, and as wanted frameworks, devices, batches and scenarios. "
      "Each\n"
      "combination is a task, and each task is one evaluation in DIR/results. A task whose "
      "process\n"
      "or machine dies is tried again; whatever is killed, resume goes on. At the end, the "
      "results\n"
      "are in the catalogue and in DIR/site/index.html. Exit status: 0 all tasks have a result, 1\n"
      "some have none, 2 usage, 4 the engine is not here.\n"
      "\n" +
      executors_text() +
      "\n"
      "Examples:\n"
      "  xsp sweep zoo.yaml --dry-run\n"
      "  xsp sweep zoo.yaml --executor slurm -o /shared/zoo\n"
      "  xsp sweep status /shared/zoo\n"
      "  xsp sweep resume /shared/zoo");
  verb->callback([verb, options, &exit_status] {
    if (!verb->get_subcommands().empty()) return;
    const Status done = begin(*options);
    exit_status = done.ok() ? 0 : report(done.error());
  });
}

}  // namespace xsp::cli
