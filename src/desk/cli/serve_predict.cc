#include "desk/cli/serve_predict.h"

#include <algorithm>

#include "desk/cli/serve_child.h"
#include "desk/manifest/shipped.h"
#include "desk/sweep/child.h"
#include "desk/sweep/question.h"
#include "shared/base/scratch.h"

namespace xsp::cli {
namespace {

constexpr double kSeconds = 60;
constexpr size_t kAnswerBytes = size_t{8} << 20;

Result<std::string> predict_elsewhere(const serve::PredictionJob& job, const Elsewhere& elsewhere,
                                      const std::string& framework, const std::atomic<int>& stop) {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  const sweep::Through through = {
      elsewhere.executor.through(elsewhere.settings, program, job.system), job.system};
  auto answer =
      sweep::ask_model({job.model, framework, job.input, job.output}, through, kSeconds, stop);
  if (!answer.ok()) return failed(job.model + " on " + job.system + ": " + answer.error().text);
  return answer;
}

Result<std::string> predict(const serve::PredictionJob& job,
                            const std::optional<Elsewhere>& elsewhere,
                            const std::atomic<int>& stop) {
  XSP_TRY(const manifest::Manifest manifest, manifest::find_manifest(job.model));
  XSP_CHECK_OK(check_no_code(manifest));
  if (!job.system.empty()) {
    if (!elsewhere) return usage("system '" + job.system + "': no other machine is known");
    return predict_elsewhere(job, *elsewhere, manifest.framework ? manifest.framework->name : "",
                             stop);
  }
  XSP_TRY(const auto scratch, ScratchFolder::create());
  std::string answer;
  bool is_too_long = false;
  sweep::ChildOptions child;
  // The name alone would be that of a file that lies where the server was started.
  const std::string model = manifest.name + "@" + manifest.version;
  child.words = {"/proc/self/exe", "predict", model, job.input.string(), "--no-code", "--format",
                 "json",           "--quiet", "-o",  job.output.string()};
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
    if (!answers || is_listed || !check_no_code(one).ok()) continue;
    models.push_back({one.name, one.version, one.task, one.inputs[0].pipeline.from});
  }
  return models;
}

serve::Predict make_predict(const std::atomic<int>& stop, std::optional<Elsewhere> elsewhere) {
  return [&stop, elsewhere = std::move(elsewhere)](const serve::PredictionJob& job) {
    return predict(job, elsewhere, stop);
  };
}

serve::PredictionSystems make_systems(Elsewhere elsewhere) {
  return
      [elsewhere = std::move(elsewhere)] { return elsewhere.executor.systems(elsewhere.settings); };
}

}  // namespace xsp::cli
