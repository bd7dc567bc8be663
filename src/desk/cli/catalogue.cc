// xsp catalogue: an index of evaluations that answers in SQL.
#include "desk/catalogue/catalogue.h"

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

#include "desk/catalogue/fair.h"
#include "desk/catalogue/summary.h"
#include "desk/cli/catalogue_access.h"
#include "desk/cli/messages.h"
#include "desk/cli/output.h"
#include "desk/cli/verbs.h"
#include "shared/base/nearest.h"

namespace xsp::cli {
namespace {

namespace fs = std::filesystem;
using catalogue::Added;
using catalogue::Catalogue;

struct CatalogueOptions {
  std::string place;
  std::vector<std::string> paths;
  std::string sql;
  std::string metric;
  std::string over = "framework";
  bool has_summaries = false;
  bool is_quiet = false;
  OutputOptions output;
};

// Returns the catalogue's place: as given, or beside the results.
std::string place_of(const CatalogueOptions& options) {
  if (!options.place.empty()) return options.place;
  std::error_code error;
  fs::path folder = options.paths.empty() ? fs::path(".") : fs::path(options.paths[0]);
  if (!fs::is_directory(folder, error)) folder = folder.parent_path();
  return (folder / catalogue::kFileName).string();
}

catalogue::Progress progress_of(const CatalogueOptions& options) {
  if (options.is_quiet || !terminal_of(2).is_terminal) return {};
  return [](size_t done, size_t all) {
    std::fprintf(stderr, "\rreading %zu/%zu%s", done, all, done == all ? "\r\033[K" : "");
  };
}

// Says what became of the files. Fails if one could not be read; the others are in the catalogue.
Status tell(const CatalogueOptions& options, const std::string& place, const Added& added) {
  for (const std::string& problem : added.problems) {
    std::fprintf(stderr, "left out: %s\n", problem.c_str());
  }
  if (!options.is_quiet) {
    const std::string name = catalogue::is_server(place) ? "the server's catalogue" : place;
    std::fprintf(stderr, "%s: %zu added, %zu unchanged, %zu left out\n", name.c_str(), added.added,
                 added.unchanged, added.problems.size());
  }
  if (added.problems.empty()) return Ok{};
  return failed("catalogue: " + counted(added.problems.size(), "file") +
                " could not be read: the reasons are above, and the others are in it");
}

// Makes a write beyond the limit on the size of files fail, and not end the process: SQLite then
// undoes what it had begun.
void survive_size_limit() { std::signal(SIGXFSZ, SIG_IGN); }

Status add(const CatalogueOptions& options) {
  survive_size_limit();
  const std::string place = place_of(options);
  XSP_TRY(Catalogue catalogue, Catalogue::open(place));
  XSP_TRY(const Added added,
          catalogue.add({options.paths.begin(), options.paths.end()}, progress_of(options)));
  if (options.has_summaries) {
    XSP_TRY(const size_t written, catalogue::write_summaries(catalogue));
    if (!options.is_quiet)
      std::fprintf(stderr, "%zu %s written\n", written, written == 1 ? "summary" : "summaries");
  }
  return tell(options, place, added);
}

Status rebuild(const CatalogueOptions& options) {
  survive_size_limit();
  const std::string place = place_of(options);
  XSP_TRY(Catalogue catalogue, Catalogue::open(place));
  XSP_TRY(const Added added, catalogue.rebuild(options.paths[0], progress_of(options)));
  return tell(options, place, added);
}

// Brings the tables to the version of this xsp, and reads no file.
Status migrate(const CatalogueOptions& options) {
  survive_size_limit();
  const std::string place = place_of(options);
  XSP_TRY(const catalogue::Migrated migrated, catalogue::migrate(place));
  const std::string name = catalogue::is_server(place) ? "the server's catalogue" : place;
  if (migrated.from == migrated.to) {
    std::fprintf(stderr, "%s: it has version %d already\n", name.c_str(), migrated.to);
  } else {
    std::fprintf(stderr, "%s: version %d is now version %d\n", name.c_str(), migrated.from,
                 migrated.to);
  }
  return Ok{};
}

Status query(const CatalogueOptions& options) {
  XSP_TRY(Catalogue catalogue, Catalogue::open_for_reading(place_of(options)));
  XSP_TRY(store::Table table, catalogue.query(options.sql));
  return write_stdout(render(answer_sheet(std::move(table)), options.output, terminal_of(1)));
}

// Returns the subject that a comparison is over, and with `is_same` what both sides share.
std::string subject_of(const catalogue::Known& one, catalogue::Over over, bool is_same) {
  using catalogue::Over;
  const std::string system = one.fingerprint + " " + one.device;
  if (over == Over::kFramework) return is_same ? one.model : one.framework;
  if (over == Over::kModel) return is_same ? one.framework : one.model;
  return is_same ? one.model + ", " + one.framework : system;
}

// Returns the facts that forbid a comparison. A terminal has room for one.
std::string refusal(const catalogue::Pair& pair, Format format) {
  std::string all;
  for (const std::string& one : pair.refused) all += (all.empty() ? "" : "; ") + one;
  if (format != Format::kTable || pair.refused.size() < 2) return all;
  return pair.refused.front() + "; " + std::to_string(pair.refused.size() - 1) + " more";
}

// Returns why the two figures are less certain than was asked. A terminal has room for the first
// words of the first doubt.
std::string doubt_of(const catalogue::Figure& a, const catalogue::Figure& b, Format format) {
  std::string all;
  for (const auto& [side, figure] : {std::pair("a: ", &a), std::pair("b: ", &b)}) {
    if (figure->doubt.empty()) continue;
    if (format == Format::kTable) return figure->doubt.substr(0, figure->doubt.find(':'));
    all += (all.empty() ? "" : "; ") + std::string(side) + figure->doubt;
  }
  return all;
}

Status check_metric(const std::string& metric, const std::vector<catalogue::Known>& all) {
  std::set<std::string> known;
  for (const catalogue::Known& one : all) {
    for (const auto& [name, figure] : one.figures) known.insert(name);
  }
  if (known.empty() || known.count(metric) != 0) return Ok{};
  return usage("figure '" + metric + "': unknown: " +
               did_you_mean(metric, {known.begin(), known.end()},
                            "name one of SELECT DISTINCT metric FROM result"));
}

// Compares one figure, pair by pair. A pair that differs in more than was asked has no ratio, and
// says why.
Status compare(const CatalogueOptions& options) {
  XSP_TRY(const catalogue::Over over, catalogue::over_of(options.over));
  XSP_TRY(Catalogue catalogue, Catalogue::open_for_reading(place_of(options)));
  XSP_TRY(const std::vector<catalogue::Known> all, catalogue::load(catalogue));
  XSP_CHECK_OK(check_metric(options.metric, all));
  store::Table table;
  std::string unit;
  for (const catalogue::Pair& pair : catalogue::pairs_over(all, over)) {
    const catalogue::Figure* a = pair.a->measured(options.metric);
    const catalogue::Figure* b = pair.b->measured(options.metric);
    if (a == nullptr || b == nullptr || !a->value || !b->value) continue;
    unit = a->unit;
    const bool has_ratio = pair.refused.empty() && *a->value != 0;
    const std::string refused = refusal(pair, options.output.format);
    const std::string doubt = doubt_of(*a, *b, options.output.format);
    table.rows.push_back(
        {subject_of(*pair.a, over, true), pair.a->scenario,
         pair.a->batch == catalogue::kBatchUnknown ? store::Value() : store::Value(pair.a->batch),
         subject_of(*pair.a, over, false), subject_of(*pair.b, over, false), *a->value, *b->value,
         has_ratio ? store::Value(*b->value / *a->value) : store::Value(),
         refused.empty() ? store::Value() : store::Value(refused),
         doubt.empty() ? store::Value() : store::Value(doubt)});
  }
  if (table.rows.empty()) {
    return not_available("catalogue: no two evaluations have '" + options.metric +
                         "' and differ in the " + options.over + " at one batch size");
  }
  table.columns = {{"of", "VARCHAR"},
                   {"scenario", "VARCHAR"},
                   {"batch", "BIGINT"},
                   {"a", "VARCHAR"},
                   {"b", "VARCHAR"},
                   {"value_a_" + unit, "DOUBLE"},
                   {"value_b_" + unit, "DOUBLE"},
                   {"ratio", "DOUBLE"},
                   {"refused", "VARCHAR"},
                   {"doubt", "VARCHAR"}};
  return write_stdout(render(sheet_of(std::move(table)), options.output, terminal_of(1)));
}

void run_with(CLI::App* verb, const std::shared_ptr<CatalogueOptions>& options, int& exit_status,
              Status (*work)(const CatalogueOptions&)) {
  verb->add_option("--db", options->place,
                   "The catalogue: a file, or postgresql://USER@HOST/NAME; by default "
                   "catalogue.sqlite beside the files that are added, else in this folder")
      ->type_name("PLACE");
  verb->callback([options, &exit_status, work] {
    const Status status = work(*options);
    exit_status = status.ok() ? 0 : report(status.error());
  });
}

}  // namespace

void add_catalogue(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<CatalogueOptions>();
  CLI::App* verb = app.add_subcommand("catalogue", "Index evaluations, and ask about all of them");
  verb->require_subcommand(1);
  CLI::App* adding = verb->add_subcommand("add", "Add .xsp files, and those in folders");
  adding->add_option("PATH", options->paths, "Files and folders")->required()->type_name("");
  adding->add_flag("--summaries", options->has_summaries,
                   "Write NAME.summary.parquet beside each file, with its figures");
  adding->add_flag("--quiet", options->is_quiet, "Say only what is wrong");
  run_with(adding, options, exit_status, add);
  CLI::App* building = verb->add_subcommand("rebuild", "Forget all files, and add a folder's");
  building->add_option("FOLDER", options->paths, "The folder")
      ->required()
      ->expected(1)
      ->type_name("");
  building->add_flag("--quiet", options->is_quiet, "Say only what is wrong");
  run_with(building, options, exit_status, rebuild);
  CLI::App* migrating = verb->add_subcommand(
      "migrate", "Bring a catalogue of an older xsp to the version of this one");
  run_with(migrating, options, exit_status, migrate);
  CLI::App* asking = verb->add_subcommand("query", "Ask the catalogue in SQL; it cannot write");
  asking->add_option("SQL", options->sql, "One statement")->required()->type_name("");
  add_output_options(*asking, options->output);
  run_with(asking, options, exit_status, query);
  add_access_verbs(*verb, exit_status);
  CLI::App* comparing = verb->add_subcommand("compare", "Compare a figure, pair by pair");
  comparing->add_option("METRIC", options->metric, "The figure, such as inference.latency")
      ->required()
      ->type_name("");
  comparing->add_option("--over", options->over, "What may differ: framework, system or model")
      ->type_name("SUBJECT")
      ->capture_default_str();
  add_output_options(*comparing, options->output);
  run_with(comparing, options, exit_status, compare);
  verb->footer(
      "The tables are model, framework, system, dataset, evaluation (a row for each batch size of\n"
      "a file) and result (a row for each figure); docs/fleet.md describes them. Files are the\n"
      "truth: a lost catalogue can be built again from them.\n"
      "\n"
      "Examples:\n"
      "  xsp catalogue add results\n"
      "  xsp catalogue query --db results/catalogue.sqlite \"SELECT model, batch, value, low,\n"
      "    high FROM evaluation JOIN result ON evaluation = id WHERE metric = 'throughput'\"\n"
      "  xsp catalogue compare throughput --over framework\n"
      "  xsp catalogue rebuild results --db postgresql://team@db/xsp");
}

}  // namespace xsp::cli
