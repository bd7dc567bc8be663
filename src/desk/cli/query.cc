// xsp query: runs any SQL over an .xsp file.
#include <memory>

#include "desk/analyze/prelude.h"
#include "desk/cli/output.h"
#include "desk/cli/verbs.h"

namespace xsp::cli {
namespace {

struct QueryOptions {
  std::string file;
  std::string sql;
  OutputOptions output;
};

Status query(const QueryOptions& options) {
  XSP_TRY(store::Database database, store::Database::open(options.file));
  XSP_TRY(store::Table table, analyze::query_with_prelude(database, options.sql));
  return write_stdout(render(answer_sheet(std::move(table)), options.output, terminal_of(1)));
}

}  // namespace

void add_query(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<QueryOptions>();
  CLI::App* verb = app.add_subcommand("query", "Ask an .xsp file anything, in SQL");
  verb->add_option("FILE", options->file, "The .xsp file")->required()->type_name("");
  verb->add_option("SQL", options->sql, "One or more statements, in DuckDB's SQL")
      ->required()
      ->type_name("");
  add_output_options(*verb, options->output);
  verb->footer(
      "The views inference, layer and kernel have the executions that the analyses count: those\n"
      "of typical inferences, without warm-up, each level from its own run. The tables beneath\n"
      "them are evaluation, run, block, span, attribute, counter, loss, peak: they hold every run\n"
      "and its warm-up. Times are nanoseconds. The macros of the analyses are there, too:\n"
      "layers(1), kernels([1]), ...\n"
      "\n"
      "Examples:\n"
      "  xsp query resnet50.xsp \"FROM run\"\n"
      "  xsp query resnet50.xsp \"SELECT batch, name, avg(duration_ns) FROM layer GROUP BY ALL\"\n"
      "  xsp query resnet50.xsp \"FROM layers(1)\" --format csv > layers.csv\n"
      "  xsp query resnet50.xsp \"DESCRIBE span\"");
  verb->callback([options, &exit_status] {
    const Status status = query(*options);
    exit_status = status.ok() ? 0 : report(status.error());
  });
}

}  // namespace xsp::cli
