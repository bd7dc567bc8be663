// xsp import: converts a program's own recording, or that of another tool, to an .xsp file.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "desk/cli/messages.h"
#include "desk/cli/verbs.h"
#include "desk/experiment/plan.h"
#include "desk/watch/import_traces.h"
#include "importers/shared/importer.h"
#include "shared/base/levels.h"

namespace xsp::cli {
namespace {

namespace fs = std::filesystem;

struct ImportOptions {
  std::vector<std::string> files;
  std::string output;
  std::string levels = "all";
  std::string name;
  bool quiet = false;
};

// Lets an importer read the file unless it is a trace of xsp's own.
Status choose_importer(watch::ImportRequest* request) {
  const auto is_own = [](const fs::path& trace) { return trace.extension() == ".xtrace"; };
  const auto& traces = request->traces;
  if (std::all_of(traces.begin(), traces.end(), is_own)) return Ok{};
  if (traces.size() > 1) {
    return usage(traces[1].string() +
                 ": several files: only .xtrace files can be imported together: name one file");
  }
  XSP_TRY(const importers::Importer importer, importers::importer_of(traces[0]));
  request->convert = [importer, file = traces[0]](
                         const fs::path& folder) -> Result<std::vector<watch::TracesOfRun>> {
    XSP_TRY(const auto converted, importers::convert(importer, file, folder));
    std::vector<watch::TracesOfRun> runs;
    for (const auto& [run, files, has_iterations] : converted) {
      watch::TracesOfRun& one = runs.emplace_back();
      // A level that xsp does not have is none that it wrote.
      if (const auto levels = experiment::parse_levels(run.levels); levels.ok()) {
        one.info.levels = levels_text(*levels);
      }
      one.info.batch = run.batch;
      one.info.counters = run.counters;
      one.info.framework = run.framework;
      one.info.framework_version = run.framework_version;
      one.info.device = run.device;
      one.traces = files;
      one.has_iterations = has_iterations;
    }
    return runs;
  };
  return Ok{};
}

std::string kinds_footer() {
  std::string text =
      "A program records itself through xsp/xsp.h (xsp_start, xsp_stop). Its spans at level model\n"
      "are inferences, those at level layer in them their layers. What `xsp run` and the Python\n"
      "package's xsp.profile record need no import.\n"
      "\n"
      "Files of other tools, one at a time:\n";
  for (const importers::Importer& one : importers::all_importers()) {
    text += fmt::format("  {:<10} {}\n", one.name, one.title);
  }
  return text +
         "\n"
         "Examples:\n"
         "  xsp import xsp-4711.xtrace -o server.xsp\n"
         "  xsp import trace.json -o trace.xsp";
}

Status import(const ImportOptions& options) {
  watch::ImportRequest request;
  request.traces.assign(options.files.begin(), options.files.end());
  for (const fs::path& trace : request.traces) {
    if (!fs::exists(trace)) return failed(trace.string() + ": cannot be read: no such file");
  }
  XSP_CHECK_OK(choose_importer(&request));
  XSP_TRY(request.levels, experiment::parse_levels(options.levels));
  const std::string subject =
      options.name.empty() ? request.traces[0].stem().string() : options.name;
  request.output = options.output.empty() ? fs::path(subject + ".xsp") : fs::path(options.output);
  request.facts = {{"model", subject},
                   {"xsp_version", XSP_VERSION},
                   {"recorded_by", request.convert ? "another tool" : "the program"}};
  XSP_TRY(const watch::ImportOutcome outcome, watch::import_traces(request));
  if (options.quiet) return Ok{};
  std::fprintf(stderr, "xsp: wrote %s: %s%s\n", request.output.c_str(),
               counted(outcome.spans, "span").c_str(), lost_text(outcome.lost).c_str());
  return Ok{};
}

}  // namespace

void add_import(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App* verb =
      app.add_subcommand("import", "Make an .xsp file of what a program or another tool recorded");
  verb->add_option("FILE", options->files,
                   "The .xtrace files of one run, one for each process; or a file of another tool")
      ->required()
      ->type_name("");
  verb->add_option("-o,--output", options->output, "The .xsp file; else the first one's name, here")
      ->type_name("FILE");
  verb->add_option("--levels", options->levels,
                   "The levels that may have been recorded; of these, those that have spans")
      ->capture_default_str();
  verb->add_option("--name", options->name, "What was measured; by default the first file's name");
  verb->add_flag("--quiet", options->quiet, "Say nothing");
  verb->footer(kinds_footer());
  verb->callback([options, &exit_status] {
    const Status status = import(*options);
    exit_status = status.ok() ? 0 : report(status.error());
  });
}

}  // namespace xsp::cli
