// xsp run: watches any command, unchanged, and writes an .xsp file.
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "desk/cli/answer.h"
#include "desk/cli/messages.h"
#include "desk/cli/output.h"
#include "desk/cli/replaced.h"
#include "desk/cli/terminal.h"
#include "desk/cli/verbs.h"
#include "desk/experiment/frameworks.h"
#include "desk/experiment/plan.h"
#include "desk/experiment/record.h"
#include "desk/store/database.h"
#include "desk/watch/watch.h"
#include "shared/base/text.h"
#include "shared/base/words.h"

namespace xsp::cli {
namespace {

namespace fs = std::filesystem;

// The status that shells use if there is no such program, or it cannot be run.
constexpr int kCannotRunStatus = 127;
// The largest size of files. A negative option, read as unsigned, exceeds it.
constexpr uint64_t kBytesMax = INT64_MAX;
constexpr uint64_t kSlowBytes = 10'000'000;  // traces of this size take a second or more to read
constexpr uint32_t kStacksHzMax = 1000;
constexpr uint32_t kOneInMax = 1'000'000;

struct RunOptions {
  // All levels except library, which wraps functions of the program's libraries.
  std::string levels = "application,model,layer,api,kernel";
  std::string output;
  std::string leveled = "turns";
  std::string sample;  // 1/N
  double delay_s = 0;
  double duration_s = 0;
  std::string steps;       // N:M
  uint64_t bytes_max = 0;  // limit on the traces; 0: the default
  uint32_t stacks_hz = 200;
  bool has_stacks = true;
  bool is_forced = false;
  bool quiet = false;
  bool is_verbose = false;
  bool progress = false;
  std::vector<std::string> command;
};

const std::map<std::string, watch::Leveled> kLeveled = {{"turns", watch::Leveled::kTurns},
                                                        {"steps", watch::Leveled::kTurnsAndBare},
                                                        {"runs", watch::Leveled::kExecutions},
                                                        {"sampled", watch::Leveled::kSampled},
                                                        {"no", watch::Leveled::kNot}};

// Returns the name of what runs: the script that an interpreter was given, else the program.
std::string subject_of(const std::vector<std::string>& command) {
  for (const std::string& word : command) {
    const fs::path path(word);
    if (path.extension() == ".py" || path.extension() == ".sh") return path.stem();
  }
  return fs::path(command[0]).filename();
}

// Ends by the same signal as the command, so that our parent process sees no difference.
[[noreturn]] void end_by_signal(int number) {
  const rlimit no_core = {0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::signal(number, SIG_DFL);
  ::raise(number);
  std::_Exit(128 + number);
}

// Reads "10:20", "10:" or ":20".
bool read_steps(const std::string& text, watch::Schedule* schedule) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos) return false;
  const auto read = [](std::string_view digits, int64_t* number) {
    if (digits.empty()) return true;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), *number);
    return error == std::errc() && end == digits.data() + digits.size() && *number >= 0;
  };
  const std::string_view all(text);
  return read(all.substr(0, colon), &schedule->first_step) &&
         read(all.substr(colon + 1), &schedule->end_step) &&
         (schedule->end_step < 0 || schedule->first_step < schedule->end_step);
}

// Reads "1/100".
bool read_share(std::string_view text, uint32_t* one_in) {
  if (!text.starts_with("1/")) return false;
  text.remove_prefix(2);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *one_in);
  return error == std::errc() && end == text.data() + text.size() && *one_in >= 2 &&
         *one_in <= kOneInMax;
}

Result<watch::Schedule> schedule_of(const RunOptions& options) {
  watch::Schedule schedule;
  schedule.delay_s = options.delay_s;
  schedule.duration_s = options.duration_s;
  schedule.sample_hz = options.has_stacks ? options.stacks_hz : 0;
  if (!options.sample.empty() && !read_share(options.sample, &schedule.one_in)) {
    return usage("--sample " + options.sample + ": write 1/N, with N from 2 to 1000000");
  }
  if (options.steps.empty() || read_steps(options.steps, &schedule)) return schedule;
  return usage("--steps " + options.steps +
               ": not a range of steps: write N:M, N: or :M, counted from 0, M left out");
}

void say(const std::string& line) {
  constexpr size_t kIndent = 5;  // below the first word after "xsp: "
  std::fputs(message_lines(terminal_of(2), "xsp: " + line, kIndent).c_str(), stderr);
}

// A line on the terminal that the next one overwrites. Output of the program may share the line.
class ProgressLine {
 public:
  explicit ProgressLine(bool is_wanted) : is_on_(is_wanted && terminal_of(2).is_terminal) {}
  ~ProgressLine() {
    if (is_drawn_) std::fputs("\r\x1b[K", stderr);
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  bool is_on() const { return is_on_; }
  void draw(const watch::AttachProgress& progress) {
    const double elapsed_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    const std::string line = fmt::format(
        "\r\x1b[Kxsp: {:.0f} s, {}, {}, {:.1f} MB", elapsed_s,
        counted(static_cast<uint64_t>(progress.processes), "process", "es"),
        counted(progress.steps, "step"), static_cast<double>(progress.trace_bytes) / 1e6);
    std::fputs(line.c_str(), stderr);
    is_drawn_ = true;
  }

 private:
  bool is_on_;
  bool is_drawn_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Prints the tables behind the answer. The standard output is the program's own.
void tell_tables(store::Database& database, bool has_steps) {
  const std::vector<std::string> of_steps = {"time_of_step", "time_by_level", "hotspots"};
  const std::vector<std::string> of_all = {"functions", "hotspots"};
  for (const std::string& name : has_steps ? of_steps : of_all) {
    const Result<std::string> text = analysis_text(database, name, terminal_of(2));
    if (text.ok()) std::fprintf(stderr, "\n%s", text->c_str());
  }
}

void tell(const watch::AttachOutcome& outcome, const fs::path& output, const std::string& replaced,
          bool is_verbose) {
  for (const std::string& note : outcome.notes) say(note);
  if (outcome.processes == 0) return;
  say(fmt::format("wrote {}{}: {} of {}{}", output.string(), replaced,
                  counted(outcome.spans, "span"), counted(outcome.processes, "process", "es"),
                  lost_text(outcome.lost)));
  Result<store::Database> database = store::Database::open(output);
  const Answer answer = database.ok() ? answer_of(*database, terminal_of(2)) : Answer();
  if (database.ok() && is_verbose) tell_tables(*database, answer.has_steps);
  std::fputs(answer.text.c_str(), stderr);
  const char* const next = answer.has_steps      ? "findings"
                           : answer.text.empty() ? "analyze hotspots"
                                                 : "analyze flame_graph";
  const std::string first = fmt::format("xsp {} {}", next, output.string());
  const char* const what = answer.has_steps      ? "every finding, and how to check it"
                           : answer.text.empty() ? "what took the time, by name"
                                                 : "the functions and lines, as stacks";
  const Terminal terminal = terminal_of(2);
  const auto line = [&](const char* begin, const std::string& command, const char* does) {
    std::fputs(command_lines(terminal, begin, command, first.size(), does).c_str(), stderr);
  };
  line("xsp: next: ", first, what);
  line("           ", "xsp report " + output.string(), "a page: timeline, causes, flame graph");
}

// Returns the command's exit status, or 128 + the signal that ended it. Returns our own only if the
// command never ran.
Result<int> run(const RunOptions& options) {
  watch::AttachRequest request;
  request.command = options.command;
  XSP_CHECK_OK(require_text("--output", options.output));
  XSP_TRY(request.levels, experiment::parse_levels(options.levels));
  const std::string leveled = options.sample.empty() ? options.leveled : "sampled";
  request.leveled = kLeveled.at(leveled);
  XSP_TRY(request.schedule, schedule_of(options));
  if (options.bytes_max > kBytesMax) {
    return usage("--max-size: no size that a file may have: write 500MB, 2GB, ...");
  }
  request.trace_bytes_max = options.bytes_max;
  const std::string subject = subject_of(options.command);
  request.output = options.output.empty() ? fs::path(subject + ".xsp") : fs::path(options.output);
  const std::vector<fs::path> words(options.command.begin(), options.command.end());
  XSP_TRY(const std::string replaced,
          replaced_by({request.output, Place::Kind::kEvaluation, words, options.is_forced}));
  request.facts = {{"model", subject},
                   {"command", joined(options.command, " ")},
                   {"xsp_version", XSP_VERSION},
                   {"recorded_by", "xsp run"},
                   {"started_at", experiment::utc_now()},
                   {"leveled", leveled}};
  XSP_TRY(const experiment::Installation installation, experiment::this_installation());
  int wait_status = -1;
  std::optional<ProgressLine> line(options.progress && !options.quiet);
  if (line->is_on()) request.on_progress = [&line](const auto& now) { line->draw(now); };
  if (!options.quiet) {
    request.on_reading = [](uint64_t bytes) {
      if (bytes < kSlowBytes) return;
      say(fmt::format("the command has ended: reading {:.0f} MB of traces",
                      1e-6 * static_cast<double>(bytes)));
    };
  }
  const auto outcome = watch::attach(request, installation, &wait_status);
  line.reset();
  if (outcome.ok() && !options.quiet) tell(*outcome, request.output, replaced, options.is_verbose);
  if (wait_status == -1) return outcome.error();
  // The command has run, so its exit status counts even if its trace could not be used.
  if (!outcome.ok()) report(outcome.error());
  if (WIFSIGNALED(wait_status)) end_by_signal(WTERMSIG(wait_status));
  return WEXITSTATUS(wait_status);
}

constexpr const char* kFooter =
    "The command keeps the terminal, its standard streams, its signals and its exit status. It\n"
    "and every process that it starts are recorded; in Python programs each call of a PyTorch\n"
    "module is a layer, and the outermost call the model. Spans of your own: see xsp/xsp.h, and\n"
    "the Python package xsp, which is there in every Python that is run so.\n"
    "\n"
    "Deep levels slow those above them. So, once the program is warm and shows steps (calls of "
    "a\n"
    "model, an optimiser's steps, xsp_step), levels take turns: some steps with the model "
    "alone,\n"
    "some with its layers, and so on. Of a program with too few steps all are recorded at once;\n"
    "--leveled runs the command once for each level.\n"
    "\n"
    "Where its threads are is seen from outside, many times a second: no signal is sent to them "
    "and\n"
    "Python's lock is not taken; where a look costs more than 0.8 per cent of a processor's "
    "time,\n"
    "it is done less often. 'xsp analyze flame_graph' shows the functions and lines.\n"
    "\n"
    "With --delay, --duration and --steps a part of it is recorded, in every process counted "
    "from "
    "its\n"
    "own start; 'xsp ctl' switches recording while the command runs.\n"
    "\n"
    "Programs that are linked statically, or set-user-id, run unrecorded. Exit status: that of\n"
    "the command; 127 if it cannot be run, 2 for a mistake in xsp's own options.\n"
    "\n"
    "Examples:\n"
    "  xsp run -- python infer.py --batch 8\n"
    "  xsp run --leveled -o infer.xsp -- python infer.py\n"
    "  xsp run --leveled=no --levels model -- python train.py\n"
    "  xsp run --steps 10:20 -- python train.py\n"
    "  xsp run --sample 1/100 -- python serve.py    # little enough to stay on\n"
    "  xsp run --delay 30 --duration 10 -- ./server --port 8080\n"
    "  xsp run --stacks 500 -- python prepare.py\n"
    "  xsp run --max-size 500MB -- python train.py";

}  // namespace

void add_run(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* verb = app.add_subcommand("run", "Watch any command, unchanged; exits as it does");
  verb->add_option("--levels", options->levels,
                   "Levels: application,model,layer,library,api,kernel, or all")
      ->capture_default_str();
  verb->add_option("-o,--output", options->output, "The .xsp file; else the script's name, here");
  add_force(*verb, options->is_forced);
  CLI::Option* leveled =
      verb->add_flag(
              "--leveled{runs}", options->leveled,
              "How levels get undisturbed numbers: turns (default), in blocks of steps; steps: "
              "with\n"
              "blocks in which nothing is recorded; runs, or nothing: one run for each; no: all "
              "at once")
          ->check(CLI::IsMember({"turns", "steps", "runs", "no"}));
  verb->add_option("--sample", options->sample,
                   "Record one step in N with all levels, and of the others when they began alone")
      ->excludes(leveled)
      ->type_name("1/N");
  verb->add_option("--delay", options->delay_s,
                   "Record from so many seconds after a process's start")
      ->check(CLI::NonNegativeNumber)
      ->type_name("SECONDS");
  verb->add_option("--duration", options->duration_s, "Record for so long")
      ->check(CLI::NonNegativeNumber)
      ->type_name("SECONDS");
  verb->add_option("--steps", options->steps, "Record these steps, from 0 on, M left out")
      ->type_name("N:M");
  verb->add_option("--max-size", options->bytes_max,
                   "Of the traces, until the command has ended: 500MB, 2GB; else half of what is "
                   "free.\n"
                   "Near it, kernels and calls are given up, then layers, then models")
      ->transform(CLI::AsSizeValue(true))
      ->type_name("SIZE");
  verb->add_option("--stacks", options->stacks_hz,
                   "Look at where every thread is so many times a second, and who waits for what")
      ->check(CLI::Range(1u, kStacksHzMax))
      ->capture_default_str()
      ->type_name("HZ");
  verb->add_flag_callback(
      "--no-stacks", [options] { options->has_stacks = false; }, "Do not");
  verb->add_flag("--progress", options->progress,
                 "On a terminal: a line with time, steps and the size of the traces, every second");
  verb->add_flag("--quiet", options->quiet, "Say nothing");
  verb->add_flag("-v,--verbose", options->is_verbose,
                 "Also print the tables behind the answer: a step's time, by level, by name");
  verb->add_option("COMMAND", options->command, "The command and its arguments")
      ->required()
      ->type_name("");
  verb->positionals_at_end();
  verb->footer(kFooter);
  verb->callback([options, &exit_status] {
    const Result<int> status = run(*options);
    exit_status = status.ok() ? *status : report(status.error());
    if (!status.ok() && status.error().code == Code::kNotAvailable) exit_status = kCannotRunStatus;
  });
}

}  // namespace xsp::cli
