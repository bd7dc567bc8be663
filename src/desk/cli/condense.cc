// xsp condense: writes a small copy of an evaluation, for an archive or a repository.
#include "desk/analyze/condense.h"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "desk/cli/replaced.h"
#include "desk/cli/verbs.h"

namespace xsp::cli {
namespace {

namespace fs = std::filesystem;

struct CondenseOptions {
  std::string file;
  std::string output;
  int most = 0;  // inferences; 0: all
  bool is_forced = false;
};

double mib(const fs::path& file) {
  std::error_code error;
  const auto bytes = fs::file_size(file, error);
  return error ? 0 : static_cast<double>(bytes) / (1 << 20);
}

Status write_condensed(const CondenseOptions& options) {
  fs::path output = options.output;
  if (output.empty()) output = fs::path(options.file).stem().string() + "-condensed.xsp";
  Place place{output, Place::Kind::kEvaluation, {options.file}, options.is_forced};
  XSP_TRY(const std::string replaced, replaced_by(place));
  const auto most = options.most > 0 ? std::optional(options.most) : std::nullopt;
  XSP_TRY(const store::Subset subset, analyze::condense(options.file, output, most));
  std::fprintf(stderr, "wrote %s (%.1f MiB, %.1f before): %lld of %lld spans%s\n", output.c_str(),
               mib(output), mib(options.file), static_cast<long long>(subset.kept),
               static_cast<long long>(subset.spans), replaced.c_str());
  return Ok{};
}

}  // namespace

void add_condense(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<CondenseOptions>();
  CLI::App* verb = app.add_subcommand("condense", "Write a small copy of an .xsp file");
  verb->add_option("FILE", options->file, "The .xsp file")->required()->type_name("");
  verb->add_option("-o,--output", options->output, "The copy; by default FILE-condensed.xsp, here")
      ->type_name("FILE");
  verb->add_option(
          "--inferences", options->most,
          "Keep at most N inferences of each run with layers, calls or kernels: a smaller\n"
          "file, whose figures are means over fewer inferences")
      ->type_name("N")
      ->check(CLI::Range(5, 1000000));
  add_force(*verb, options->is_forced);
  verb->footer(
      "Every figure is a mean over the typical inferences. The copy keeps these, and the latency\n"
      "of the others, so each analysis gives the same answer for it, unless it asks for single\n"
      "inferences or for the warm-up. The audit says how many spans the copy leaves out.\n"
      "\n"
      "Examples:\n"
      "  xsp condense resnet50.xsp -o archive/resnet50.xsp\n"
      "  xsp condense resnet50.xsp --inferences 12");
  verb->callback([options, &exit_status] {
    const Status status = write_condensed(*options);
    exit_status = status.ok() ? 0 : report(status.error());
  });
}

}  // namespace xsp::cli
