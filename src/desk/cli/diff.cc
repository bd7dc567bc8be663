// xsp diff: compares two evaluations, and can fail on a regression.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "desk/cli/diff_outputs.h"
#include "desk/cli/diff_run.h"
#include "desk/cli/output.h"
#include "desk/cli/units.h"
#include "desk/cli/verbs.h"
#include "desk/compare/compare.h"
#include "desk/compare/gate.h"
#include "desk/experiment/plan.h"

namespace xsp::cli {
namespace {

using compare::Comparison;
using compare::Gate;

constexpr int kRegressed = 3;
constexpr size_t kNoteIndent = 6;  // below the first word after "note: "

constexpr const char* kHelp =
    "A ratio is the latency of B divided by that of A, as both are printed: each is the mean of "
    "the\n"
    "typical inferences. The 95 % interval of the ratio comes from blocks of inferences. Of two\n"
    "programs that xsp run watched, the steps are compared, as it told them.\n"
    "\n"
    "Two files that were recorded separately hold one process each. One process cannot show how "
    "much\n"
    "the next one differs, so their interval is wider by an allowance, and the output says by how\n"
    "much. It is greater the longer the GPU waits for the host, because hosts differ and kernels "
    "do\n"
    "not. With --run, xsp measures A and B itself: it opens pair after pair of fresh processes, "
    "one\n"
    "of each, which take turns, until the ratio is known to within --width or the time is over. "
    "Each\n"
    "process is one block. So the interval holds the spread between processes and needs no\n"
    "allowance, and what disturbs the machine for longer than a turn meets A and B alike. On a\n"
    "machine that is busy otherwise more time helps. --run records the level model alone.\n"
    "\n"
    "The gate, --fail-on-regression PCT, ends with one of these exit statuses:\n"
    "  0  there is no certain regression by more than PCT at any batch size of A\n"
    "  1  something could not be measured, or the user interrupted\n"
    "  3  B takes more than PCT longer and its interval lies above A, or B failed at a batch size "
    "that A measured\n"
    "  4  it cannot be judged: the inputs are not of one size, B was not tried at a batch size of "
    "A,\n"
    "     there are fewer than 6 blocks, or other programs disturbed one of two separate "
    "recordings\n"
    "     and the interval of the ratio does not lie beyond a factor of two, or their GPU waits "
    "for "
    "the\n"
    "     host so long that one process each cannot show the difference; or, also without the "
    "gate,\n"
    "     no table but facts could be made\n"
    "\n"
    "With --outputs, xsp lets A and B answer the same inputs instead. It tells how far their "
    "outputs\n"
    "are apart, and, of two ONNX files, which layer differs first: its own inputs do not. For "
    "that,\n"
    "copies run in which every inner tensor that both files name is an output, so that a runtime "
    "may\n"
    "fuse fewer layers than in the models as they are.\n"
    "\n"
    "The causes divide the two latencies by what the time is for, as the analysis time_of_step "
    "does.\n"
    "Their differences add up to that of the latencies.\n"
    "\n"
    "Layers belong together by name, by what they stand for, else by order and type. Layers that "
    "one\n"
    "runtime fused are a group.\n"
    "\n"
    "Examples:\n"
    "  xsp diff before.xsp after.xsp\n"
    "  xsp diff --run before.onnx after.onnx --fail-on-regression 5    # for CI\n"
    "  xsp diff --run net.onnx net.onnx --option-b graph_optimization=basic -o both/\n"
    "  xsp diff --run --outputs net.onnx net_fp16.onnx                 # which layer differs "
    "first\n"
    "  xsp diff ort.xsp torch.xsp --table layers --all --batch 4\n"
    "  xsp diff a.xsp b.xsp --format json | jq .layers";

struct DiffOptions {
  std::vector<std::string> given = std::vector<std::string>(2);  // files, or models with --run
  bool is_run = false;
  PairOptions pairs;
  DiffOutputsOptions outputs;
  std::string batch;
  std::string table;
  std::string time = "work";
  std::optional<double> fail_on_regression_pct;
  OutputOptions output;
};

struct Named {
  std::string name;
  std::optional<Comparison> comparison;
  std::string why;  // why there is no comparison
};

// Returns how to draw each table for a person; {} is the last evaluation's letter.
analyze::View view_of(const std::string& table) {
  analyze::View view;
  if (table == "model") {
    view.options["columns"] =
        "batch,latency_a_ns,latency_b_ns,ratio_b,ratio_low_b,ratio_high_b,verdict_b";
  } else if (table == "causes") {
    view.options["columns"] = "cause,latency_a_ns,latency_b_ns,difference_b_ns,share_b_pct";
  } else if (table == "layers") {
    view.options = {{"columns",
                     "layer,matched_b,layer_b,latency_a_ns,latency_b_ns,"
                     "difference_b_ns,share_b_pct"},
                    {"top", "10"}};
  } else if (table == "kernels") {
    view.options = {{"columns",
                     "kernel,matched_b,kernel_b,count_a,count_b,latency_a_ns,"
                     "latency_b_ns,difference_b_ns"},
                    {"top", "10"}};
  } else {
    view.options["columns"] = "subject,fact,value_a,value_b";
  }
  return view;
}

// Returns whether all rows compare the programs' steps, in the column unit_a.
bool compares_steps(const Comparison& model) {
  const auto unit = std::find_if(model.columns.begin(), model.columns.end(),
                                 [](const auto& column) { return column.name == "unit_a"; });
  if (unit == model.columns.end()) return false;
  const size_t index = static_cast<size_t>(unit - model.columns.begin());
  return std::all_of(model.table.rows.begin(), model.table.rows.end(), [&](const auto& row) {
    const auto* text = std::get_if<std::string>(&row[index]);
    return text != nullptr && *text == "step";
  });
}

Sheet sheet_of_named(const Named& one) {
  Sheet sheet;
  sheet.title = one.name == "facts" ? "What differs"
                : one.name == "model"
                    ? compares_steps(*one.comparison) ? "Step of the program" : "Model"
                : one.name == "causes" ? "Causes of the difference"
                : one.name == "layers" ? "Layers, greatest difference first"
                                       : "Kernels, greatest difference first";
  if (one.comparison->batch) sheet.title += fmt::format(", batch {}", *one.comparison->batch);
  sheet.columns = one.comparison->columns;
  sheet.table = one.comparison->table;
  sheet.view = view_of(one.name);
  if (one.name == "facts") {  // only facts that differ are shown
    auto& rows = sheet.table.rows;
    rows.erase(std::remove_if(rows.begin(), rows.end(),
                              [](const auto& row) {
                                const bool* differs = std::get_if<bool>(&row[2]);
                                const auto* subject = std::get_if<std::string>(&row[0]);
                                return differs == nullptr || !*differs || *subject == "state";
                              }),
               rows.end());
  }
  return sheet;
}

// Returns {"evaluations": [...], "warnings": [...], "model": [...], ..., "not_measured": {...}}.
std::string json_of(const DiffOptions& options, const std::vector<std::string>& names,
                    const std::vector<Named>& tables, const std::optional<Gate>& gate) {
  const auto quoted = [](const auto& value) {
    return nlohmann::ordered_json(value).dump(-1, ' ', false,
                                              nlohmann::ordered_json::error_handler_t::replace);
  };
  std::string text = "{\"evaluations\": " + quoted(names);
  nlohmann::ordered_json not_measured = nlohmann::ordered_json::object();
  std::vector<std::string> warnings;
  for (const Named& one : tables) {
    if (!one.comparison) {
      not_measured[one.name] = one.why;
      continue;
    }
    std::string rows = render_json(one.comparison->table);
    rows.pop_back();
    text += ",\n\"" + one.name + "\": " + rows;
    for (const std::string& warning : one.comparison->warnings) {
      if (std::find(warnings.begin(), warnings.end(), warning) == warnings.end()) {
        warnings.push_back(warning);
      }
    }
  }
  text += ",\n\"warnings\": " + quoted(warnings) + ",\n\"not_measured\": " + quoted(not_measured);
  if (gate) {
    text += ",\n\"regression\": {\"limit_pct\": " + quoted(*options.fail_on_regression_pct) +
            ", \"tripped\": " + quoted(gate->state == Gate::State::kTripped) +
            ", \"judged\": " + quoted(gate->state != Gate::State::kUnjudged) +
            ", \"why\": " + quoted(gate->text) + "}";
  }
  return text + "}\n";
}

Status print(const DiffOptions& options, const std::vector<std::string>& names,
             const std::vector<Named>& tables, const std::optional<Gate>& gate) {
  if (options.output.format == Format::kJson) {
    return write_stdout(json_of(options, names, tables, gate));
  }
  const Terminal terminal = terminal_of(1);
  if (options.output.format == Format::kCsv) {
    return write_stdout(render_csv(tables[0].comparison->table));
  }
  std::string text;
  for (size_t e = 0; e < names.size(); ++e) {
    text += compare::letter_of(e) + "  " + names[e] + "\n";
  }
  std::vector<std::string> warned;
  for (const Named& one : tables) {
    text += "\n";
    if (!one.comparison) {
      text += one.name + ": " + one.why + "\n";
      continue;
    }
    for (const std::string& warning : one.comparison->warnings) {
      if (std::find(warned.begin(), warned.end(), warning) != warned.end()) continue;
      text += wrapped("note: " + warning, terminal.width, kNoteIndent);
      warned.push_back(warning);
    }
    const Sheet sheet = sheet_of_named(one);
    text += one.name == "facts" && sheet.table.rows.empty()
                ? "Nothing differs in what was measured with.\n"
                : render(sheet, options.output, terminal);
  }
  // If there is no judgement, the error says why.
  if (gate && gate->state != Gate::State::kUnjudged) text += "\n" + gate->text + "\n";
  return write_stdout(text);
}

Result<std::vector<Named>> compare_all(const DiffOptions& options,
                                       const std::vector<store::Database*>& compared,
                                       const compare::CompareOptions& how) {
  std::vector<std::string> names = {options.table};
  const bool is_one = !options.table.empty() || options.output.format == Format::kCsv;
  if (options.table.empty()) names = compare::comparison_tables();
  if (options.table.empty() && options.is_run) names = {"model", "facts"};
  if (options.table.empty() && options.output.format == Format::kCsv) names = {"model"};
  std::vector<Named> tables;
  for (const std::string& name : names) {
    Result<Comparison> comparison = compare::compare(name, compared, how);
    if (comparison.ok()) {
      tables.push_back({name, std::move(comparison).value(), ""});
    } else if (is_one || comparison.error().code != Code::kNotAvailable) {
      return comparison.error();
    } else {
      tables.push_back({name, std::nullopt, comparison.error().text});
    }
  }
  return tables;
}

struct Judgement {
  std::optional<Gate> gate;
  std::string why_not;  // why no table but the facts could be made; empty: one could
};

// Returns why nothing was compared: no table but the facts could be made. Returns an empty text if
// one could, or if no other table was asked for.
std::string why_nothing(const std::vector<Named>& tables) {
  std::string why;
  for (const Named& one : tables) {
    if (one.name == "facts") continue;
    if (one.comparison) return "";
    if (why.empty()) why = one.why;
  }
  return why;
}

// Compares the files and prints the result, under these names.
Result<Judgement> compare_files(const DiffOptions& options, const std::vector<std::string>& files,
                                const std::vector<std::string>& names,
                                const compare::CompareOptions& how) {
  std::vector<store::Database> databases;
  std::vector<store::Database*> compared;
  for (const std::string& file : files) {
    XSP_TRY(store::Database database, store::Database::open(file));
    databases.push_back(std::move(database));
  }
  for (store::Database& one : databases) compared.push_back(&one);
  XSP_TRY(const std::vector<Named> tables, compare_all(options, compared, how));
  std::optional<Gate> gate;
  if (options.fail_on_regression_pct) {
    XSP_TRY(const Comparison model, compare::compare("model", compared, how));
    gate = compare::judge(model, *options.fail_on_regression_pct);
  }
  XSP_CHECK_OK(print(options, names, tables, gate));
  return Judgement{gate, why_nothing(tables)};
}

// Returns the exit status for what was compared and for the result of the gate.
Result<int> status_of(const Judgement& judgement) {
  if (!judgement.why_not.empty()) return not_available(judgement.why_not);
  const std::optional<Gate>& gate = judgement.gate;
  if (!gate || gate->state == Gate::State::kPassed) return 0;
  if (gate->state == Gate::State::kTripped) return kRegressed;
  return not_available("--fail-on-regression: " + gate->text);
}

Result<int> diff_files(const DiffOptions& options, const compare::CompareOptions& how) {
  XSP_TRY(const Judgement judgement, compare_files(options, options.given, options.given, how));
  return status_of(judgement);
}

Result<int> diff_run(const DiffOptions& options, const compare::CompareOptions& how) {
  PairOptions pairs = options.pairs;
  pairs.both.batch = options.batch;
  XSP_TRY(const PairFiles files, run_pairs(pairs, options.given, command_line()));
  XSP_TRY(const Judgement judgement, compare_files(options, files.files, files.names, how));
  if (files.problem && (files.is_interrupted || !judgement.gate)) return *files.problem;
  XSP_TRY(const int status, status_of(judgement));
  if (files.problem && status == 0) return *files.problem;
  return status;
}

Result<int> diff(const DiffOptions& options) {
  if (options.fail_on_regression_pct &&
      (!std::isfinite(*options.fail_on_regression_pct) || *options.fail_on_regression_pct < 0)) {
    return usage("--fail-on-regression: not a share of 0 % or more: give one, such as 5");
  }
  compare::CompareOptions how;
  how.time = options.time == "host" ? compare::LayerTime::kHost : compare::LayerTime::kWork;
  if (options.outputs.is_wanted) {
    PairOptions pairs = options.pairs;
    pairs.both.batch = options.batch;
    XSP_TRY(const bool is_within,
            diff_outputs(options.outputs, pairs, options.given, options.table, options.output));
    return is_within ? 0 : kRegressed;
  }
  if (options.is_run) return diff_run(options, how);
  if (!options.batch.empty()) {
    XSP_TRY(const std::vector<int> batches, experiment::parse_batches(options.batch));
    if (batches.size() > 1) {
      return usage("--batch: '" + options.batch +
                   "': files are compared at one batch size, or at "
                   "all: give one, or leave it out");
    }
    how.batch = batches[0];
  }
  return diff_files(options, how);
}

}  // namespace

void add_diff(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<DiffOptions>();
  CLI::App* verb = app.add_subcommand("diff", "Compare two evaluations: model, layers, kernels");
  verb->add_option("A", options->given[0], "The reference: an .xsp file, or a model with --run")
      ->required()
      ->type_name("");
  verb->add_option("B", options->given[1], "What is compared with it")->required()->type_name("");
  CLI::Option* run = verb->add_flag("--run", options->is_run,
                                    "A and B are models, which are measured now, in turns");
  verb->add_option("--batch", options->batch,
                   "Only this batch size; with --run, the batch sizes that are measured: 1,2,4")
      ->type_name("N");
  std::vector<std::string> tables = compare::comparison_tables();
  tables.emplace_back("outputs");
  verb->add_option(
          "--table", options->table,
          "One table alone: model, causes, layers, kernels, facts; with --outputs: outputs, layers")
      ->check(CLI::IsMember(tables))
      ->type_name("NAME");
  verb->add_option("--time", options->time,
                   "Of layers: work (of their kernels, where there are any) or host")
      ->check(CLI::IsMember({"work", "host"}))
      ->type_name("WHOSE")
      ->capture_default_str();
  verb->add_option("--fail-on-regression", options->fail_on_regression_pct,
                   "Exit with 3 if B's latency is certainly longer, and by more than this")
      ->type_name("PCT");
  add_pair_options(*verb, *run, options->pairs);
  add_diff_outputs_options(*verb, *run, options->outputs);
  add_output_options(*verb, options->output);
  verb->footer(kHelp);
  verb->callback([options, &exit_status] {
    const Result<int> status = diff(*options);
    exit_status = status.ok() ? *status : report(status.error());
  });
}

}  // namespace xsp::cli
