// xsp findings: lists the largest costs as sentences, with advice and a way to check each.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "desk/analyze/catalogue.h"
#include "desk/analyze/run.h"
#include "desk/cli/numbers.h"
#include "desk/cli/output.h"
#include "desk/cli/sentences.h"
#include "desk/cli/units.h"
#include "desk/cli/verbs.h"

namespace xsp::cli {
namespace {

enum class Shape { kText, kJson, kCsv, kMarkdown };

struct FindingsOptions {
  std::vector<std::string> files;
  std::optional<int64_t> batch;
  Shape shape = Shape::kText;
};

std::string command_for(const Row& row, const std::string& file,
                        const std::optional<int64_t>& batch) {
  const bool is_quoted = file.find(' ') != std::string::npos;
  std::string command = "xsp analyze " + row.text("evidence") + " ";
  command += is_quoted ? "'" + file + "'" : file;
  if (batch) command += " --batch " + std::to_string(*batch);
  return command;
}

std::string as_text(const store::Table& table, const std::string& file,
                    const FindingsOptions& options, const std::string& unit,
                    const Terminal& terminal) {
  std::string notes, numbered, unasked;
  size_t number = 0;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const Row row(table, i);
    if (row.text("rule") == "doubt") {
      notes +=
          wrapped("note: " + row.text("finding") + " " + row.text("advice"), terminal.width, 6);
      continue;
    }
    if (row.text("rule") == "unasked") {
      unasked += wrapped(row.text("finding"), terminal.width, 0);
      continue;
    }
    const std::string label = (number < 9 ? " " : "") + std::to_string(number + 1) + ". ";
    ++number;
    numbered += "\n" + wrapped(label + with_bound(row, unit), terminal.width, 4);
    numbered += wrapped("    " + row.text("advice"), terminal.width, 4);
    const std::string check = row.text("check").empty() ? "" : row.text("check") + " ";
    numbered +=
        wrapped("    To check: " + check + "(" + command_for(row, file, options.batch) + ")",
                terminal.width, 4);
  }
  std::string text = styled(terminal, Style::kTitle, "Findings in " + file);
  if (!table.rows.empty() && !Row(table, 0).text("batch").empty()) {
    text += ", batch " + Row(table, 0).text("batch");
  }
  text += "\n" + notes;
  if (number == 0) {
    numbered = "\n" + wrapped("No rule found anything that would gain 1 % of " + unit + " or more.",
                              terminal.width, 0);
  }
  return text + numbered + (unasked.empty() ? "" : "\n") + unasked;
}

// Prints the findings of one file. If there are several files, the rows' first column names the
// file.
Status print_file(const std::string& file, const FindingsOptions& options, bool is_first,
                  store::Table* every) {
  XSP_TRY(const analyze::Analysis* analysis, analyze::find("findings"));
  XSP_TRY(store::Database database, store::Database::open(file));
  analyze::Parameters parameters;
  if (options.batch) parameters["batch"] = std::to_string(*options.batch);
  XSP_TRY(store::Table table, analyze::run(database, *analysis, parameters));
  if (options.shape == Shape::kText) {
    XSP_TRY(const std::string unit, unit_of_findings(database));
    return write_stdout((is_first ? "" : "\n") +
                        as_text(table, file, options, unit, terminal_of(1)));
  }
  if (options.files.size() > 1) {
    table.columns.insert(table.columns.begin(), {"file", "VARCHAR"});
    for (auto& row : table.rows) row.insert(row.begin(), file);
  }
  every->columns = table.columns;
  for (auto& row : table.rows) every->rows.push_back(std::move(row));
  return Ok{};
}

Status print_findings(const FindingsOptions& options) {
  store::Table every;
  bool is_first = true;
  for (const std::string& file : options.files) {
    XSP_CHECK_OK(print_file(file, options, is_first, &every));
    is_first = false;
  }
  if (options.shape == Shape::kText) return Ok{};
  OutputOptions output;
  output.format = options.shape == Shape::kJson  ? Format::kJson
                  : options.shape == Shape::kCsv ? Format::kCsv
                                                 : Format::kMarkdown;
  return write_stdout(render(sheet_of(std::move(every)), output, terminal_of(1)));
}

}  // namespace

void add_findings(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<FindingsOptions>();
  CLI::App* verb =
      app.add_subcommand("findings", "Say what costs the most, what to do, and how to check");
  verb->add_option("FILE", options->files, "The .xsp files, as xsp profile and xsp run write them")
      ->required()
      ->type_name("");
  verb->add_option_function<int64_t>(
          "--batch", [options](int64_t batch) { options->batch = batch; },
          "The batch size; by default the smallest that was measured")
      ->type_name("N")
      ->check(whole_above_zero());
  static const std::map<std::string, Shape> shapes = {{"text", Shape::kText},
                                                      {"json", Shape::kJson},
                                                      {"csv", Shape::kCsv},
                                                      {"markdown", Shape::kMarkdown}};
  verb->add_option_function<std::string>(
          "--format", [options](const std::string& name) { options->shape = shapes.at(name); },
          "text (default), json, csv or markdown")
      ->type_name("FORMAT")
      ->check(CLI::IsMember(shapes));
  verb->footer(
      "The best first: the one whose cause takes the most of a step. Its share is what a step\n"
      "would gain if the cause were gone and nothing else changed. Mending the programs of\n"
      "docs/planted.md gained from half of the share to twice as much, because something else\n"
      "may take its place, or become faster, too. Shares overlap, and do not add up. What is\n"
      "below 1 % is left out. Notes above say what puts the measurement in doubt; what could not\n"
      "be asked, and why, is said below. Each rule is a file of analyses/findings;\n"
      "docs/analyses.md has them all.\n"
      "\n"
      "Examples:\n"
      "  xsp findings train.xsp\n"
      "  xsp findings before.xsp after.xsp              both, one after the other\n"
      "  xsp findings resnet50.xsp --batch 8\n"
      "  xsp findings train.xsp --format json | jq -r '.[0].rule'");
  verb->callback([options, &exit_status] {
    const Status status = print_findings(*options);
    exit_status = status.ok() ? 0 : report(status.error());
  });
}

}  // namespace xsp::cli
