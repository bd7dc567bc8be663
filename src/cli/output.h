// Output: a result of any analysis or query, printed for a person or for a program. Knows units and
// views, and no analysis.
#ifndef XSP_CLI_OUTPUT_H_
#define XSP_CLI_OUTPUT_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/catalogue.h"
#include "analyze/run.h"
#include "base/result.h"
#include "cli/terminal.h"
#include "store/database.h"

namespace CLI {
class App;
}

namespace xsp::cli {

enum class Format { kTable, kCsv, kJson, kMarkdown };

struct OutputOptions {
  Format format = Format::kTable;
  std::optional<size_t> top;  // rows shown in a table; nothing: what the view says
  bool all = false;           // every row
};

// A result with what is known of its columns.
struct Sheet {
  std::string title;                     // empty: none
  std::vector<analyze::Column> columns;  // as many as the table's
  store::Table table;
  // How to draw it, options of the analysis's view "table":
  //   columns=a,b   which columns, in which order; all by default
  //   caption=a     columns that are the same in every row: written once, beside the title
  //   by=a          largest first by this column; the rows left out are summed by it
  //   top=20        so many rows
  //   bar=a         this column as bars, too
  //   group=a       this column's text only where it changes
  analyze::View view;
};

// The sheet of a query whose columns nobody described: units by the names' endings.
Sheet sheet_of(store::Table table);

std::string render(const Sheet& sheet, const OutputOptions& options, const Terminal& terminal);
// CSV (RFC 4180, LF), JSON (an array of objects): full precision, NULL empty or null.
std::string render_csv(const store::Table& table);
std::string render_json(const store::Table& table);

// Runs an analysis and prints it on the standard output.
Status print_analysis(store::Database& database, std::string_view id_or_name,
                      const analyze::Parameters& parameters = {},
                      const OutputOptions& options = {});

// Adds --format, and with `rows` --top and --all, to a verb; `options` outlives the verb.
void add_output_options(CLI::App& verb, OutputOptions& options, bool rows = true);

}  // namespace xsp::cli

#endif  // XSP_CLI_OUTPUT_H_
