// Findings of `xsp doctor`: what can be measured here, or why it cannot be.
#ifndef XSP_DESK_CLI_DOCTOR_H_
#define XSP_DESK_CLI_DOCTOR_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "desk/experiment/capabilities.h"
#include "desk/experiment/frameworks.h"
#include "shared/base/result.h"

namespace xsp::cli {

inline constexpr const char* kAvailable = "available";
inline constexpr const char* kNotAvailable = "not available";
inline constexpr const char* kLimited = "limited";  // works, with the limits that the reason gives

struct Finding {
  std::string kind;  // "level", "framework", "facility", "xsp run"
  std::string name;
  std::string status;
  std::string reason;  // or, if available, a description of it
  std::string action;  // action for the user, if any
};
using Findings = std::vector<Finding>;

// Returns the collector that can emit spans of a level here, or nullptr.
const experiment::Collector* collector_of(const std::vector<experiment::Collector>& collectors,
                                          const std::string& level);

// Checks a folder that xsp writes to; `variable` names another one.
Finding folder_finding(const std::string& name, const std::filesystem::path& folder,
                       const char* variable);
// Checks the cache folder, and says how much it holds.
Finding cache_finding();
// Removes the least recently used models from it until at most so much of them is left, and prints
// them.
Status clean_models(uint64_t most_bytes);

// Checks what `xsp run` needs, by running small commands in the same way. They change the
// environment of this process, so this check comes last.
Findings findings_of_run(const experiment::Installation& installation,
                         const std::vector<experiment::Collector>& collectors);

}  // namespace xsp::cli

#endif  // XSP_DESK_CLI_DOCTOR_H_
