// xsp export: writes an .xsp file in the formats of other tools.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "desk/cli/messages.h"
#include "desk/cli/terminal.h"
#include "desk/cli/verbs.h"
#include "exporters/shared/exporter.h"
#include "exporters/shared/tables.h"
#include "shared/base/nearest.h"
#include "shared/base/scratch.h"

namespace xsp::cli {
namespace {

namespace fs = std::filesystem;
using exporters::Exporter;
using exporters::Request;
using exporters::Takes;
using exporters::Written;

struct ExportOptions {
  std::string file;
  std::string format;
  std::string output;
  std::optional<int64_t> run;
  std::string range;
  std::string table;
  std::string query;
  bool replace = false;
  bool quiet = false;
};

Result<Exporter> exporter_named(const std::string& name) {
  std::vector<std::string> names;
  for (const Exporter& one : exporters::all_exporters()) {
    if (one.name == name) return one;
    names.push_back(one.name);
  }
  return usage("--to " + name + ": unknown: " + did_you_mean(name, names, "see xsp export --help"));
}

// Reads "5..7", or "5" for one iteration.
Result<std::pair<int64_t, int64_t>> range_of(const std::string& text) {
  std::pair<int64_t, int64_t> range;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, range.first);
  range.second = range.first;
  auto last = first;
  const bool has_last = std::string_view(first.ptr, end).substr(0, 2) == "..";
  if (has_last) last = std::from_chars(first.ptr + 2, end, range.second);
  const bool is_read = first.ec == std::errc() && last.ec == std::errc() && last.ptr == end;
  if (is_read && range.first <= range.second) return range;
  return usage("--range " + text +
               ": not a range: give the first and the last iteration, as in 5..7");
}

Status check_options(const ExportOptions& options, const Exporter& exporter) {
  const bool asks_spans = options.run || !options.range.empty();
  const bool asks_tables = !options.table.empty() || !options.query.empty();
  if (exporter.takes == Takes::kTables && asks_spans) {
    return usage("--to " + exporter.name +
                 ": takes neither --run nor --range: choose rows with --query");
  }
  if (exporter.takes == Takes::kSpans && asks_tables) {
    return usage("--to " + exporter.name + ": takes neither --table nor --query: it writes spans");
  }
  if (!options.table.empty() && !options.query.empty()) {
    return usage("--table, --query: not together: leave one out");
  }
  return Ok{};
}

fs::path output_of(const ExportOptions& options, const Exporter& exporter) {
  if (!options.output.empty()) return options.output;
  fs::path name = fs::path(options.file).stem();
  if (!options.query.empty()) return name += exporter.ending;
  if (!options.table.empty()) return options.table + exporter.ending;
  return name += exporter.takes == Takes::kTables ? "-" + exporter.name : exporter.ending;
}

Status check_output(const fs::path& output, const ExportOptions& options) {
  std::error_code error;
  if (fs::equivalent(output, options.file, error)) {
    return usage(output.string() + ": is the input: name another file with -o");
  }
  if (!fs::exists(fs::symlink_status(output, error)) || options.replace) return Ok{};
  return failed(output.string() +
                ": is there already: name another with -o, or replace it with --force");
}

// Removes what it wrote unless it was moved to its place.
class Partial {
 public:
  explicit Partial(fs::path output) : output_(std::move(output)) {
    while (output_.has_parent_path() && !output_.has_filename()) output_ = output_.parent_path();
    path_ = output_.string() + ".xsp-partial";
    remove();  // a killed process left it
  }
  ~Partial() { remove(); }
  const fs::path& path() const { return path_; }
  // Returns the error with the names that the files would have at their place.
  Error at_place(Error error) const {
    const size_t at = error.text.find(path_.string());
    if (at != std::string::npos) error.text.replace(at, path_.string().size(), output_.string());
    return error;
  }

  // Files of a folder that is there already are replaced one by one, and its other files stay.
  Status move() {
    std::error_code error;
    if (fs::is_directory(path_, error) && fs::is_directory(output_, error)) {
      for (const fs::directory_entry& file : fs::directory_iterator(path_, error)) {
        fs::rename(file.path(), output_ / file.path().filename(), error);
        if (error) return cannot(error);
      }
      return Ok{};
    }
    fs::rename(path_, output_, error);
    return error ? Status(cannot(error)) : Status(Ok{});
  }

 private:
  Error cannot(const std::error_code& error) const {
    return failed(output_.string() + ": cannot be written: " + error.message() +
                  ": name another with -o");
  }
  void remove() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  fs::path output_;
  fs::path path_;
};

// Writes the file to the standard output, and nothing else there.
Status write_to_stdout(const Exporter& exporter, Request request) {
  XSP_TRY(const std::unique_ptr<ScratchFolder> scratch, ScratchFolder::create());
  request.output = scratch->path() / ("file" + exporter.ending);
  XSP_CHECK_OK(exporter.write(request));
  std::ifstream file(request.output, std::ios::binary);
  std::vector<char> piece(size_t{1} << 20);
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())), file.gcount() > 0) {
    XSP_CHECK_OK(write_stdout({piece.data(), static_cast<size_t>(file.gcount())}));
  }
  return Ok{};
}

Status run_export(const ExportOptions& options) {
  XSP_TRY(const Exporter exporter, exporter_named(options.format));
  XSP_CHECK_OK(check_options(options, exporter));
  if (!fs::exists(options.file)) {
    return failed(options.file + ": cannot be opened: No such file or directory: check the path");
  }
  const fs::path output = output_of(options, exporter);
  const bool is_stdout = options.output == "-";
  if (is_stdout && exporter.takes == Takes::kTables && options.table.empty() &&
      options.query.empty()) {
    return usage("-o -: a folder of tables is no stream: choose one with --table or --query");
  }
  if (!is_stdout) XSP_CHECK_OK(check_output(output, options));
  Request request;
  request.file = options.file;
  request.run = options.run;
  request.table = options.table;
  request.query = options.query;
  if (!options.range.empty()) {
    XSP_TRY(request.iterations, range_of(options.range));
  }
  // A limit on the size of files is an error of the write, and does not kill this process.
  std::signal(SIGXFSZ, SIG_IGN);
  if (is_stdout) return write_to_stdout(exporter, std::move(request));
  Partial partial(output);
  request.output = partial.path();
  const Result<Written> written = exporter.write(request);
  if (!written.ok()) return partial.at_place(written.error());
  XSP_CHECK_OK(partial.move());
  if (options.quiet) return Ok{};
  std::fprintf(stderr, "xsp: wrote %s: %s\n", output.c_str(),
               counted(written->count, written->what).c_str());
  return Ok{};
}

std::string footer() {
  std::string text = "Formats:\n";
  for (const Exporter& one : exporters::all_exporters()) {
    text += fmt::format("  {:<10} {}\n", one.name, one.title);
  }
  text += "\nTables:";
  size_t column = 7;
  for (const std::string& table : exporters::exported_tables()) {
    if (column + table.size() > 90) {
      text += "\n ";
      column = 1;
    }
    text += " " + table;
    column += table.size() + 1;
  }
  return text +
         "\n\n"
         "Formats of tables write a folder with a file of each table, unless --table or --query "
         "names\n"
         "one. Formats of traces write one file with the spans of all runs, unless --run names "
         "one.\n"
         "\n"
         "Examples:\n"
         "  xsp export resnet50.xsp --to chrome -o trace.json     open it in ui.perfetto.dev\n"
         "  xsp export resnet50.xsp --to perfetto --run 3 --range 0..9\n"
         "  xsp export resnet50.xsp --to parquet -o tables        a folder\n"
         "  xsp export resnet50.xsp --to csv --query \"FROM layers(1)\" -o layers.csv\n"
         "  xsp import trace.json -o again.xsp                    the way back";
}

}  // namespace

void add_export(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* verb = app.add_subcommand("export", "Write an .xsp file in a format of other tools");
  verb->add_option("FILE", options->file, "The .xsp file")->required()->type_name("");
  verb->add_option("--to", options->format, "The format: see below")
      ->required()
      ->type_name("FORMAT");
  verb->add_option("-o,--output", options->output,
                   "What to write; - is the standard output; by default FILE's name, here")
      ->type_name("PATH");
  verb->add_option("--run", options->run, "The only run whose spans are written")->type_name("N");
  verb->add_option("--range", options->range, "The only iterations whose spans are written: 5..7")
      ->type_name("A..B");
  verb->add_option("--table", options->table, "The only table that is written")->type_name("NAME");
  verb->add_option("--query", options->query, "SQL whose rows are written")->type_name("SQL");
  verb->add_flag("--force", options->replace, "Replace what is there");
  verb->add_flag("--quiet", options->quiet, "Say nothing");
  verb->footer(footer());
  verb->callback([options, &exit_status] {
    const Status status = run_export(*options);
    exit_status = status.ok() ? 0 : report(status.error());
  });
}

}  // namespace xsp::cli
