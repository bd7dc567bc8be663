#include "desk/cli/diff_run.h"

#include <signal.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "desk/cli/progress.h"
#include "desk/experiment/interrupt.h"

namespace xsp::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 2> kLetters = {"A", "B"};

// Returns text like "model.onnx (onnxruntime, graph_optimization=basic)".
std::string name_of_side(const RequestOptions& options) {
  std::string how = options.framework;
  for (const std::string& one : options.framework_options) how += (how.empty() ? "" : ", ") + one;
  return options.model + (how.empty() ? "" : " (" + how + ")");
}

Status make_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) return Ok{};
  return failed(folder + ": cannot be made: " + error.message() +
                ": name a folder that can, with -o");
}

// Returns the error of a measurement that has nevertheless written its files, if there is one.
std::optional<Error> problem_of(const experiment::PairsOutcome& outcome,
                                const std::string& folder) {
  for (const experiment::Outcome& side : outcome.sides) {
    if (!side.misplaced) continue;
    return failed(side.misplaced->text + ": the evaluation is in " + side.file.string() +
                  ": move it to where there is room");
  }
  const std::string kept = folder.empty() ? "" : ": what was measured is in " + folder;
  if (outcome.interrupted) return Error{Code::kInterrupted, "interrupted" + kept};
  for (size_t side = 0; side < outcome.sides.size(); ++side) {
    for (const experiment::Run& run : outcome.sides[side].runs) {
      if (run.status() == "failed") {
        return failed(std::string(kLetters[side]) + ", " + experiment::name_of(run.planned) +
                      ": failed: " + run.reason() + kept);
      }
    }
  }
  return std::nullopt;
}

}  // namespace

RequestOptions options_of_side(const PairOptions& options, size_t side, const std::string& model) {
  RequestOptions request = options.both;
  request.model = model;
  if (!options.frameworks[side].empty()) request.framework = options.frameworks[side];
  if (!options.devices[side].empty()) request.device = options.devices[side];
  const std::vector<std::string>& own = options.framework_options[side];
  request.framework_options.insert(request.framework_options.end(), own.begin(), own.end());
  request.levels = "model";
  request.counters = "none";
  request.no_peaks = true;
  return request;
}

Result<PairFiles> run_pairs(const PairOptions& options, const std::vector<std::string>& models,
                            const std::string& command) {
  // A write past the limit on a file's size then fails, here and in the workers, and does not kill
  // us.
  ::signal(SIGXFSZ, SIG_IGN);
  const experiment::Interrupts interrupts;
  XSP_TRY(const experiment::Installation installation, experiment::this_installation());
  PairFiles files;
  fs::path folder = options.folder;
  if (options.folder.empty()) {
    XSP_TRY(files.scratch, ScratchFolder::create());
    folder = files.scratch->path();
  }
  experiment::PairsRequest request;
  request.pairs = options.pairs;
  for (size_t side = 0; side < 2; ++side) {
    const RequestOptions given = options_of_side(options, side, models[side]);
    XSP_TRY(request.sides[side], make_request(given, installation, interrupts.count()));
    experiment::Request& one = request.sides[side];
    one.plan = experiment::plan_of_pairs(one.plan);
    one.facts["command"] = command;
    one.output = folder / (side == 0 ? "a.xsp" : "b.xsp");
    files.files.push_back(one.output);
    files.names.push_back(options.folder.empty() ? name_of_side(given) : files.files.back());
  }
  if (!options.folder.empty()) XSP_CHECK_OK(make_folder(options.folder));
  Result<experiment::PairsOutcome> outcome = failed("");
  {
    const auto progress = make_progress(models[0] + " and " + models[1],
                                        options.quiet ? Verbosity::kQuiet : Verbosity::kNormal);
    outcome = experiment::run_pairs(request, *progress, interrupts.count());
  }
  if (!outcome.ok()) return outcome.error();
  for (size_t side = 0; side < 2; ++side) {
    files.files[side] = outcome->sides[side].file;
    if (options.folder.empty() || options.quiet) continue;
    std::fprintf(stderr, "wrote %s\n", files.files[side].c_str());
  }
  files.problem = problem_of(*outcome, options.folder);
  files.is_interrupted = outcome->interrupted;
  return files;
}

void add_pair_options(CLI::App& verb, CLI::Option& run, PairOptions& options) {
  const auto add = [&](auto* option) { return option->needs(&run)->group("With --run"); };
  const auto add_list = [&](const char* name, std::vector<std::string>& list, const char* text) {
    add(verb.add_option(name, list, text))->expected(1)->take_all()->type_name("KEY=VALUE");
  };
  RequestOptions& both = options.both;
  add(verb.add_option("--pairs", options.pairs, "How many processes of each are measured at least"))
      ->check(CLI::Range(experiment::kPairsMin, 1000))
      ->capture_default_str();
  add(verb.add_option("--width", both.width_percent,
                      "Stop when the ratio is known to within this many percent"))
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  add(verb.add_option("--max-time", both.max_time_s,
                      "Seconds that all processes may measure; else 120 for each batch size. "
                      "Opening the models is not of it"))
      ->check(CLI::PositiveNumber);
  add(verb.add_option("-o,--output", options.folder,
                      "A folder for the two files, a.xsp and b.xsp; else they are not kept"))
      ->type_name("DIR");
  add(verb.add_option("--framework", both.framework, "What runs both; else by the files' endings"));
  add(verb.add_option("--framework-a", options.frameworks[0], "What runs A"));
  add(verb.add_option("--framework-b", options.frameworks[1], "What runs B"));
  add_list("--option", both.framework_options, "An option of the framework; may be repeated");
  add_list("--option-a", options.framework_options[0], "The same, of A alone");
  add_list("--option-b", options.framework_options[1], "The same, of B alone");
  add(verb.add_option("--device", both.device,
                      "cpu, cuda, cuda:N or opencl; else as xsp profile chooses it"));
  add(verb.add_option("--device-a", options.devices[0], "The device of A alone"));
  add(verb.add_option("--device-b", options.devices[1], "The device of B alone"));
  add(verb.add_option(
          "--input", both.inputs,
          "An input's shape, name=1x3x224x224[:dtype], its file, name=@file.npy, or the "
          "value of all its elements, name==5; may be repeated"))
      ->expected(1)
      ->take_all();
  add(verb.add_option("--threads", both.threads, "Threads that a layer may use"));
  add(verb.add_option("--seed", both.seed, "Of made-up inputs and of the order of the turns"))
      ->capture_default_str();
  add(verb.add_option("--timeout", both.timeout_s,
                      "Seconds without an answer after which a process is given up"))
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  add(verb.add_flag("--quiet", options.quiet, "No progress, no notes"));
}

}  // namespace xsp::cli
