// Plan: the runs of an experiment, and the levels and counters that cannot be measured, with the
// reasons.
//
// A profiler at level n is exact for the events of level n and slows the levels above it. So there
// is a run for the level model alone, and one more for every deeper level, which includes all
// shallower ones: `model`, then `model,layer`, ... A request that cannot be measured here is
// planned as `not measured`, with its reason, and never dropped silently. A run that records
// kernels also records the calls that launched them, which connect the kernels to their layers.
// Counters have runs of their own, because counting slows the program, too: one run for the host's
// counters, and one for each collector that counts on a device.
#ifndef XSP_DESK_EXPERIMENT_PLAN_H_
#define XSP_DESK_EXPERIMENT_PLAN_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/result.h"

namespace xsp::experiment {

// Parses "model,layer", or "all". A usage error lists the valid names.
Result<uint32_t> parse_levels(std::string_view text);
// Parses "1,2,4": positive and distinct numbers, in the given order.
Result<std::vector<int>> parse_batches(std::string_view text);
// Parses "none" (an empty list), "roofline", or names of counters.
Result<std::vector<std::string>> parse_counters(std::string_view text);
// Parses "cpu", "cuda:N" or "opencl:0". "cuda" means "cuda:0". "opencl" means "opencl:0", the
// device that the framework chooses.
Result<std::string> parse_device(std::string_view text);

// The order of a run's inferences relative to other runs; see xsp_counting in plugin.h.
enum class Pace {
  kInterleaved,  // in blocks, in turns with the other runs of the batch size
  kFew,          // a few, after the other runs: their times are never reported
  kStretch       // without a pause for some seconds, after the other runs
};

struct PlannedRun {
  int run_id = 0;            // from 1
  std::optional<int> batch;  // nothing: as the model defines it
  uint32_t levels = 0;       // bits
  std::vector<std::string> counters;
  Pace pace = Pace::kInterleaved;
  std::vector<std::filesystem::path> collectors;  // the collectors that it needs
};

// Returns "model,layer with counters, batch 8", for messages.
std::string name_of(const PlannedRun& run);

struct Plan {
  std::vector<PlannedRun> runs;  // batch by batch, shallow levels first
  // The requested levels and counters that cannot be measured, by name, and why.
  std::map<std::string, std::string> not_measured;
};

// A collector that can watch runs on the device.
struct Offer {
  std::filesystem::path path;
  uint32_t levels = 0;                // bits of the levels that it can emit
  std::vector<std::string> counters;  // counters that it can count
  Pace pace = Pace::kInterleaved;     // the pace that its counters need
};

// The capabilities of this machine, for runs on one device.
struct Capabilities {
  std::map<std::string, std::string> no_levels;  // levels that cannot be measured, and why
  std::vector<Offer> offers;
  std::string no_counters;      // the counters that exist but cannot be counted, and why
  uint32_t default_levels = 0;  // bits; used if the user names no levels
  std::vector<std::string> default_counters;
};

struct Wanted {
  std::optional<uint32_t> levels;  // bits; nothing: the default ones
  std::vector<int> batches;        // empty: as the model defines it
  std::optional<std::vector<std::string>> counters;
};

// Fails with kNotAvailable if no part of the request can be measured, and with kUsage for an
// unknown counter.
Result<Plan> make_plan(const Wanted& wanted, const Capabilities& capabilities);
// Returns the names that no offer counts and that are not known to be absent. A collector with too
// many counters to list may still know them (counter_names).
std::vector<std::string> unknown_counters(const std::vector<std::string>& names,
                                          const Capabilities& capabilities);

}  // namespace xsp::experiment

#endif  // XSP_DESK_EXPERIMENT_PLAN_H_
