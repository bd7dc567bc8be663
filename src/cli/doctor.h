// Findings of `xsp doctor`: what can be measured here, and if not, why not.
#ifndef XSP_CLI_DOCTOR_H_
#define XSP_CLI_DOCTOR_H_

#include <string>
#include <vector>

#include "evaluate/capabilities.h"
#include "evaluate/frameworks.h"

namespace xsp::cli {

inline constexpr const char* kAvailable = "available";
inline constexpr const char* kNotAvailable = "not available";
inline constexpr const char* kLimited = "limited";  // works, with what the reason says

struct Finding {
  std::string kind;  // "level", "framework", "facility", "xsp run"
  std::string name;
  std::string status;
  std::string reason;  // or, if available, what is there
  std::string action;  // what to do, if anything
};
using Findings = std::vector<Finding>;

// The collector that can emit spans of a level here; nullptr: none.
const evaluate::Collector* collector_of(const std::vector<evaluate::Collector>& collectors,
                                        const std::string& level);

// What `xsp run` needs, found by running small commands as it does. They change the environment of
// this process, so this comes last.
Findings findings_of_run(const evaluate::Installation& installation,
                         const std::vector<evaluate::Collector>& collectors);

}  // namespace xsp::cli

#endif  // XSP_CLI_DOCTOR_H_
