// xsp: an across-stack profiler for machine-learning models.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "desk/cli/help.h"
#include "desk/cli/numbers.h"
#include "desk/cli/terminal.h"
#include "desk/cli/verbs.h"
#include "desk/store/apart.h"
#include "shared/base/nearest.h"
#include "shared/base/text.h"

namespace xsp::cli {
namespace {

constexpr size_t kArgumentBytesMax = 1 << 20;  // a query may be long

constexpr const char* kTeaching =
    "xsp profiles a machine-learning model across the stack: model, layers, kernels.\n"
    "\n"
    "  xsp models build resnet50 -o resnet50.onnx    a real topology, without a download\n"
    "  xsp profile resnet50.onnx                     measure it; writes resnet50.xsp\n"
    "  xsp predict magika README.md                  let a model answer a file\n"
    "  xsp run -- python infer.py                    watch any program, unchanged\n"
    "  xsp findings resnet50.xsp                     what costs most, and what to do about it\n"
    "  xsp analyze layer_information resnet50.xsp    where does the time go?\n"
    "  xsp analyze --list                            what else can be asked\n"
    "  xsp query resnet50.xsp \"FROM run\"             any SQL: the file is a DuckDB database\n"
    "  xsp diff a.xsp b.xsp                          is one faster, and where?\n"
    "  xsp sweep zoo.yaml --executor slurm           many models, frameworks and machines\n"
    "  xsp doctor                                    what can be measured on this machine\n"
    "\n"
    "xsp VERB --help says more.\n";

// Fails if the first word is not a verb, and suggests similar verbs.
Status check_verb(const CLI::App& app, const std::string& word) {
  if (word.empty() || word.front() == '-') return Ok{};
  std::vector<std::string> verbs;
  for (const CLI::App* verb : app.get_subcommands(nullptr)) verbs.push_back(verb->get_name());
  if (std::find(verbs.begin(), verbs.end(), word) != verbs.end()) return Ok{};
  return usage("verb '" + word + "': unknown: " + did_you_mean(word, verbs, "see xsp --help"));
}

// Opens the standard streams that are closed. Otherwise, the next opened file would get their
// number, and messages would go into it. Writing to a standard output that was closed still fails,
// and a watched command still starts without the closed streams.
void open_standard_streams() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    const int flags = fd == 2 ? O_WRONLY : O_RDONLY;
    if (::open("/dev/null", flags | O_CLOEXEC) != fd) return;
  }
}

// Refuses arguments that are not valid text before anything uses them. `xsp run` passes the words
// of its command on unchanged.
Status check_arguments(const std::vector<std::string>& arguments) {
  const bool is_watched = !arguments.empty() && arguments[0] == "run";
  if (is_watched) return Ok{};
  for (size_t i = 0; i < arguments.size(); ++i) {
    XSP_CHECK_OK(
        require_text("argument " + std::to_string(i + 1), arguments[i], kArgumentBytesMax));
  }
  return Ok{};
}

// Returns a hint with the verb that is being parsed.
std::string help_hint(const CLI::App& app) {
  std::string command = "xsp";
  for (const CLI::App* verb : app.get_subcommands()) command += " " + verb->get_name();
  return ": see " + command + " --help";
}

// Returns the error of words that the verb does not know, with the options that they resemble.
Error unknown_words(const CLI::App& app, const std::string& said,
                    const std::vector<std::string>& arguments) {
  std::vector<std::string> known;
  for (const CLI::App* verb : app.get_subcommands()) {
    for (const CLI::Option* option : verb->get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
  }
  for (const std::string& argument : arguments) {
    const std::string option = argument.substr(0, argument.find('='));
    if (argument == "--") break;
    if (!option.starts_with("--") || said.find(option) == std::string::npos) continue;
    if (std::find(known.begin(), known.end(), option) != known.end()) continue;
    return usage("option '" + option +
                 "': unknown: " + did_you_mean(option, known, "see" + help_hint(app).substr(5)));
  }
  return usage(said + help_hint(app));
}

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == store::kApartWord) return store::be_apart();
  open_standard_streams();
  store::read_apart("/proc/self/exe");
  CLI::App app("xsp: an across-stack profiler for machine-learning models", "xsp");
  // Before the verbs, which inherit it.
  app.formatter(help_formatter(terminal_of(1).width));
  app.require_subcommand(1);
  app.set_version_flag("--version", XSP_VERSION);
  int exit_status = 0;
  add_agent(app, exit_status);
  add_analyze(app, exit_status);
  add_catalogue(app, exit_status);
  add_condense(app, exit_status);
  add_ctl(app, exit_status);
  add_diff(app, exit_status);
  add_doctor(app, exit_status);
  add_evaluate(app, exit_status);
  add_export(app, exit_status);
  add_findings(app, exit_status);
  add_import(app, exit_status);
  add_predict(app, exit_status);
  add_profile(app, exit_status);
  add_models(app, exit_status);
  add_query(app, exit_status);
  add_report(app, exit_status);
  add_run(app, exit_status);
  add_serve(app, exit_status);
  add_site(app, exit_status);
  add_sweep(app, exit_status);
  add_task(app, exit_status);
  if (argc < 2) {
    const Status written = write_stdout(kTeaching);
    return written.ok() ? 0 : report(written.error());
  }
  const Status text = check_arguments({argv + 1, argv + argc});
  if (!text.ok()) return report(text.error());
  const Status known = check_verb(app, argv[1]);
  if (!known.ok()) return report(known.error());
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);  // --help, --version
  } catch (const CLI::ExtrasError& error) {
    return report(unknown_words(app, error.what(), {argv + 1, argv + argc}));
  } catch (const CLI::ParseError& error) {
    return report(usage(plain_number_error(error.what()) + help_hint(app)));
  } catch (const std::exception& error) {
    return report(failed(std::string("xsp: ") + error.what() + ": this is a defect: report it"));
  }
  return exit_status;
}

}  // namespace
}  // namespace xsp::cli

int main(int argc, char** argv) { return xsp::cli::main(argc, argv); }
