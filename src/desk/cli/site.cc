// xsp site: writes a catalogue as a static site.
#include "desk/site/site.h"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>

#include "desk/catalogue/catalogue.h"
#include "desk/cli/messages.h"
#include "desk/cli/terminal.h"
#include "desk/cli/verbs.h"

namespace xsp::cli {
namespace {

namespace fs = std::filesystem;
using catalogue::Catalogue;

struct SiteOptions {
  std::string folder;
  std::string place;
  std::string output;
  bool is_quiet = false;
};

// Opens the given catalogue, or that of the folder, to which new files are added first.
Result<Catalogue> open(const SiteOptions& options) {
  if (options.folder.empty() == options.place.empty()) {
    return usage("site: give either a folder of results, or a catalogue with --db");
  }
  if (!options.place.empty()) return Catalogue::open_for_reading(options.place);
  std::error_code error;
  if (!fs::is_directory(options.folder, error)) {
    return failed(options.folder + ": no such folder: name the folder of results");
  }
  XSP_TRY(Catalogue catalogue,
          Catalogue::open((fs::path(options.folder) / catalogue::kFileName).string()));
  const bool is_shown = !options.is_quiet && terminal_of(2).is_terminal;
  XSP_TRY(const catalogue::Added added,
          catalogue.add({options.folder}, [&](size_t done, size_t all) {
            if (is_shown) std::fprintf(stderr, "\rreading %zu/%zu", done, all);
          }));
  if (is_shown) std::fprintf(stderr, "\r\033[K");
  for (const std::string& problem : added.problems) {
    std::fprintf(stderr, "left out: %s\n", problem.c_str());
  }
  return catalogue;
}

Status write(const SiteOptions& options) {
  XSP_TRY(Catalogue catalogue, open(options));
  XSP_TRY(const site::Written written, site::write_site(catalogue, options.output));
  if (!options.is_quiet) {
    std::fprintf(stderr, "wrote %s: %s of %s\nnext: open %s\n", options.output.c_str(),
                 counted(written.pages, "page").c_str(),
                 counted(written.evaluations, "evaluation").c_str(),
                 (fs::path(options.output) / "index.html").c_str());
  }
  return Ok{};
}

}  // namespace

void add_site(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<SiteOptions>();
  CLI::App* verb = app.add_subcommand("site", "Write evaluations as a static site");
  verb->add_option("FOLDER", options->folder,
                   "The folder of results; new files are added to its catalogue first")
      ->type_name("");
  verb->add_option("--db", options->place,
                   "A catalogue instead: a file, or postgresql://USER@HOST/NAME")
      ->type_name("PLACE");
  verb->add_option("-o,--output", options->output, "The folder of the site")
      ->required()
      ->type_name("DIR");
  verb->add_flag("--quiet", options->is_quiet, "Say only what is wrong");
  verb->footer(
      "The site works from disk and on any static host. It has a page for each model and each\n"
      "system, and compares only what is comparable.\n"
      "\n"
      "Examples:\n"
      "  xsp site results -o site\n"
      "  xsp site --db postgresql://team@db/xsp -o site");
  verb->callback([options, &exit_status] {
    const Status status = write(*options);
    exit_status = status.ok() ? 0 : report(status.error());
  });
}

}  // namespace xsp::cli
