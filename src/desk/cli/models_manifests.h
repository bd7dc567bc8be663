// The part of `xsp models` about manifests: it lists, shows, checks and imports them.
#ifndef XSP_DESK_CLI_MODELS_MANIFESTS_H_
#define XSP_DESK_CLI_MODELS_MANIFESTS_H_

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json.hpp>

#include "desk/cli/output.h"
#include "desk/manifest/manifest.h"
#include "shared/base/result.h"

namespace xsp::cli {

// Returns where the model's file comes from: "package magika 1.0.3", "zoo resnet50".
std::string source_text(const manifest::Source& source);
// Appends the manifests to the list of models, except those of the zoo, which are in it. The zoo's
// models get what their manifests say.
void add_manifests(nlohmann::ordered_json* list);
// Returns the manifests of models that the zoo does not build, as a table.
Sheet manifests_sheet();
// Warns about manifests that cannot be read.
void warn_about_manifests();

// Adds the verbs show, check and import to `xsp models`.
void add_manifest_verbs(CLI::App& models, const std::function<void(const Status&)>& finish);

}  // namespace xsp::cli

#endif  // XSP_DESK_CLI_MODELS_MANIFESTS_H_
