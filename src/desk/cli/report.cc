// xsp report: writes the page and all its data into one HTML file.
#include "desk/serve/report.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "desk/cli/replaced.h"
#include "desk/cli/terminal.h"
#include "desk/cli/verbs.h"
#include "desk/serve/page.h"

namespace xsp::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kFiles = 6;  // the most that the page compares

struct ReportOptions {
  std::vector<std::string> files;
  std::string output;
  bool is_forced = false;
};

// Writes beside the path and then renames, so that the report is either complete or missing.
Status write_whole(const fs::path& path, const std::string& text) {
  const fs::path partial = path.string() + ".partial";
  std::ofstream file(partial, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  std::error_code error;
  if (file) fs::rename(partial, path, error);
  if (!file || error) {
    std::error_code ignored;
    fs::remove(partial, ignored);
    return failed(path.string() + ": cannot be written: is there room, and may you write there?");
  }
  return Ok{};
}

Status write_report(const ReportOptions& options) {
  const std::vector<fs::path> files(options.files.begin(), options.files.end());
  if (files.size() > kFiles) {
    return usage("report: " + std::to_string(files.size()) + " files: it compares " +
                 std::to_string(kFiles) + " at most: leave some out");
  }
  fs::path output = options.output;
  if (output.empty()) output = files[0].filename().replace_extension(".html");
  XSP_TRY(const std::string replaced,
          replaced_by({output, Place::Kind::kPage, files, options.is_forced}));
  XSP_TRY(auto library, serve::Library::of_files(files));
  const bool is_terminal = terminal_of(2).is_terminal;
  XSP_TRY(const std::string report,
          serve::make_report(*library, serve::embedded_page(), [&](size_t done, size_t all) {
            if (is_terminal) std::fprintf(stderr, "\rrecording answers %zu/%zu", done, all);
          }));
  if (is_terminal) std::fprintf(stderr, "\r\033[K");
  XSP_CHECK_OK(write_whole(output, report));
  std::fprintf(stderr, "wrote %s (%.1f MiB)%s\n", output.c_str(),
               static_cast<double>(report.size()) / (1 << 20), replaced.c_str());
  return Ok{};
}

}  // namespace

void add_report(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* verb = app.add_subcommand("report", "Write the page of an .xsp file as one HTML file");
  verb->add_option("FILE", options->files, "The .xsp file; up to six, to compare them")
      ->required()
      ->type_name("");
  verb->add_option("-o,--output", options->output, "The HTML file; by default FILE.html, here")
      ->type_name("FILE");
  add_force(*verb, options->is_forced);
  verb->footer(
      "The file needs nothing but a browser: it opens from disk, offline, and can be mailed.\n"
      "\n"
      "Examples:\n"
      "  xsp report resnet50.xsp -o report.html\n"
      "  xsp report before.xsp after.xsp -o change.html    compared side by side");
  verb->callback([options, &exit_status] {
    const Status status = write_report(*options);
    exit_status = status.ok() ? 0 : report(status.error());
  });
}

}  // namespace xsp::cli
