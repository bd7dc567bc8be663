// Items: files that a model answers, with the steps of its manifest.
//
// Thread rule: one thread.
#ifndef XSP_DESK_CLI_ITEMS_H_
#define XSP_DESK_CLI_ITEMS_H_

#include <memory>
#include <string>
#include <vector>

#include "desk/cli/request.h"
#include "desk/manifest/manifest.h"
#include "desk/predict/answers.h"
#include "desk/predict/dataset.h"
#include "desk/scenario/scenario.h"
#include "shared/base/result.h"
#include "shared/base/scratch.h"

namespace xsp::cli {

struct Items {
  manifest::Manifest manifest;
  std::vector<predict::Item> items;
  predict::Labels labels;                 // of each output that has steps
  std::vector<std::string> outputs;       // their names
  std::vector<pipelines::Kind> kinds;     // of their answers; kNothing: known to the worker alone
  std::unique_ptr<ScratchFolder> folder;  // of the file of the steps, which the worker reads
  std::filesystem::path pipeline;
};

// Returns whether the word is a model with a manifest, its own or one that is shipped.
Result<bool> has_manifest(const std::string& word);
// Returns whether its manifest says by steps how a request becomes each input, and how an answer is
// made.
Result<bool> has_steps(const std::string& word);
// Fails if the labels, of which a sequence makes a text, are not as many as its classes. `answer`
// is what the output's steps give.
Status check_characters(const manifest::Manifest& manifest, size_t output,
                        const pipelines::Type& answer, size_t labels);
// Checks the manifest's steps, and gets the files that they name. `word` names the manifest.
Result<Items> prepare_items(const std::string& word, std::vector<predict::Item> items);
// The same for the inputs alone: no answers are made of the outputs, which may have other names.
Result<Items> prepare_inputs(const std::string& word, std::vector<predict::Item> items);
// Lets each item be answered once, in groups of `scenario->max_batch`, however long it takes.
void answer_each(const Items& items, scenario::Scenario* scenario);
// Runs the scenario with the items. `look` sees the answers, ordered by item; to all items, unless
// the user interrupted.
using LookAtAnswers = std::function<Result<std::vector<experiment::ResultRow>>(
    const std::vector<process::OutputAnswer>& answers, bool is_interrupted)>;
Result<scenario::Outcome> run_with_items(const Items& items, scenario::Scenario scenario,
                                         experiment::Request request,
                                         experiment::Listener& listener,
                                         const std::atomic<int>& stop, const LookAtAnswers& look);

}  // namespace xsp::cli

#endif  // XSP_DESK_CLI_ITEMS_H_
