// The capabilities of this machine, as its collectors report them.
#ifndef XSP_DESK_EXPERIMENT_CAPABILITIES_H_
#define XSP_DESK_EXPERIMENT_CAPABILITIES_H_

#include <string>
#include <vector>

#include "desk/experiment/frameworks.h"
#include "desk/experiment/plan.h"
#include "desk/machine/gpu.h"

namespace xsp::experiment {

// Returns the device that a model runs on if the user names none: the device of the adapter's
// option `target`, if the framework has it; else the first GPU, if the machine has one and the
// framework can use it; else "cpu".
std::string default_device(const Probe& framework, const machine::Gpu& gpu,
                           const std::vector<std::pair<std::string, std::string>>& options);

// Fails if this machine has no such device.
Status check_device(const std::string& device, const machine::Gpu& gpu);

// Returns the capabilities for runs on `device`, from the collectors' answers to a probe for it.
Capabilities capabilities_of(const std::vector<Collector>& collectors, const std::string& device,
                             const machine::Gpu& gpu);

// Returns the collectors that can watch the device itself: its attributes, its state, its ceilings.
std::vector<std::filesystem::path> monitors_of(const std::vector<Collector>& collectors);

// Adds the counters that collectors leave out of their probe because they are many. Does so only if
// a wanted counter is not known yet.
Status add_counter_names(const Installation& installation, const std::vector<std::string>& wanted,
                         Capabilities* capabilities, const std::atomic<int>& stop);

// Returns why a level cannot be measured on `device`, or an empty string if it can. `level` is the
// name of the level.
std::string why_no_level(const std::string& level, const std::vector<Collector>& collectors,
                         const std::string& device, const machine::Gpu& gpu);

}  // namespace xsp::experiment

#endif  // XSP_DESK_EXPERIMENT_CAPABILITIES_H_
