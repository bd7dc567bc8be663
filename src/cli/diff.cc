// xsp diff: two .xsp files beside each other, and a gate against regressions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "analyze/compare.h"
#include "cli/output.h"
#include "cli/units.h"
#include "cli/verbs.h"

namespace xsp::cli {
namespace {

using analyze::Comparison;

constexpr int kRegressed = 3;

struct Options {
  std::vector<std::string> files;
  std::optional<int64_t> batch;
  std::string table;
  std::string time = "work";
  std::optional<double> fail_on_regression_pct;
  OutputOptions output;
};

struct Named {
  std::string name;
  std::optional<Comparison> comparison;
  std::string why;  // there is none
};

// How each table is drawn for a person; {} is the last evaluation's letter.
analyze::View view_of(const std::string& table) {
  analyze::View view;
  if (table == "model") {
    view.options["columns"] =
        "batch,latency_a_ns,latency_b_ns,ratio_b,ratio_low_b,ratio_high_b,verdict_b";
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

Sheet sheet_of(const Named& one) {
  Sheet sheet;
  sheet.title = one.name == "facts"    ? "What differs"
                : one.name == "model"  ? "Model"
                : one.name == "layers" ? "Layers, greatest difference first"
                                       : "Kernels, greatest difference first";
  if (one.comparison->batch) sheet.title += fmt::format(", batch {}", *one.comparison->batch);
  sheet.columns = one.comparison->columns;
  sheet.table = one.comparison->table;
  sheet.view = view_of(one.name);
  if (one.name == "facts") {  // those that are told are the ones that differ
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

// A table's column by name, of one row.
const store::Value& cell(const Comparison& comparison, size_t row, std::string_view column) {
  const auto found = std::find_if(comparison.columns.begin(), comparison.columns.end(),
                                  [&](const analyze::Column& one) { return one.name == column; });
  return comparison.table.rows[row][static_cast<size_t>(found - comparison.columns.begin())];
}

struct Gate {
  bool has_tripped = false;
  std::string text;  // one line for a person
};

// The gate trips where B's latency is certainly worse by more than the limit: the near edge of the
// ratio's interval is beyond it, at any batch size that both have. What cannot be judged is an
// error: a gate must not pass for want of evidence.
Result<Gate> judge(const Comparison& model, double limit_pct) {
  Gate gate;
  size_t judged = 0;
  for (size_t row = 0; row < model.table.rows.size(); ++row) {
    double low = 0;
    double batch = 0;
    as_number(cell(model, row, "batch"), &batch);
    const auto* verdict = std::get_if<std::string>(&cell(model, row, "verdict_b"));
    if (!as_number(cell(model, row, "ratio_low_b"), &low)) {
      if (verdict != nullptr && verdict->rfind("not measured", 0) == 0) continue;
      return not_available(fmt::format(
          "--fail-on-regression: batch {}: {}: profile for longer, or other batch sizes", batch,
          verdict == nullptr ? "" : *verdict));
    }
    ++judged;
    const double near_pct = 100 * (low - 1);
    if (near_pct <= limit_pct) continue;
    gate.text += fmt::format("{}batch {}: B takes at least {:.2f} % longer than A",
                             gate.has_tripped ? "; " : "", batch, near_pct);
    gate.has_tripped = true;
  }
  if (judged == 0) {
    return not_available(
        "--fail-on-regression: no batch size was measured in both: nothing to judge");
  }
  if (!gate.has_tripped) {
    gate.text = fmt::format("no regression by more than {} % is certain", limit_pct);
  } else {
    gate.text = fmt::format("regression by more than {} %: {}", limit_pct, gate.text);
  }
  return gate;
}

// {"evaluations": [...], "warnings": [...], "model": [...], ..., "not_measured": {...}}
std::string json_of(const Options& options, const std::vector<Named>& tables,
                    const std::optional<Gate>& gate) {
  const auto quoted = [](const auto& value) {
    return nlohmann::ordered_json(value).dump(-1, ' ', false,
                                              nlohmann::ordered_json::error_handler_t::replace);
  };
  std::string text = "{\"evaluations\": " + quoted(options.files);
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
            ", \"tripped\": " + quoted(gate->has_tripped) + ", \"why\": " + quoted(gate->text) +
            "}";
  }
  return text + "}\n";
}

Status print(const Options& options, const std::vector<Named>& tables,
             const std::optional<Gate>& gate) {
  if (options.output.format == Format::kJson) return write_stdout(json_of(options, tables, gate));
  const Terminal terminal = terminal_of(1);
  if (options.output.format == Format::kCsv) {
    return write_stdout(render_csv(tables[0].comparison->table));
  }
  std::string text;
  for (size_t e = 0; e < options.files.size(); ++e) {
    text += analyze::letter_of(e) + "  " + options.files[e] + "\n";
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
      text += "note: " + warning + "\n";
      warned.push_back(warning);
    }
    const Sheet sheet = sheet_of(one);
    text += one.name == "facts" && sheet.table.rows.empty()
                ? "Nothing differs in what was measured with.\n"
                : render(sheet, options.output, terminal);
  }
  if (gate) text += "\n" + gate->text + "\n";
  return write_stdout(text);
}

Result<int> diff(const Options& options) {
  if (options.fail_on_regression_pct &&
      (!std::isfinite(*options.fail_on_regression_pct) || *options.fail_on_regression_pct < 0)) {
    return usage("--fail-on-regression: not a share of 0 % or more: give one, such as 5");
  }
  analyze::CompareOptions how;
  how.batch = options.batch;
  how.time = options.time == "host" ? analyze::LayerTime::kHost : analyze::LayerTime::kWork;
  std::vector<store::Database> databases;
  std::vector<store::Database*> compared;
  for (const std::string& file : options.files) {
    XSP_TRY(store::Database database, store::Database::open(file));
    databases.push_back(std::move(database));
  }
  for (store::Database& one : databases) compared.push_back(&one);

  std::vector<std::string> names = {options.table};
  const bool is_one = !options.table.empty() || options.output.format == Format::kCsv;
  if (options.table.empty()) names = {"model", "layers", "kernels", "facts"};
  if (options.table.empty() && options.output.format == Format::kCsv) names = {"model"};
  std::vector<Named> tables;
  for (const std::string& name : names) {
    Result<Comparison> comparison = analyze::compare(name, compared, how);
    if (comparison.ok()) {
      tables.push_back({name, std::move(comparison).value(), ""});
    } else if (is_one || comparison.error().code != Code::kNotAvailable) {
      return comparison.error();
    } else {
      tables.push_back({name, std::nullopt, comparison.error().text});
    }
  }
  std::optional<Gate> gate;
  if (options.fail_on_regression_pct) {
    XSP_TRY(const Comparison model, analyze::compare("model", compared, how));
    XSP_TRY(gate, judge(model, *options.fail_on_regression_pct));
  }
  XSP_CHECK_OK(print(options, tables, gate));
  return gate && gate->has_tripped ? kRegressed : 0;
}

}  // namespace

void add_diff(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("diff", "Compare two .xsp files: model, layers, kernels");
  verb->add_option("FILES", options->files, "The reference, and what is compared with it")
      ->required()
      ->expected(2)
      ->type_name("A.xsp B.xsp");
  verb->add_option("--batch", options->batch,
                   "Only this batch size; of layers and kernels, by default the smallest of both")
      ->type_name("N");
  verb->add_option("--table", options->table, "One table alone: model, layers, kernels, facts")
      ->check(CLI::IsMember(analyze::comparison_tables()))
      ->type_name("NAME");
  verb->add_option("--time", options->time,
                   "Of layers: work (of their kernels, where there are any) or host")
      ->check(CLI::IsMember({"work", "host"}))
      ->type_name("WHOSE")
      ->capture_default_str();
  verb->add_option("--fail-on-regression", options->fail_on_regression_pct,
                   "Exit with 3 if B's latency is certainly more than this much longer")
      ->type_name("PCT");
  add_output_options(*verb, options->output);
  verb->footer(
      "The ratio of two latencies is the median over all pairs of their blocks of inferences; its\n"
      "95 % interval is that of the rank-sum test. The gate looks at the interval's near edge: it\n"
      "trips where even that is beyond PCT, at any batch size that both have. What has too few\n"
      "blocks to tell ends with exit status 4, not with 0.\n"
      "\n"
      "Layers belong together by name, by what they stand for, else by order and type; what one\n"
      "runtime fused is a group.\n"
      "\n"
      "Examples:\n"
      "  xsp diff before.xsp after.xsp\n"
      "  xsp diff before.xsp after.xsp --fail-on-regression 5   # for CI: 0 ok, 3 regressed\n"
      "  xsp diff ort.xsp torch.xsp --table layers --all --batch 4\n"
      "  xsp diff a.xsp b.xsp --format json | jq .layers");
  verb->callback([options, &exit_status] {
    const Result<int> status = diff(*options);
    exit_status = status.ok() ? *status : report(status.error());
  });
}

}  // namespace xsp::cli
