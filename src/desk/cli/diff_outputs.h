// xsp diff --run --outputs: compares what two models answer to the same inputs.
//
// Thread rule: one thread.
#ifndef XSP_DESK_CLI_DIFF_OUTPUTS_H_
#define XSP_DESK_CLI_DIFF_OUTPUTS_H_

#include <optional>
#include <string>
#include <vector>

#include "desk/cli/diff_run.h"
#include "desk/cli/output.h"
#include "shared/base/result.h"

namespace xsp::cli {

struct DiffOutputsOptions {
  bool is_wanted = false;
  int sets = 4;
  std::string data;  // a data set; empty: the inputs are made up
  std::optional<double> tolerance;
};

void add_diff_outputs_options(CLI::App& verb, CLI::Option& run, DiffOutputsOptions& options);

// Compares and prints. `table` is one table alone, or empty. Returns whether the outputs are within
// the tolerance, if the user gave one.
Result<bool> diff_outputs(const DiffOutputsOptions& options, const PairOptions& pairs,
                          const std::vector<std::string>& models, const std::string& table,
                          const OutputOptions& output);

}  // namespace xsp::cli

#endif  // XSP_DESK_CLI_DIFF_OUTPUTS_H_
