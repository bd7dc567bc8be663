// xsp run: watches any command, unchanged, and writes an .xsp file.
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/verbs.h"
#include "evaluate/attach.h"
#include "evaluate/frameworks.h"
#include "evaluate/plan.h"

namespace xsp::cli {
namespace {

namespace fs = std::filesystem;

// As the shell has it: there is no such program, or it cannot be run.
constexpr int kCannotRunStatus = 127;

struct Options {
  // All but the level library, which wraps functions of the program's libraries.
  std::string levels = "application,model,layer,api,kernel";
  std::string output;
  bool is_leveled = false;
  bool quiet = false;
  std::vector<std::string> command;
};

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// What the command is about: the script that an interpreter was given, else the program.
std::string subject_of(const std::vector<std::string>& command) {
  for (const std::string& word : command) {
    const fs::path path(word);
    if (path.extension() == ".py" || path.extension() == ".sh") return path.stem();
  }
  return fs::path(command[0]).filename();
}

// Ends as the command did, so that whoever started us cannot tell the difference.
[[noreturn]] void end_by_signal(int number) {
  const rlimit no_core = {0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::signal(number, SIG_DFL);
  ::raise(number);
  std::_Exit(128 + number);
}

void say(const std::string& line) { std::fprintf(stderr, "xsp: %s\n", line.c_str()); }

void tell(const evaluate::AttachOutcome& outcome, const fs::path& output) {
  for (const std::string& note : outcome.notes) say(note);
  if (outcome.processes == 0) return;
  const std::string lost =
      outcome.lost == 0 ? "" : fmt::format("; {} were lost, see: xsp analyze audit", outcome.lost);
  say(fmt::format("wrote {}: {} spans of {} process{}{}", output.string(), outcome.spans,
                  outcome.processes, outcome.processes == 1 ? "" : "es", lost));
  say(fmt::format("next: xsp report {}", output.string()));
}

// The command's exit status, or 128 + the signal that ended it; ours only if it was never run.
Result<int> run(const Options& options) {
  evaluate::AttachRequest request;
  request.command = options.command;
  XSP_TRY(request.levels, evaluate::parse_levels(options.levels));
  request.is_leveled = options.is_leveled;
  const std::string subject = subject_of(options.command);
  request.output = options.output.empty() ? fs::path(subject + ".xsp") : fs::path(options.output);
  request.facts = {
      {"model", subject}, {"command", joined(options.command)}, {"xsp_version", XSP_VERSION}};
  XSP_TRY(const evaluate::Installation installation, evaluate::this_installation());
  int wait_status = -1;
  const auto outcome = evaluate::attach(request, installation, &wait_status);
  if (outcome.ok() && !options.quiet) tell(*outcome, request.output);
  if (wait_status == -1) return outcome.error();
  // The command has run: what it says counts, even where its trace was of no use.
  if (!outcome.ok()) report(outcome.error());
  if (WIFSIGNALED(wait_status)) end_by_signal(WTERMSIG(wait_status));
  return WEXITSTATUS(wait_status);
}

}  // namespace

void add_run(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("run", "Watch any command, unchanged; exits as it does");
  verb->add_option("--levels", options->levels,
                   "Levels: application,model,layer,library,api,kernel, or all")
      ->capture_default_str();
  verb->add_option("-o,--output", options->output, "The .xsp file; else the script's name, here");
  verb->add_flag("--leveled", options->is_leveled,
                 "Run the command once for each level, so that each has undisturbed numbers");
  verb->add_flag("--quiet", options->quiet, "Say nothing");
  verb->add_option("COMMAND", options->command, "The command and its arguments")
      ->required()
      ->type_name("");
  verb->positionals_at_end();
  verb->footer(
      "The command keeps the terminal, its standard streams, its signals and its exit status. It\n"
      "and every process that it starts are recorded; in Python programs each call of a PyTorch\n"
      "module is a layer, and the outermost call the model. Spans of your own: see xsp/xsp.h, and\n"
      "the Python package xsp, which is there in every Python that is run so.\n"
      "\n"
      "One run records all levels at once: deep levels slow those above them. With --leveled "
      "every\n"
      "level's numbers come from a run that recorded nothing deeper.\n"
      "\n"
      "Programs that are linked statically, or set-user-id, run unrecorded. Exit status: that of\n"
      "the command; 127 if it cannot be run, 2 for a mistake in xsp's own options.\n"
      "\n"
      "Examples:\n"
      "  xsp run -- python infer.py --batch 8\n"
      "  xsp run --leveled -o infer.xsp -- python infer.py\n"
      "  xsp run -- ./server --port 8080");
  verb->callback([options, &exit_status] {
    const Result<int> status = run(*options);
    exit_status = status.ok() ? *status : report(status.error());
    if (!status.ok() && status.error().code == Code::kNotAvailable) exit_status = kCannotRunStatus;
  });
}

}  // namespace xsp::cli
