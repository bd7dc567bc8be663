// xsp diff --run: two models, or one with different options, profiled in one experiment.
//
// Thread rule: one thread.
#ifndef XSP_CLI_DIFF_RUN_H_
#define XSP_CLI_DIFF_RUN_H_

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/scratch.h"
#include "cli/request.h"
#include "evaluate/pairs.h"

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
  std::array<std::vector<std::string>, 2> framework_options;  // besides those of both
  int pairs = evaluate::kPairs;
  std::string folder;  // where the two files go; empty: nowhere
  bool quiet = false;
};

// Adds the options that `run`, the flag --run, needs.
void add_pair_options(CLI::App& verb, CLI::Option& run, PairOptions& options);

// The request of one side, 0 or 1, whose model the user calls `model`.
RequestOptions options_of_side(const PairOptions& options, size_t side, const std::string& model);

// Two files that belong together.
struct PairFiles {
  std::vector<std::string> files;
  std::vector<std::string> names;          // for people: the files if they stay, else the models
  std::unique_ptr<ScratchFolder> scratch;  // holds the files, unless they stay
  std::optional<Error> problem;            // although there are files
  bool is_interrupted = false;
};
// Measures the models, which the user calls so.
Result<PairFiles> run_pairs(const PairOptions& options, const std::vector<std::string>& models,
                            const std::string& command);

}  // namespace xsp::cli

#endif  // XSP_CLI_DIFF_RUN_H_
