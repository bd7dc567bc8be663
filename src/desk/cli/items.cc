#include "desk/cli/items.h"

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "desk/cli/profile_model.h"
#include "desk/manifest/resolve.h"
#include "desk/manifest/shipped.h"
#include "desk/predict/describe.h"
#include "process/worker/pipeline_file.h"

namespace xsp::cli {
namespace {

Result<std::optional<manifest::Manifest>> find_manifest(const std::string& word) {
  XSP_TRY(std::optional<manifest::Manifest> found, manifest_of(word));
  if (!found) {
    // A model that xsp builds is known by its name; its manifest has the same.
    auto shipped = manifest::find_manifest(word);
    if (shipped.ok()) found = std::move(*shipped);
  }
  return found;
}

Result<Items> prepare(const std::string& word, std::vector<predict::Item> items, bool answers) {
  Items result;
  XSP_TRY(std::optional<manifest::Manifest> found, find_manifest(word));
  if (!found) {
    return usage(word + ": it has no manifest that says how a file becomes its input: " +
                 "name a manifest, such as one of 'xsp models --list'");
  }
  result.manifest = std::move(*found);
  const auto say = [](const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); };
  XSP_CHECK_OK(manifest::resolve_files(&result.manifest, say));
  XSP_TRY(predict::Described described, predict::describe(result.manifest));
  if (!answers) {
    described.description.outputs.clear();
    described.outputs.clear();
  }
  for (size_t i = 0; i < described.outputs.size(); ++i) {
    const size_t output = described.outputs[i];
    XSP_TRY(result.labels.emplace_back(), manifest::labels_of(result.manifest, output, say));
    XSP_CHECK_OK(check_characters(result.manifest, output, described.answers[i],
                                  result.labels.back().size()));
    result.outputs.push_back(result.manifest.outputs[output].pipeline.name);
    result.kinds.push_back(described.answers[i].kind);
  }
  result.items = std::move(items);
  XSP_TRY(result.folder, ScratchFolder::create());
  result.pipeline = result.folder->path() / "pipeline";
  std::ofstream file(result.pipeline);
  file << process::description_text(described.description);
  file.close();
  if (!file) return failed(result.pipeline.string() + ": cannot be written: make room for it");
  return result;
}

}  // namespace

Status check_characters(const manifest::Manifest& manifest, size_t output,
                        const pipelines::Type& answer, size_t labels) {
  if (answer.kind != pipelines::Kind::kSequence || answer.dimensions[0] < 0) return Ok{};
  if (static_cast<int64_t>(labels) == answer.dimensions[0]) return Ok{};
  return usage(manifest.place_of("outputs[" + std::to_string(output) + "]") + ": its steps read " +
               std::to_string(answer.dimensions[0]) + " characters, and it has " +
               std::to_string(labels) + " labels: correct 'labels', or the step's blank and space");
}

Result<bool> has_manifest(const std::string& word) {
  XSP_TRY(const auto found, find_manifest(word));
  return found.has_value();
}

Result<bool> has_steps(const std::string& word) {
  XSP_TRY(const auto found, find_manifest(word));
  const auto steps = [](const manifest::Tensor& one) { return !one.pipeline.steps.empty(); };
  return found && !found->inputs.empty() &&
         std::all_of(found->inputs.begin(), found->inputs.end(), steps) &&
         std::any_of(found->outputs.begin(), found->outputs.end(), steps);
}

Result<Items> prepare_items(const std::string& word, std::vector<predict::Item> items) {
  return prepare(word, std::move(items), true);
}

Result<Items> prepare_inputs(const std::string& word, std::vector<predict::Item> items) {
  return prepare(word, std::move(items), false);
}

void answer_each(const Items& items, scenario::Scenario* scenario) {
  scenario->name = scenario->max_batch > 1 ? "multi" : "single";
  scenario->clients = scenario->max_batch;
  scenario->requests = static_cast<int64_t>(items.items.size());
  scenario->time_s = 0;
  scenario->explains = false;
  if (scenario->generator != scenario::kLoadgen) return;
  scenario->name = "offline";
  scenario->clients = 1;
  scenario->is_accuracy = true;
}

Result<scenario::Outcome> run_with_items(const Items& items, scenario::Scenario scenario,
                                         experiment::Request request,
                                         experiment::Listener& listener,
                                         const std::atomic<int>& stop, const LookAtAnswers& look) {
  for (const predict::Item& item : items.items) scenario.items.push_back(item.file);
  request.worker.pipeline = items.pipeline;
  const auto look_at_load =
      [&](const scenario::Load& load) -> Result<std::vector<experiment::ResultRow>> {
    XSP_TRY(const auto answers, predict::read_answers(load.outputs));
    return look(answers, load.is_interrupted);
  };
  return scenario::run_scenario(scenario, request, listener, stop,
                                look ? scenario::Look(look_at_load) : scenario::Look());
}

}  // namespace xsp::cli
