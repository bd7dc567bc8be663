#include "desk/cli/serve_predict.h"

#include <algorithm>
#include <fstream>

#include "desk/manifest/shipped.h"
#include "desk/sweep/child.h"
#include "shared/base/scratch.h"
#include "shared/base/text.h"

namespace xsp::cli {
namespace {

constexpr double kSeconds = 60;
constexpr size_t kAnswerBytes = size_t{8} << 20;
constexpr size_t kReasonBytes = 500;

// Code of a manifest runs with the server's rights, so a request from the network starts none.
Status check_steps(const manifest::Manifest& manifest) {
  for (const auto* side : {&manifest.inputs, &manifest.outputs}) {
    for (const manifest::Tensor& tensor : *side) {
      for (const manifest::Step& step : tensor.pipeline.steps) {
        if (!step.name.starts_with("python")) continue;
        return usage(manifest.name +
                     ": it has a step in Python, which is not run over HTTP: " + "use xsp predict");
      }
    }
  }
  return Ok{};
}

// Returns the last error that the program printed.
std::string reason_of(const std::filesystem::path& log) {
  std::ifstream file(log);
  std::string reason;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("error: ")) reason = line.substr(7, kReasonBytes);
  }
  uint64_t replaced = 0;
  return keep_text(reason, replaced);
}

Result<std::string> predict(const serve::PredictionJob& job, const std::atomic<int>& stop) {
  XSP_TRY(const manifest::Manifest manifest, manifest::find_manifest(job.model));
  XSP_CHECK_OK(check_steps(manifest));
  XSP_TRY(const auto scratch, ScratchFolder::create());
  std::string answer;
  bool is_too_long = false;
  sweep::ChildOptions child;
  child.words = {"/proc/self/exe", "predict", manifest.file, job.input.string(), "--format",
                 "json",           "--quiet", "-o",          job.output.string()};
  child.log = scratch->path() / "log";
  child.out = [&](std::string_view bytes) {
    is_too_long = answer.size() + bytes.size() > kAnswerBytes;
    if (!is_too_long) answer += bytes;
    return !is_too_long;
  };
  child.limit_s = kSeconds;
  child.stop = &stop;
  XSP_TRY(const sweep::ChildEnd end, sweep::run_child(child));
  if (is_too_long) return failed(job.model + ": its answer is longer than 8 MiB");
  if (end.is_timeout) return failed(job.model + ": it took longer than 60 s");
  if (end.status == 0) return answer;
  const std::string reason = reason_of(child.log);
  return failed(reason.empty() ? job.model + ": it ended with status " + std::to_string(end.status)
                               : reason);
}

}  // namespace

std::vector<serve::PredictionModel> prediction_models() {
  std::vector<serve::PredictionModel> models;
  for (const manifest::Found& found : manifest::all_manifests()) {
    if (!found.manifest.ok()) continue;
    const manifest::Manifest& one = *found.manifest;
    const auto has_steps = [](const manifest::Tensor& tensor) {
      return !tensor.pipeline.steps.empty();
    };
    const bool answers = !one.inputs.empty() &&
                         std::any_of(one.inputs.begin(), one.inputs.end(), has_steps) &&
                         std::any_of(one.outputs.begin(), one.outputs.end(), has_steps);
    const bool is_listed = !models.empty() && models.back().name == one.name;
    if (!answers || is_listed || !check_steps(one).ok()) continue;
    models.push_back({one.name, one.version, one.task, one.inputs[0].pipeline.from});
  }
  return models;
}

serve::Predict make_predict(const std::atomic<int>& stop) {
  return [&stop](const serve::PredictionJob& job) { return predict(job, stop); };
}

}  // namespace xsp::cli
