#include "desk/cli/output.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "desk/analyze/prelude.h"
#include "desk/cli/numbers.h"
#include "desk/cli/table.h"
#include "desk/cli/units.h"

namespace xsp::cli {
namespace {

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

nlohmann::ordered_json json_of(const store::Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* integer = std::get_if<int64_t>(&value)) return *integer;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return nullptr;
}

std::string dump(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

Sheet sheet_of(store::Table table) {
  Sheet sheet;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    bool is_number = !table.rows.empty();
    for (const auto& row : table.rows) {
      double ignored = 0;
      const bool is_null = std::holds_alternative<std::monostate>(row[i]);
      if (!is_null && !as_number(row[i], &ignored)) is_number = false;
    }
    const std::string& name = table.columns[i].name;
    sheet.columns.push_back({name, unit_of_name(name, is_number), ""});
  }
  sheet.table = std::move(table);
  return sheet;
}

Sheet answer_sheet(store::Table table) {
  Sheet sheet = sheet_of(std::move(table));
  sheet.is_answer = true;
  for (analyze::Column& column : sheet.columns) {
    if (column.unit != "text") column.unit = kAsIs;
  }
  return sheet;
}

std::string render_csv(const store::Table& table) {
  std::string text;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    text += (i == 0 ? "" : ",") + csv_field(table.columns[i].name);
  }
  text += "\n";
  for (const auto& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      text += (i == 0 ? "" : ",") + csv_field(raw_text(row[i]));
    }
    text += "\n";
  }
  return text;
}

std::string render_json(const store::Table& table) {
  std::string text = "[";
  for (size_t r = 0; r < table.rows.size(); ++r) {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (size_t i = 0; i < table.columns.size(); ++i) {
      object[table.columns[i].name] = json_of(table.rows[r][i]);
    }
    text += (r == 0 ? "\n " : ",\n ") + dump(object);
  }
  return text + (table.rows.empty() ? "]\n" : "\n]\n");
}

std::string render(const Sheet& sheet, const OutputOptions& options, const Terminal& terminal) {
  if (options.top && options.format != Format::kTable) {
    OutputOptions every_row = options;
    every_row.top.reset();
    return render(top_rows(sheet, *options.top), every_row, terminal);
  }
  switch (options.format) {
    case Format::kTable:
      return render_table(sheet, options, terminal);
    case Format::kCsv:
      return render_csv(sheet.table);
    case Format::kJson:
      return render_json(sheet.table);
    case Format::kMarkdown:
      return render_markdown(sheet);
  }
  return {};
}

namespace {

struct Told {
  Sheet sheet;
  std::vector<std::string> doubts;
};

std::string notes_text(const Told& told, const Terminal& terminal) {
  constexpr size_t kIndent = 6;
  std::string text;
  for (const std::string& doubt : told.doubts) {
    text += wrapped("note: " + doubt, terminal.width, kIndent);
  }
  return text;
}

// Empties the column `batch` if the evaluation does not know its batch sizes: then it holds the key
// of the runs, which is no size.
Status leave_out_unknown_batch(store::Database& database, store::Table* table) {
  const auto column = std::find_if(table->columns.begin(), table->columns.end(),
                                   [](const auto& one) { return one.name == "batch"; });
  if (column == table->columns.end()) return Ok{};
  XSP_TRY(const store::Table known,
          analyze::query_with_prelude(database, "SELECT inputs_of(1) IS NOT NULL"));
  if (std::get<bool>(known.rows.at(0).at(0))) return Ok{};
  const auto index = static_cast<size_t>(column - table->columns.begin());
  for (auto& row : table->rows) row[index] = std::monostate{};
  return Ok{};
}

Result<Told> ask(store::Database& database, std::string_view id_or_name,
                 const analyze::Parameters& parameters) {
  XSP_TRY(const analyze::Analysis* analysis, analyze::find(id_or_name));
  Told told;
  Sheet& sheet = told.sheet;
  XSP_TRY(sheet.table, analyze::run(database, *analysis, parameters));
  XSP_CHECK_OK(leave_out_unknown_batch(database, &sheet.table));
  sheet.title = analysis->title;
  sheet.columns = analysis->columns;
  if (const analyze::View* view = analysis->view("table")) sheet.view = *view;
  if (sheet.columns.size() != sheet.table.columns.size()) {
    return failed(analysis->name + ": its header and its result differ: mend analyses/" +
                  analysis->name + ".sql");
  }
  XSP_TRY(told.doubts, analyze::doubts(database, *analysis, parameters, sheet.table));
  return told;
}

}  // namespace

Result<std::string> analysis_text(store::Database& database, std::string_view id_or_name,
                                  const Terminal& terminal) {
  XSP_TRY(const Told answer, ask(database, id_or_name, {}));
  return notes_text(answer, terminal) + render(answer.sheet, {}, terminal);
}

Status print_analysis(store::Database& database, std::string_view id_or_name,
                      const analyze::Parameters& parameters, const OutputOptions& options) {
  XSP_TRY(const Told answer, ask(database, id_or_name, parameters));
  // In other formats, another program reads the output, so it has only the table.
  if (options.format == Format::kTable) {
    XSP_CHECK_OK(write_stdout(notes_text(answer, terminal_of(1))));
  } else {
    for (const std::string& doubt : answer.doubts) {
      std::fprintf(stderr, "note: %s\n", doubt.c_str());
    }
  }
  return write_stdout(render(answer.sheet, options, terminal_of(1)));
}

void add_output_options(CLI::App& verb, OutputOptions& options, bool rows) {
  static const std::map<std::string, Format> formats = {{"table", Format::kTable},
                                                        {"csv", Format::kCsv},
                                                        {"json", Format::kJson},
                                                        {"markdown", Format::kMarkdown}};
  verb.add_option_function<std::string>(
          "--format", [&options](const std::string& name) { options.format = formats.at(name); },
          "table (default), csv, json or markdown")
      ->type_name("FORMAT")
      ->check(CLI::IsMember(formats));
  if (!rows) return;
  verb.add_option_function<size_t>(
          "--top", [&options](size_t count) { options.top = count; }, "Show the first N rows")
      ->type_name("N")
      ->check(whole_above_zero());
  verb.add_flag("--all", options.all, "Show every row");
}

}  // namespace xsp::cli
