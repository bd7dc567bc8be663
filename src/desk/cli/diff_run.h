// xsp diff --run: profiles two models, or one model with different options, in one experiment.
//
// Thread rule: one thread.
#ifndef XSP_DESK_CLI_DIFF_RUN_H_
#define XSP_DESK_CLI_DIFF_RUN_H_

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "desk/cli/request.h"
#include "desk/experiment/pairs.h"
#include "shared/base/result.h"
#include "shared/base/scratch.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace xsp::cli {

inline constexpr double kPairsWidthPercent = 2;
inline constexpr double kPairsSecondsPerBatch = 120;

struct PairOptions {
  PairOptions() {
    both.width_percent = kPairsWidthPercent;
    both.seconds_per_batch = kPairsSecondsPerBatch;
  }
  RequestOptions both;  // its model and output are not used
  std::array<std::string, 2> frameworks;
  std::array<std::string, 2> devices;                         // empty: that of `both`
  std::array<std::vector<std::string>, 2> framework_options;  // in addition to those of `both`
  int pairs = experiment::kPairs;
  std::string folder;  // folder for the two files; empty: they are not kept
  bool quiet = false;
};

// Adds the options that the flag --run needs.
void add_pair_options(CLI::App& verb, CLI::Option& run, PairOptions& options);

// Returns the request of one side, 0 or 1, for the model that the user calls `model`.
RequestOptions options_of_side(const PairOptions& options, size_t side, const std::string& model);

// The two files of one experiment.
struct PairFiles {
  std::vector<std::string> files;
  std::vector<std::string> names;          // for the user: the files' names if they are kept, else
                                           // the models'
  std::unique_ptr<ScratchFolder> scratch;  // holds the files, unless they are kept
  std::optional<Error> problem;            // set if there are files, but not everything went well
  bool is_interrupted = false;
};
// Measures these models, named as the user did.
Result<PairFiles> run_pairs(const PairOptions& options, const std::vector<std::string>& models,
                            const std::string& command);

}  // namespace xsp::cli

#endif  // XSP_DESK_CLI_DIFF_RUN_H_
