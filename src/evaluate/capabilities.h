// Capabilities of this machine, as its collectors tell them.
#ifndef XSP_EVALUATE_CAPABILITIES_H_
#define XSP_EVALUATE_CAPABILITIES_H_

#include <string>
#include <vector>

#include "evaluate/frameworks.h"
#include "evaluate/gpu.h"
#include "evaluate/plan.h"

namespace xsp::evaluate {

// The device that a model runs on unless the user says: what the adapter's option `target` names,
// if the framework has such a device, else the first GPU, if the machine has one and the framework
// can use it; else "cpu".
std::string default_device(const Probe& framework, const Gpu& gpu,
                           const std::vector<std::pair<std::string, std::string>>& options);

// Fails if there is no such device here.
Status check_device(const std::string& device, const Gpu& gpu);

// Of runs on `device`, from what the collectors said when they were probed for it.
Capabilities capabilities_of(const std::vector<Collector>& collectors, const std::string& device,
                             const Gpu& gpu);

// Those that watch the device itself, and can: what it is, its state, its ceilings.
std::vector<std::filesystem::path> monitors_of(const std::vector<Collector>& collectors);

// Adds the names that collectors keep to themselves because they are many, if a wanted counter is
// not known without them.
Status add_counter_names(const Installation& installation, const std::vector<std::string>& wanted,
                         Capabilities* capabilities, const std::atomic<int>& stop);

// Why a level cannot be measured on `device`; empty: it can. `level`: its name.
std::string why_no_level(const std::string& level, const std::vector<Collector>& collectors,
                         const std::string& device, const Gpu& gpu);

}  // namespace xsp::evaluate

#endif  // XSP_EVALUATE_CAPABILITIES_H_
