// xsp ctl: tells programs that `xsp run` watches, while they run, what to record.
#include <fmt/format.h>

#include <memory>

#include "desk/cli/numbers.h"
#include "desk/cli/output.h"
#include "desk/cli/verbs.h"
#include "desk/experiment/plan.h"
#include "desk/watch/control.h"

namespace xsp::cli {
namespace {

namespace fs = std::filesystem;
using watch::ControlFile;
using What = ControlFile::What;

struct CtlOptions {
  int process = 0;
  std::string run;
  std::string levels;
  OutputOptions output;
};

// Returns whether the run will write the named .xsp file.
bool writes(const ControlFile& file, const std::string& name) {
  std::error_code error;
  return file.output() == fs::absolute(name, error);
}

bool watches(const ControlFile& file, int process) {
  for (const watch::WatchedProcess& one : file.processes()) {
    if (one.process == process) return true;
  }
  return false;
}

// Returns the selected runs: that of the process, that of the file, or else all running ones.
Result<std::vector<ControlFile>> meant(const CtlOptions& options) {
  std::vector<ControlFile> files = ControlFile::running();
  std::erase_if(files, [&options](const ControlFile& file) {
    return (options.process != 0 && !watches(file, options.process)) ||
           (!options.run.empty() && !writes(file, options.run));
  });
  if (!files.empty()) return files;
  if (options.process != 0) {
    return failed(fmt::format("process {}: is not watched: see the processes with 'xsp ctl status'",
                              options.process));
  }
  if (!options.run.empty()) {
    return failed(options.run + ": no running 'xsp run' writes it: see 'xsp ctl status'");
  }
  return failed("nothing is being watched: start a program with 'xsp run -- COMMAND'");
}

Status give(const CtlOptions& options, What what) {
  uint32_t levels = 0;
  if (!options.levels.empty()) {
    XSP_TRY(levels, experiment::parse_levels(options.levels));
  }
  XSP_TRY(std::vector<ControlFile> files, meant(options));
  if (files.size() > 1) {
    return failed(
        fmt::format("{} runs are going on: say which with --run FILE or --pid P: "
                    "see 'xsp ctl status'",
                    files.size()));
  }
  std::optional<int> process;
  if (options.process != 0) process = options.process;
  return files[0].command(what, levels, process);
}

Status show(const CtlOptions& options) {
  XSP_TRY(const std::vector<ControlFile> files, meant(options));
  Sheet sheet;
  sheet.columns = {{"run", "text", ""},    {"process", "id", ""},  {"program", "text", ""},
                   {"levels", "text", ""}, {"steps", "count", ""}, {"steps_of", "text", ""},
                   {"age_s", "s", ""}};
  for (const analyze::Column& column : sheet.columns) {
    sheet.table.columns.push_back({column.name, "VARCHAR"});
  }
  for (const ControlFile& file : files) {
    for (const watch::WatchedProcess& one : file.processes()) {
      if (!one.is_alive || (options.process != 0 && one.process != options.process)) continue;
      sheet.table.rows.push_back({file.output().string(), int64_t{one.process}, one.program,
                                  one.levels.empty() ? std::string("none") : one.levels,
                                  static_cast<int64_t>(one.steps), one.step_kind, one.age_s});
    }
  }
  return write_stdout(render(sheet, options.output, terminal_of(1)));
}

CLI::App* add_part(CLI::App& verb, const std::string& name, const std::string& what,
                   CtlOptions* options) {
  CLI::App* part = verb.add_subcommand(name, what);
  part->add_option("--pid", options->process, "This process alone; else all, and those to come")
      ->check(whole_above_zero())
      ->type_name("P");
  part->add_option("--run", options->run, "The run that writes this .xsp, if there are several")
      ->type_name("FILE");
  return part;
}

}  // namespace

void add_ctl(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<CtlOptions>();
  CLI::App* verb = app.add_subcommand("ctl", "Switch recording of running programs on and off");
  verb->require_subcommand(1);
  const auto end_with = [&exit_status](const Status& status) {
    exit_status = status.ok() ? 0 : report(status.error());
  };
  const auto add_command = [&](const char* name, const char* what, What code) {
    CLI::App* part = add_part(*verb, name, what, options.get());
    part->callback([options, end_with, code] { end_with(give(*options, code)); });
    return part;
  };
  const char* const levels_help = "Levels: application,model,layer,library,api,kernel, or all";
  add_command("start", "Record from now on", What::kStart)
      ->add_option("--levels", options->levels, levels_help);
  add_command("stop", "Record nothing from now on", What::kStop);
  add_command("level", "Record these levels, whenever recording is on", What::kLevel)
      ->add_option("LEVELS", options->levels, levels_help)
      ->required()
      ->type_name("");
  CLI::App* status = add_part(*verb, "status", "What is watched, and what of it", options.get());
  add_output_options(*status, options->output, false);
  status->callback([options, end_with] { end_with(show(*options)); });
  verb->footer(
      "For programs that 'xsp run' has started, and that still run. They obey within "
      "milliseconds;\n"
      "one that shows steps, between two of them. From the first command on it counts alone: "
      "--delay,\n"
      "--duration and --steps of the run are over.\n"
      "\n"
      "Examples:\n"
      "  xsp run --delay 1e9 -- ./server &     record nothing at first\n"
      "  xsp ctl start\n"
      "  xsp ctl level model\n"
      "  xsp ctl stop\n"
      "  xsp ctl status --format json");
}

}  // namespace xsp::cli
