#include "desk/cli/serve_child.h"

#include <fstream>
#include <set>

#include "pipelines/shared/step.h"
#include "shared/base/text.h"

namespace xsp::cli {

constexpr size_t kReasonBytes = 500;

Status check_no_code(const manifest::Manifest& manifest) {
  std::set<std::string> refused;
  for (const pipelines::StepKind& kind : pipelines::all_steps()) {
    if (kind.runs_code) refused.insert(kind.name);
  }
  for (const auto* side : {&manifest.inputs, &manifest.outputs}) {
    for (const manifest::Tensor& tensor : *side) {
      for (const manifest::Step& step : tensor.pipeline.steps) {
        if (refused.count(step.name) == 0) continue;
        return usage(manifest.name + ": its step '" + step.name +
                     "' runs the manifest's code, which no request over a network may do: use "
                     "xsp predict");
      }
    }
  }
  return Ok{};
}

std::string reason_of(const std::filesystem::path& log) {
  std::ifstream file(log);
  std::string reason;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("error: ")) reason = line.substr(7, kReasonBytes);
  }
  uint64_t replaced = 0;
  return keep_text(reason, replaced);
}

}  // namespace xsp::cli
