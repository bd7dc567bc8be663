// xsp analyze: lists the catalogue of analyses, or runs one of them over an .xsp file.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "desk/analyze/catalogue.h"
#include "desk/analyze/run.h"
#include "desk/cli/numbers.h"
#include "desk/cli/output.h"
#include "desk/cli/verbs.h"
#include "shared/base/words.h"

namespace xsp::cli {
namespace {

struct AnalyzeOptions {
  std::string name;
  std::string file;
  std::vector<std::string> params;
  std::optional<int64_t> batch;  // short for --param batch=N
  bool list = false;
  OutputOptions output;
};

// Prints the whole catalogue as a sheet; on a terminal, only the columns that help to choose.
Status print_list(const OutputOptions& options) {
  if (!analyze::catalogue().ok()) return analyze::catalogue().error();
  Sheet sheet;
  sheet.columns = {{"id", "text", ""},         {"name", "text", ""},   {"title", "text", ""},
                   {"needs", "text", ""},      {"params", "text", ""}, {"question", "text", ""},
                   {"description", "text", ""}};
  for (const analyze::Column& column : sheet.columns) {
    sheet.table.columns.push_back({column.name, "VARCHAR"});
  }
  for (const analyze::Analysis& one : analyze::catalogue().value()) {
    std::vector<std::string> params;
    for (const analyze::Param& param : one.params) params.push_back(param.name);
    sheet.table.rows.push_back({one.id, one.name, one.title, joined(one.needs, ","),
                                joined(params, ","), one.question, one.description});
  }
  sheet.view.options = {{"columns", "id,name,question"}};
  OutputOptions every_row = options;
  every_row.all = true;
  return write_stdout(render(sheet, every_row, terminal_of(1)));
}

// Prints the description of an analysis, from its header.
Status print_about(const std::string& name) {
  XSP_TRY(const analyze::Analysis* one, analyze::find(name));
  std::string text = one->id + "  " + one->name + ": " + one->title + "\n" + one->question + "\n";
  const Terminal terminal = terminal_of(1);
  const auto wrap = [&](const std::string& prose, size_t indent) {
    text += wrapped(std::string(indent, ' ') + prose, terminal.width, indent);
  };
  if (!one->description.empty()) text += "\n";
  if (!one->description.empty()) wrap(one->description, 0);
  text += "\nneeds       " + joined(one->needs, ",") + "\n";
  for (const analyze::Param& param : one->params) {
    const std::string standard =
        param.default_value == "-" ? "" : ", default " + param.default_value;
    text += "--param     " + param.name + "=" + param.type + standard + "\n";
    wrap(param.description, 12);
  }
  text += "columns\n";
  for (const analyze::Column& column : one->columns) {
    text += "  " + column.name + "\n";
    wrap(column.description, 12);
  }
  if (!one->rules.empty()) text += "rules\n";
  for (const analyze::Rule& rule : one->rules) {
    text += "  " + rule.name + "\n";
    wrap(rule.sentence, 12);
  }
  return write_stdout(text);
}

Result<analyze::Parameters> parse_parameters(const std::vector<std::string>& texts) {
  analyze::Parameters parameters;
  for (const std::string& text : texts) {
    const size_t equal = text.find('=');
    if (equal == std::string::npos || equal == 0) {
      return usage("--param '" + text + "': not name=value: give one, such as batch=8");
    }
    if (!parameters.emplace(text.substr(0, equal), text.substr(equal + 1)).second) {
      return usage("--param '" + text + "': given twice: give it once");
    }
  }
  return parameters;
}

Status analyze_file(const AnalyzeOptions& options) {
  if (options.list)
    return options.name.empty() ? print_list(options.output) : print_about(options.name);
  if (options.name.empty()) {
    return usage("analyze: no analysis was named: choose one from xsp analyze --list");
  }
  // The name is checked before the file, because a mistyped name is the more common mistake.
  XSP_TRY(const analyze::Analysis* analysis, analyze::find(options.name));
  if (options.file.empty()) {
    return usage("analyze " + options.name + ": no .xsp file was named: xsp profile makes one");
  }
  std::vector<std::string> params = options.params;
  if (options.batch) params.push_back("batch=" + std::to_string(*options.batch));
  XSP_TRY(const analyze::Parameters parameters, parse_parameters(params));
  XSP_TRY(store::Database database, store::Database::open(options.file));
  return print_analysis(database, analysis->name, parameters, options.output);
}

}  // namespace

void add_analyze(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<AnalyzeOptions>();
  CLI::App* verb = app.add_subcommand("analyze", "Ask an .xsp file a question of the catalogue");
  verb->add_option("NAME", options->name, "The analysis, by name or id: a2, layer_information")
      ->type_name("");
  verb->add_option("FILE", options->file, "The .xsp file, as xsp profile writes it")->type_name("");
  verb->add_option("--param", options->params, "A parameter of the analysis; may be repeated")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->take_all();
  verb->add_option("--batch", options->batch, "Short for --param batch=N")
      ->type_name("N")
      ->check(whole_above_zero());
  verb->add_flag("--list", options->list, "List the catalogue; with NAME, explain that analysis");
  add_output_options(*verb, options->output);
  verb->footer(
      "What was not measured is reported as such, with exit status 4; nothing is ever shown as\n"
      "zero instead.\n"
      "\n"
      "Examples:\n"
      "  xsp analyze --list\n"
      "  xsp analyze --list a2                          what it computes, its columns\n"
      "  xsp analyze model_summary resnet50.xsp\n"
      "  xsp analyze a2 resnet50.xsp --batch 8 --all\n"
      "  xsp analyze a6 resnet50.xsp --format json | jq '.[0]'");
  verb->callback([options, &exit_status] {
    const Status status = analyze_file(*options);
    exit_status = status.ok() ? 0 : report(status.error());
  });
}

}  // namespace xsp::cli
