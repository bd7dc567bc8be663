// The files of a model that is stored in two files, as adapters describe them (xsp_probe.pairs).
#ifndef XSP_DESK_EXPERIMENT_MODEL_FILES_H_
#define XSP_DESK_EXPERIMENT_MODEL_FILES_H_

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace xsp::experiment {

struct ModelPair {
  std::string stem;             // the part of the name that both files share
  std::filesystem::path other;  // the file beside the named one; empty if there is none
};

// Returns the pair that the file belongs to by its name, or nothing. A pair is two endings with a
// plus between them, and # stands for digits: of the files "a-0000.params" and "a-0001.params", the
// last one belongs to "a-symbol.json" if a pair is "-symbol.json+-#.params".
std::optional<ModelPair> pair_of(const std::filesystem::path& file,
                                 const std::vector<std::string>& pairs);

}  // namespace xsp::experiment

#endif  // XSP_DESK_EXPERIMENT_MODEL_FILES_H_
