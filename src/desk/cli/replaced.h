// Replaced: the rule by which a verb may replace a file that is at its output's place. An input is
// never replaced. Other files are replaced if xsp wrote them, or if the user gives --force.
//
// Thread rule: any thread.
#ifndef XSP_DESK_CLI_REPLACED_H_
#define XSP_DESK_CLI_REPLACED_H_

#include <filesystem>
#include <string>
#include <vector>

#include "shared/base/result.h"

namespace CLI {
class App;
}

namespace xsp::cli {

// A file that a verb is about to write.
struct Place {
  enum class Kind { kEvaluation, kPage };
  std::filesystem::path output;
  Kind kind = Kind::kEvaluation;
  std::vector<std::filesystem::path>
      inputs;  // files that the verb reads; absent ones do not matter
  bool is_forced = false;
};

// Returns a clause about what the output will replace, such as " in place of an evaluation of
// resnet50, 2026-11-25 21:40 UTC"; empty: there is nothing. Fails if the verb must not write there.
Result<std::string> replaced_by(const Place& place);

// Adds the option --force to a verb. `is_forced` must outlive it.
void add_force(CLI::App& verb, bool& is_forced);

}  // namespace xsp::cli

#endif  // XSP_DESK_CLI_REPLACED_H_
