// Output: prints a result of any analysis or query for a person or for a program. It knows units
// and views, but no analysis.
#ifndef XSP_DESK_CLI_OUTPUT_H_
#define XSP_DESK_CLI_OUTPUT_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "desk/analyze/catalogue.h"
#include "desk/analyze/run.h"
#include "desk/cli/terminal.h"
#include "desk/store/database.h"
#include "shared/base/result.h"

namespace CLI {
class App;
}

namespace xsp::cli {

enum class Format { kTable, kCsv, kJson, kMarkdown };

struct OutputOptions {
  Format format = Format::kTable;
  std::optional<size_t> top;  // rows shown; nothing: as the view says in a table, else all
  bool all = false;           // show every row
};

// A result, with the known properties of its columns.
struct Sheet {
  std::string title;                     // empty: none
  bool is_answer = false;                // to a query: the names are the user's own
  std::vector<analyze::Column> columns;  // one for each column of the table
  store::Table table;
  // Options for drawing it, of the analysis's view "table":
  //   columns=a,b   the columns to show, in this order; all by default
  //   caption=a     columns that are the same in every row: written once, beside the title
  //   by=a          sorts by this column, largest first; the footer sums it over the rows left out
  //   top=20        number of rows
  //   bar=a         also draws this column as bars
  //   group=a       shows this column's text only where it changes
  analyze::View view;
};

// Makes the sheet of a query without column descriptions: the names' endings give the units.
Sheet sheet_of(store::Table table);
// Makes the sheet of what a query in SQL returned: a header is the name that the user gave, and a
// number is in the unit that the user chose.
Sheet answer_sheet(store::Table table);

std::string render(const Sheet& sheet, const OutputOptions& options, const Terminal& terminal);
// Return CSV (RFC 4180, LF) and JSON (an array of objects), in full precision; NULL is empty or
// null.
std::string render_csv(const store::Table& table);
std::string render_json(const store::Table& table);

// Returns an analysis as people read it, with its doubts before it.
Result<std::string> analysis_text(store::Database& database, std::string_view id_or_name,
                                  const Terminal& terminal);
// Runs an analysis and prints it on the standard output.
Status print_analysis(store::Database& database, std::string_view id_or_name,
                      const analyze::Parameters& parameters = {},
                      const OutputOptions& options = {});

// Adds --format to a verb, and with `rows` --top and --all. `options` must outlive the verb.
void add_output_options(CLI::App& verb, OutputOptions& options, bool rows = true);

}  // namespace xsp::cli

#endif  // XSP_DESK_CLI_OUTPUT_H_
