// xsp predict: lets a model answer files, with the steps of its manifest.
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "desk/cli/items.h"
#include "desk/cli/output.h"
#include "desk/cli/progress.h"
#include "desk/cli/replaced.h"
#include "desk/cli/request.h"
#include "desk/cli/serve_child.h"
#include "desk/cli/verbs.h"
#include "desk/experiment/frameworks.h"
#include "desk/experiment/interrupt.h"
#include "pipelines/shared/step.h"

namespace xsp::cli {
namespace {

constexpr size_t kValuesShown = 8;  // of a tensor, in a table

struct PredictOptions : RequestOptions {
  std::vector<std::string> files;
  int64_t max_batch = 1;
  bool lists_steps = false;
  bool quiet = false;
  bool no_code = false;
  OutputOptions format;
};

Status list_steps(const PredictOptions& options) {
  store::Table table;
  table.columns = {{"step", "VARCHAR"}, {"what", "VARCHAR"}, {"parameters", "VARCHAR"}};
  for (const pipelines::StepKind& kind : pipelines::all_steps()) {
    table.rows.push_back({kind.name, kind.summary, kind.takes});
  }
  OutputOptions every_row = options.format;
  every_row.all = true;
  return write_stdout(render(sheet_of(std::move(table)), every_row, terminal_of(1)));
}

// Returns "float32[2,3]: 0.5, 1, ...".
std::string tensor_text(const process::OutputAnswer& answer, bool shortens) {
  std::string text = answer.dtype + pipelines::dimensions_text(answer.dimensions) + ":";
  for (size_t i = 0; i < answer.values.size(); ++i) {
    if (shortens && i == kValuesShown) return text + " ...";
    char number[32];
    std::snprintf(number, sizeof number, "%s%.7g", i == 0 ? " " : ", ", answer.values[i]);
    text += number;
  }
  return text;
}

// Returns the mean of the scores of what was read; 0 if nothing was.
double score_of(const process::OutputAnswer& answer) {
  double sum = 0;
  for (const pipelines::Ranked& read : answer.ranking) sum += read.score;
  return answer.ranking.empty() ? 0 : sum / static_cast<double>(answer.ranking.size());
}

// Returns x and y of the corners: "10 20, 90 20, 90 40, 10 40".
std::string corners_text(std::span<const double> corners) {
  std::string text;
  for (size_t i = 0; i < corners.size(); ++i) {
    char number[32];
    std::snprintf(number, sizeof number, "%.7g", corners[i]);
    text += (i == 0 ? "" : i % 2 == 1 ? " " : ", ") + std::string(number);
  }
  return text;
}

// A class of a ranking is a row, and so is a quadrangle, a text or a tensor.
store::Table table_of(const Items& items, const std::vector<process::OutputAnswer>& answers,
                      bool is_for_people) {
  store::Table table;
  table.columns = {{"file", "VARCHAR"},
                   {"output", "VARCHAR"},
                   {"rank", "BIGINT"},
                   {"label", "VARCHAR"},
                   {"score", "DOUBLE"}};
  for (const process::OutputAnswer& answer : answers) {
    const std::string& file = items.items[static_cast<size_t>(answer.item)].file;
    const std::string& output = items.outputs[static_cast<size_t>(answer.output)];
    if (answer.kind == pipelines::Kind::kSequence) {
      table.rows.push_back(
          {file, output, store::Value(), predict::text_of(items.labels, answer), score_of(answer)});
      continue;
    }
    int64_t rank = 0;
    for (const double score : answer.scores) {
      const auto corners = std::span(answer.values).subspan(8 * static_cast<size_t>(rank), 8);
      table.rows.push_back({file, output, ++rank, corners_text(corners), score});
    }
    for (const pipelines::Ranked& ranked : answer.ranking) {
      table.rows.push_back({file, output, ++rank,
                            predict::label_of(items.labels, answer.output, ranked.index),
                            ranked.score});
    }
    if (answer.kind == pipelines::Kind::kRanking || answer.kind == pipelines::Kind::kQuads) {
      continue;
    }
    const std::string text =
        answer.kind == pipelines::Kind::kText ? answer.text : tensor_text(answer, is_for_people);
    table.rows.push_back({file, output, store::Value(), text, store::Value()});
  }
  return table;
}

Sheet sheet_for(const Items& items, store::Table table) {
  Sheet sheet = sheet_of(std::move(table));
  sheet.view.options["group"] = "file";
  if (items.outputs.size() == 1) sheet.view.options["columns"] = "file,rank,label,score";
  return sheet;
}

Status predict(const PredictOptions& options) {
  const experiment::Interrupts interrupts;
  std::vector<predict::Item> files;
  for (const std::string& file : options.files) files.push_back({file, "", ""});
  XSP_TRY(const Items items, prepare_items(options.model, std::move(files)));
  if (options.no_code) XSP_CHECK_OK(check_no_code(items.manifest));
  XSP_TRY(const experiment::Installation installation, experiment::this_installation());
  XSP_TRY(experiment::Request request, make_request(options, installation, interrupts.count()));
  if (options.output.empty()) request.output = items.folder->path() / "answers.xsp";
  std::string replaced;
  if (!options.output.empty()) {
    XSP_TRY(replaced, replaced_by(options, request));
  }
  request.facts["command"] = command_line();
  scenario::Scenario scenario;
  scenario.max_batch = options.max_batch;
  scenario.keeps_file = !options.output.empty();
  answer_each(items, &scenario);
  std::vector<process::OutputAnswer> answers;
  const auto keep = [&](const std::vector<process::OutputAnswer>& given, bool) {
    answers = given;
    return Result<std::vector<experiment::ResultRow>>(std::vector<experiment::ResultRow>());
  };
  Result<scenario::Outcome> outcome = failed("");
  {
    const auto progress = make_progress(request.facts["model"] + " on " + request.worker.device,
                                        options.quiet ? Verbosity::kQuiet : Verbosity::kNormal);
    outcome = run_with_items(items, scenario, request, *progress, interrupts.count(), keep);
  }
  if (!outcome.ok()) return outcome.error();
  OutputOptions format = options.format;
  format.all = true;
  const Sheet sheet =
      sheet_for(items, table_of(items, answers, options.format.format == Format::kTable));
  XSP_CHECK_OK(write_stdout(render(sheet, format, terminal_of(1))));
  if (!options.output.empty() && !options.quiet) {
    std::fprintf(stderr, "wrote %s%s\n", options.output.c_str(), replaced.c_str());
  }
  if (outcome->experiment.interrupted) {
    return Error{Code::kInterrupted, outcome->incomplete + ", whose answers are above"};
  }
  return Ok{};
}

Status obey(const PredictOptions& options) {
  if (options.lists_steps) return list_steps(options);
  if (options.model.empty())
    return usage("MODEL: missing: name a manifest: see xsp predict --help");
  if (options.files.empty()) return usage("FILE: missing: name the files to answer");
  return predict(options);
}

}  // namespace

void add_predict(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<PredictOptions>();
  options->levels = "model";
  options->counters = "none";
  CLI::App* verb = app.add_subcommand("predict", "Let a model answer files");
  verb->add_option("MODEL", options->model,
                   "A manifest: its name in 'xsp models --list', or its file")
      ->type_name("");
  verb->add_option("FILE", options->files, "Files that the model answers")->type_name("");
  verb->add_flag("--steps", options->lists_steps, "List the steps that a manifest may use");
  verb->add_option("--framework", options->framework, "What runs it: a name of 'xsp doctor'");
  verb->add_option("--device", options->device, "cpu, cuda, cuda:N or opencl");
  verb->add_option("--threads", options->threads, "Threads that a layer may use");
  verb->add_option("--max-batch", options->max_batch, "Files that are answered at once")
      ->check(CLI::Range(1, 65'536))
      ->capture_default_str();
  verb->add_option("--timeout", options->timeout_s,
                   "Seconds without an answer after which the worker is given up")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  verb->add_option("-o,--output", options->output,
                   "An .xsp file with each step, and with the model's run; else none");
  add_force(*verb, options->is_forced);
  verb->add_flag("--no-code", options->no_code, "Refuse a manifest with a step in Python");
  verb->add_flag("--quiet", options->quiet, "No progress, no notes");
  add_output_options(*verb, options->format, false);
  verb->footer(
      "A manifest says how a file becomes the model's input, and how an answer is made of its\n"
      "output. The steps are checked before anything runs; an error names the manifest's line.\n"
      "\n"
      "Examples:\n"
      "  xsp predict magika README.md\n"
      "  xsp predict ./my.yaml a.jpg b.jpg --format json\n"
      "  xsp predict magika *.cc --max-batch 8 -o answers.xsp\n"
      "  xsp predict --steps");
  verb->callback([options, &exit_status] {
    const Status status = obey(*options);
    if (!status.ok()) exit_status = report(status.error());
  });
}

}  // namespace xsp::cli
