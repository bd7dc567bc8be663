// profile_model: resolves the word for a model on the command line.
#ifndef XSP_DESK_CLI_PROFILE_MODEL_H_
#define XSP_DESK_CLI_PROFILE_MODEL_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "desk/experiment/frameworks.h"
#include "shared/base/result.h"

namespace xsp::cli {

// The model that the user's word stands for.
struct Model {
  std::string name;  // the base of the output's name
  std::string path;  // path that the adapter opens
  uint64_t bytes = 0;
};

// Resolves the word to a model's file, or to a description from which an adapter builds the model.
Result<Model> resolve_model(const std::string& word, const experiment::Installation& installation);
// Returns the layers of the model's own file. Returns none if the file is of another kind or cannot
// be parsed: the framework decides whether it is valid.
std::vector<std::pair<std::string, std::string>> layers_of(const Model& model);

}  // namespace xsp::cli

#endif  // XSP_DESK_CLI_PROFILE_MODEL_H_
