// Pair: two open models that answer the same inputs.
#ifndef XSP_DESK_DIVERGENCE_PAIR_H_
#define XSP_DESK_DIVERGENCE_PAIR_H_

#include <array>
#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "desk/divergence/divergence.h"
#include "desk/experiment/worker.h"
#include "shared/base/result.h"

namespace xsp::divergence {

class Pair {
 public:
  // Opens both models, whose files are `models`. All files go into `folder`.
  static Result<std::unique_ptr<Pair>> open(const Settings& settings,
                                            const std::array<std::string, 2>& models,
                                            const std::filesystem::path& folder,
                                            const std::atomic<int>& stop);
  // Returns the names of a side's outputs. Those of a model that does not describe them are
  // "output 0", "output 1", ...
  const std::vector<std::string>& outputs(size_t side) const { return names_[side]; }
  // Lets both answer all inputs of the settings, and adds the differences of the tensors that are
  // to be compared, each of which is an output of both.
  Status compare(const Settings& settings, std::vector<Compared>* tensors);
  Status finish();

 private:
  explicit Pair(std::filesystem::path folder) : folder_(std::move(folder)) {}

  using Files = std::vector<std::filesystem::path>;
  // Lets both answer these inputs, whose name is for people.
  Status compare_set(const Files& inputs, const std::string& name, std::vector<Compared>* tensors);
  // Names the outputs. A model that does not describe them is run once, to count them.
  Status name_outputs(size_t side);

  std::filesystem::path folder_;
  std::array<std::vector<std::string>, 2> names_;
  std::array<std::unique_ptr<experiment::Worker>, 2> workers_;
};

}  // namespace xsp::divergence

#endif  // XSP_DESK_DIVERGENCE_PAIR_H_
