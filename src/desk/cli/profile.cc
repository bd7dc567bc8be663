// xsp profile: measures a model at several levels, and writes an .xsp file.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "desk/analyze/prelude.h"
#include "desk/analyze/run.h"
#include "desk/cli/items.h"
#include "desk/cli/messages.h"
#include "desk/cli/model_answer.h"
#include "desk/cli/numbers.h"
#include "desk/cli/output.h"
#include "desk/cli/progress.h"
#include "desk/cli/replaced.h"
#include "desk/cli/request.h"
#include "desk/cli/verbs.h"
#include "desk/experiment/experiment.h"
#include "desk/experiment/frameworks.h"
#include "desk/experiment/interrupt.h"
#include "desk/experiment/plan.h"
#include "shared/base/levels.h"

namespace xsp::cli {
namespace {

struct ProfileOptions : RequestOptions {
  bool quiet = false;
  bool is_verbose = false;
  OutputOptions format;
};

std::string counters_text(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

// A row of results by the columns' names. Missing columns are NULL.
using Row = std::map<std::string, store::Value>;

// The times come from the file's spans, as in all other outputs. The workers' own times, which
// steer the measuring, do not include the recording of the inference itself.
constexpr const char* kLatencySql =
    "SELECT latency_ns, low_ns, high_ns FROM run_latency WHERE run_id = $run";
// Uses the residuals of both runs' blocks, as the analysis overhead_by_level does.
constexpr const char* kOverheadSql = R"(
  WITH residual AS (
    SELECT block, count(*) AS sides,
      sum(CASE run_id WHEN $run THEN residual_ns ELSE -residual_ns END) AS residual_ns
    FROM latency_residual WHERE run_id IN ($run, $without) GROUP BY block),
  width AS (
    SELECT CASE WHEN count(*) FILTER (sides = 2) >= 6 THEN half_width(list(residual_ns)) END
      AS half_ns
    FROM residual)
  SELECT w.latency_ns - o.latency_ns AS added_ns, added_ns - half_ns, added_ns + half_ns
  FROM run_latency w, run_latency o, width WHERE w.run_id = $run AND o.run_id = $without)";

// Adds an estimate with its interval as the columns NAME_ns, NAME_low_ns and NAME_high_ns.
Status add_estimate(store::Database& database, const char* sql,
                    const std::map<std::string, store::Value>& parameters, const std::string& name,
                    Row* row) {
  XSP_TRY(const store::Table table, analyze::query_with_prelude(database, sql, parameters));
  if (table.rows.empty()) return Ok{};
  (*row)[name + "_ns"] = table.rows[0][0];
  (*row)[name + "_low_ns"] = table.rows[0][1];
  (*row)[name + "_high_ns"] = table.rows[0][2];
  return Ok{};
}

Result<Row> row_of(store::Database& database, const experiment::Run& run,
                   const std::vector<experiment::Overhead>& overheads) {
  Row row = {{"levels", levels_text(run.planned.levels)},
             {"counters", counters_text(run.planned.counters)},
             {"status", run.status()},
             {"reason", run.reason()},
             {"stopped_by", run.series.stopped_by},
             {"iterations", static_cast<int64_t>(run.series.latency_ns.count)}};
  const auto batch = run.planned.batch ? run.planned.batch
                     : run.ready       ? run.ready->batch
                                       : std::nullopt;
  if (batch) row["batch"] = int64_t{*batch};
  // If single spans were counted, the times are not those of the model.
  if (run.planned.pace == experiment::Pace::kFew) return row;
  const int64_t run_id = run.planned.run_id;
  XSP_CHECK_OK(add_estimate(database, kLatencySql, {{"run", run_id}}, "latency", &row));
  for (const experiment::Overhead& overhead : overheads) {
    if (overhead.run_id != run.planned.run_id) continue;
    const int64_t without = overhead.without_run_id;
    XSP_CHECK_OK(add_estimate(database, kOverheadSql, {{"run", run_id}, {"without", without}},
                              "overhead", &row));
  }
  return row;
}

// Makes one row for each measured run, and one for each level or counter that was not measured.
Result<Sheet> results_sheet(const experiment::Request& request,
                            const experiment::Outcome& outcome) {
  XSP_TRY(store::Database database, store::Database::open(outcome.file));
  Sheet sheet;
  for (const char* name : {"levels", "counters", "batch", "status", "reason", "stopped_by",
                           "iterations", "latency_ns", "latency_low_ns", "latency_high_ns",
                           "overhead_ns", "overhead_low_ns", "overhead_high_ns"}) {
    const std::string text = name;
    const bool is_time = text.ends_with("_ns");
    const bool is_number = is_time || text == "batch" || text == "iterations";
    sheet.columns.push_back({text, is_time ? "ns" : is_number ? "number" : "text", ""});
    sheet.table.columns.push_back({text, is_number ? "DOUBLE" : "VARCHAR"});
  }
  const auto add = [&sheet](Row row) {
    std::vector<store::Value> cells;
    for (const auto& column : sheet.columns) cells.push_back(std::move(row[column.name]));
    sheet.table.rows.push_back(std::move(cells));
  };
  for (const experiment::Run& run : outcome.runs) {
    XSP_TRY(Row row, row_of(database, run, outcome.overheads));
    add(std::move(row));
  }
  for (const auto& [what, reason] : request.plan.not_measured) {
    add({{"levels", what}, {"status", std::string("not measured")}, {"reason", reason}});
  }
  return sheet;
}

// Describes the inputs: "x float32[1,3] (random in (-1, 1), seed 1); n int64[] (5, as given)".
std::string inputs_text(const std::vector<experiment::Run>& runs) {
  constexpr size_t kShown = 6;
  for (const experiment::Run& run : runs) {
    if (!run.ready) continue;
    const std::vector<experiment::TensorText>& inputs = run.ready->inputs;
    std::string text;
    for (size_t i = 0; i < inputs.size() && i < kShown; ++i) {
      text += (i == 0 ? "" : "; ") + inputs[i].name + " " + inputs[i].dtype + "[" +
              inputs[i].dimensions + "]" +
              (inputs[i].values.empty() ? "" : " (" + inputs[i].values + ")");
    }
    if (inputs.size() > kShown) {
      text += " and " + std::to_string(inputs.size() - kShown) + " more: facts input_values.NAME";
    }
    return text;
  }
  return {};
}

// Prints every table of the summary.
Status print_tables(store::Database& database, const experiment::Outcome& outcome) {
  bool several_batches = false;
  for (const experiment::Run& run : outcome.runs) {
    several_batches |= run.planned.batch != outcome.runs.front().planned.batch;
  }
  std::vector<std::string> analyses = {"model_summary"};
  if (several_batches) analyses.push_back("model_information");
  if (!outcome.overheads.empty()) analyses.push_back("overhead_by_level");
  for (const std::string& name : analyses) {
    XSP_CHECK_OK(print_analysis(database, name));
    XSP_CHECK_OK(write_stdout("\n"));
  }
  return Ok{};
}

// Prints the answer: the file's results for the model, and what was not measured.
Status print_summary(const ProfileOptions& options, const experiment::Request& request,
                     const experiment::Outcome& outcome) {
  XSP_TRY(store::Database database, store::Database::open(outcome.file));
  if (options.is_verbose) XSP_CHECK_OK(print_tables(database, outcome));
  const Terminal terminal = terminal_of(1);
  XSP_CHECK_OK(write_stdout(model_answer(database, terminal)));
  const std::string inputs = inputs_text(outcome.runs);
  const auto print = [&terminal](const std::string& text) {
    return write_stdout(wrapped(text, terminal.width, 2));
  };
  if (!inputs.empty()) XSP_CHECK_OK(print("inputs: " + inputs));
  for (const auto& [what, reason] : request.plan.not_measured) {
    XSP_CHECK_OK(print("not measured: " + what + ": " + reason));
  }
  for (const experiment::Run& run : outcome.runs) {
    if (!run.ready || run.ready->batch_unknown.empty()) continue;
    return print("not measured: batch: " + run.ready->batch_unknown +
                 ": throughput is that of inferences");
  }
  return Ok{};
}

void say(const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); }

// Prints what to do next, with the names of the analyses.
void say_where(const experiment::Outcome& outcome, const std::string& replaced) {
  const std::string file = outcome.file.string();
  say("wrote " + file + replaced);
  const std::string all = "xsp findings " + file;
  const Terminal terminal = terminal_of(2);
  const auto line = [&](const char* begin, const std::string& command, const char* what) {
    std::fputs(command_lines(terminal, begin, command, all.size(), what).c_str(), stderr);
  };
  line("next: ", all, "every finding, and how to check it");
  line("      ", "xsp report " + file, "a page: timeline, layers, roofline");
  line("      ", "xsp analyze --list", "what else can be asked");
}

Status show(const ProfileOptions& options, const experiment::Request& request,
            const experiment::Outcome& outcome, const std::string& replaced) {
  Status status = Ok{};
  if (options.format.format == Format::kTable) {
    status = print_summary(options, request, outcome);
  } else if (Result<Sheet> sheet = results_sheet(request, outcome); sheet.ok()) {
    status = write_stdout(render(*sheet, options.format, terminal_of(1)));
  } else {
    status = sheet.error();
  }
  if (!options.quiet) say_where(outcome, replaced);
  return status;
}

// Returns the error of a measurement that has nevertheless written a file, if there is one.
Status verdict(const experiment::Outcome& outcome) {
  const std::string file = outcome.file.string();
  if (outcome.misplaced) {
    return failed(outcome.misplaced->text + ": the evaluation is in " + file +
                  ": move it to where there is room");
  }
  if (outcome.interrupted) {
    return Error{Code::kInterrupted, "interrupted: what was measured is in " + file};
  }
  size_t failures = 0;
  for (const experiment::Run& run : outcome.runs) failures += run.status() == "failed";
  if (failures == 0) return Ok{};
  return failed(std::to_string(failures) + " of " + std::to_string(outcome.runs.size()) +
                " runs failed: the others are in " + file + ": see the warnings above");
}

Status profile(const ProfileOptions& options, const std::string& command) {
  // A write past the limit on a file's size then fails, here and in the workers, and does not kill
  // us.
  ::signal(SIGXFSZ, SIG_IGN);
  const experiment::Interrupts interrupts;
  XSP_TRY(const experiment::Installation installation, experiment::this_installation());
  XSP_TRY(experiment::Request request, make_request(options, installation, interrupts.count()));
  XSP_TRY(const std::string replaced, replaced_by(options, request));
  request.facts["command"] = command;
  std::unique_ptr<ScratchFolder> steps;
  if (request.facts.count("manifest.name") > 0 && options.framework.empty()) {
    XSP_TRY(const bool is_described, has_steps(options.model));
    if (is_described) {
      XSP_TRY(Items inputs, prepare_inputs(options.model, {}));
      request.worker.pipeline = inputs.pipeline;
      steps = std::move(inputs.folder);
    }
  }
  Result<experiment::Outcome> outcome = failed("");
  {
    const auto progress = make_progress(request.facts["model"] + " on " + request.worker.device,
                                        options.quiet ? Verbosity::kQuiet : Verbosity::kNormal);
    for (const auto& [what, reason] : request.plan.not_measured) {
      progress->note("not measured: " + what + ": " + reason);
    }
    outcome = experiment::run_experiment(request, *progress, interrupts.count());
  }
  if (!outcome.ok()) return outcome.error();
  const Status shown = show(options, request, *outcome, replaced);
  // A failed run is more important than a summary that cannot be shown.
  XSP_CHECK_OK(verdict(*outcome));
  return shown;
}

// Adds the options of what is measured: the model, the device, the levels.
void add_subject(CLI::App* verb, const std::shared_ptr<ProfileOptions>& options) {
  verb->add_option("MODEL", options->model,
                   "A name of 'xsp models --list', a model's file, a manifest, FILE.py:FUNCTION, "
                   "torchvision/NAME, or fake:DESCRIPTION")
      ->type_name("")
      ->required();
  verb->add_option("--framework", options->framework,
                   "What runs it: a name of 'xsp doctor'; else by the file's ending");
  verb->add_option(
      "--device", options->device,
      "cpu, cuda, cuda:N or opencl; else cuda if machine and framework have it, else cpu");
  verb->add_option("--batch", options->batch, "Batch sizes: 1,2,4; else the model's own");
  verb->add_option("--levels", options->levels,
                   "Levels: model,layer,library,api,kernel, or all; else model,layer, and on a GPU "
                   "api,kernel");
  verb->add_option("--counters", options->counters,
                   "roofline, energy, NAME,... or none; else energy, where a GPU tells it");
  verb->add_option(
          "--replay", options->replay,
          "How counters of kernels are counted that need several passes: each kernel again "
          "and again, or the whole application")
      ->check(CLI::IsMember({"auto", "kernel", "application"}))
      ->capture_default_str();
  verb->add_flag("--reuse", options->reuse,
                 "Take a kernel's counters from an equal one that was counted before");
  verb->add_flag("--cuda-graph", options->cuda_graph,
                 "Capture the model as a CUDA graph and replay it: --option cuda_graph=1");
  add_tags(verb, *options);
  verb->add_option("--price", options->price,
                   "What an hour of the GPU costs: kept in the file for the analyses of cost")
      ->check(CLI::PositiveNumber);
}

void add_limits(CLI::App* verb, const std::shared_ptr<ProfileOptions>& options) {
  verb->add_option("--max-time", options->max_time_s,
                   "Seconds that all runs may measure; opening the model, its first inferences and "
                   "counters of kernels are not of it; else 30 for each batch size")
      ->check(CLI::PositiveNumber);
  verb->add_option("--iterations", options->iterations,
                   "A run has enough with so many inferences, 5000 by default. It measures more "
                   "while another run has fewer")
      ->check(whole_above_zero());
  verb->add_option("--width", options->width_percent,
                   "Stop when the 95 % interval of the latency is ± this many percent")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb->add_option("--block-time", options->block_time_s,
                   "Seconds that a run measures before the next one takes its turn")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

}  // namespace

void add_profile(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<ProfileOptions>();
  CLI::App* verb = app.add_subcommand("profile", "Measure a model, level by level");
  add_subject(verb, options);
  add_limits(verb, options);
  verb->add_option("-o,--output", options->output, "The .xsp file; else MODEL.xsp, here");
  add_force(*verb, options->is_forced);
  verb->add_option("--threads", options->threads, "Threads that a layer may use");
  verb->add_option("--input", options->inputs,
                   "An input's shape, name=1x3x224x224[:dtype], its file, name=@file.npy, or the "
                   "value of all its elements, name==5; may be repeated")
      ->expected(1)
      ->take_all();
  verb->add_option("--option", options->framework_options,
                   "An option of the framework: key=value; may be repeated")
      ->expected(1)
      ->take_all();
  verb->add_option("--seed", options->seed, "Of made-up inputs and of the order of the runs")
      ->capture_default_str();
  verb->add_option("--timeout", options->timeout_s,
                   "Seconds without an answer after which a run is given up")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  verb->add_flag("--no-peaks", options->no_peaks, "Do not measure the machine's ceilings");
  verb->add_flag("--quiet", options->quiet, "No progress, no notes");
  verb->add_flag("-v,--verbose", options->is_verbose,
                 "All tables of the summary before the answer");
  add_output_options(*verb, options->format, false);
  verb->footer(
      "Every level is measured by a run of its own, in turns with the others, until the 95 %\n"
      "interval of the latency is narrow enough (--width), or the time (--max-time) or the number\n"
      "of inferences (--iterations) is over. What did not get there is called not settled,\n"
      "wherever its number stands. Ctrl-C keeps what was measured. Exit status: 0 all of it was\n"
      "measured, 1 a run failed or was interrupted (the file holds the others), 2 usage, 4 not\n"
      "available here.\n"
      "\n"
      "On a GPU the levels api (calls of CUDA) and kernel are measured as well, and its energy, "
      "for a\n"
      "tenth of the time; counters of kernels (--counters roofline) are counted last, in a few\n"
      "inferences that are slow, and whose times are left out.\n"
      "\n"
      "Inputs that --input does not give are made up, by --seed: floating point in (-1, 1), masks\n"
      "1, bytes 0 to 255, other integers 0 to 99, or less if the model says so. An integer that "
      "stands\n"
      "alone may steer loops and shapes: name==5 says it. The batch is known where --batch or a "
      "dynamic dimension says it,\n"
      "where all inputs begin with 1, or where all inputs and outputs of a model of images begin\n"
      "with the same dimension; else throughput is that of inferences.\n"
      "\n"
      "Examples:\n"
      "  xsp profile resnet50\n"
      "  xsp profile model.onnx --batch 1,2,4,8 -o sweep.xsp\n"
      "  xsp profile model.pt2 --device cuda --counters roofline,energy --price 3.5\n"
      "  xsp profile bert_base --input input_ids=1x128:int64 --threads 1\n"
      "  xsp profile loop.onnx --input n==10\n"
      "  xsp profile fake:layers=3,us=500 --max-time 5");
  verb->callback([options, &exit_status] {
    const Status status = profile(*options, command_line());
    exit_status = status.ok() ? 0 : report(status.error());
  });
}

}  // namespace xsp::cli
