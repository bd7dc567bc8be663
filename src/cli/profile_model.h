// profile_model: what the word for a model on the command line stands for.
#ifndef XSP_CLI_PROFILE_MODEL_H_
#define XSP_CLI_PROFILE_MODEL_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "evaluate/frameworks.h"

namespace xsp::cli {

// What the user's word for the model stands for.
struct Model {
  std::string name;  // what the output is named after
  std::string path;  // what the adapter opens
  uint64_t bytes = 0;
};

// A model's file, or the description of one that an adapter makes up itself.
Result<Model> resolve_model(const std::string& word, const evaluate::Installation& installation);
// The layers of the model's own file. None if it is of another kind, or if it cannot be understood:
// whether it is sound is for the framework to say.
std::vector<std::pair<std::string, std::string>> layers_of(const Model& model);

}  // namespace xsp::cli

#endif  // XSP_CLI_PROFILE_MODEL_H_
