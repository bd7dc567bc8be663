// profile_model: resolves the word for a model on the command line.
#ifndef XSP_DESK_CLI_PROFILE_MODEL_H_
#define XSP_DESK_CLI_PROFILE_MODEL_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "desk/experiment/frameworks.h"
#include "desk/manifest/manifest.h"
#include "shared/base/result.h"

namespace xsp::cli {

// The model that the user's word stands for.
struct Model {
  std::string name;       // the base of the output's name
  bool is_named = false;  // the name is not made of the file's name
  std::string path;       // path that the adapter opens
  uint64_t bytes = 0;
  std::optional<manifest::Manifest> manifest;  // if the word was a manifest
  std::string framework;                       // the only one that opens it; empty: any
  std::vector<std::string> inputs;             // its example inputs, as --input takes them
  // Writes the file for a batch size, where a file is of one; absent: `path` is of all.
  std::function<Result<std::string>(int)> path_of_batch;
};

// Returns the manifest that the word names: its file, or its name, unless a file or a model of the
// zoo has that name.
Result<std::optional<manifest::Manifest>> manifest_of(const std::string& word);
// Resolves the word to a model's file, or to a description from which an adapter builds the model.
// A manifest, by its file or by its name, stands for the file that it names, which may be fetched,
// or exported. Python code ("net.py:build") stands for the file that its framework makes of it.
// `wanted` is the framework for which a file is exported or made; empty: the one that the manifest
// names, or that the code uses.
Result<Model> resolve_model(const std::string& word, const experiment::Installation& installation,
                            const std::string& wanted);
// Returns the error of a word that is no model; it names the model that may have been meant.
Error unknown_model(const std::string& word, const std::string& why);
// Fails, as resolve_model() does, if the word is no model. Fetches, makes and builds nothing.
Status check_model_word(const std::string& word, const experiment::Installation& installation);
// Writes a model of the zoo in a format that the framework opens, if it does not open the file that
// resolve_model found. A format in which the batch is fixed has a file for each batch size, of
// which that for `batch` is written now.
Status fit_zoo_model(const experiment::Probe& framework, int batch, Model* model);
// Completes a model that is stored in two files, as the framework does that: its size is that of
// both, and its name is what both names begin with.
void add_second_file(const experiment::Probe& framework, Model* model);
// Refuses a framework of another version than the model's manifest wants.
Status check_framework(const Model& model, const experiment::Probe& framework);
// Returns the layers of the model's own file. Returns none if the file is of another kind or cannot
// be parsed: the framework decides whether it is valid.
std::vector<std::pair<std::string, std::string>> layers_of(const Model& model);

}  // namespace xsp::cli

#endif  // XSP_DESK_CLI_PROFILE_MODEL_H_
