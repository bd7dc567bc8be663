// Plan: which runs an experiment consists of, and what it cannot measure, and why.
//
// A profiler at level n is exact for the events of level n and slows the levels above it. So there
// is a run for the level model alone, and one more for every deeper level, which includes all
// shallower ones: `model`, then `model,layer`, ... What is asked for and cannot be measured here is
// planned as `not measured`, with its reason, never dropped silently. A run that records kernels
// records the calls that launched them as well, which tie them to their layers. Counters have runs
// of their own, as counting disturbs too: one for those of the host, one for each collector that
// counts on a device.
#ifndef XSP_EVALUATE_PLAN_H_
#define XSP_EVALUATE_PLAN_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace xsp::evaluate {

// "model,layer", or "all"; an Error of usage says which names there are.
Result<uint32_t> parse_levels(std::string_view text);
// "1,2,4": positive, no two alike, in the order given.
Result<std::vector<int>> parse_batches(std::string_view text);
// "none" (an empty list), "roofline", or names of counters.
Result<std::vector<std::string>> parse_counters(std::string_view text);
// "cpu", "cuda:N" or "opencl:0"; "cuda" is "cuda:0", "opencl" the one that the framework takes,
// "opencl:0".
Result<std::string> parse_device(std::string_view text);

// How the inferences of a run follow each other; see xsp_counting in plugin.h.
enum class Pace {
  kInterleaved,  // in blocks, in turns with the other runs of the batch size
  kFew,          // a few, after the others: their times are never quoted
  kStretch       // without a pause for some seconds, after the others
};

struct PlannedRun {
  int run_id = 0;            // from 1
  std::optional<int> batch;  // nothing: as the model has it
  uint32_t levels = 0;       // bits
  std::vector<std::string> counters;
  Pace pace = Pace::kInterleaved;
  std::vector<std::filesystem::path> collectors;  // that it needs
};

// "model,layer with counters, batch 8", for messages.
std::string name_of(const PlannedRun& run);

struct Plan {
  std::vector<PlannedRun> runs;  // batch by batch, shallow levels first
  // What was asked for and cannot be had: a level's or a counter's name, and why.
  std::map<std::string, std::string> not_measured;
};

// A collector that can watch runs on the device.
struct Offer {
  std::filesystem::path path;
  uint32_t levels = 0;                // bits, that it can emit
  std::vector<std::string> counters;  // that it can count
  Pace pace = Pace::kInterleaved;     // that its counters need
};

// What this machine offers, for runs on one device.
struct Capabilities {
  std::map<std::string, std::string> no_levels;  // levels that cannot be measured, and why
  std::vector<Offer> offers;
  std::string no_counters;      // which counters there would be, and why not
  uint32_t default_levels = 0;  // bits, of a user who does not say
  std::vector<std::string> default_counters;
};

struct Wanted {
  std::optional<uint32_t> levels;  // bits; nothing: the default ones
  std::vector<int> batches;        // empty: as the model has it
  std::optional<std::vector<std::string>> counters;
};

// Fails with kNotAvailable if nothing of what was asked for can be measured, with kUsage for a
// counter that nobody has heard of.
Result<Plan> make_plan(const Wanted& wanted, const Capabilities& capabilities);
// Those of the names that none of the offers counts, nor is known to be absent: maybe a collector
// knows them that has too many to tell (counter_names).
std::vector<std::string> unknown_counters(const std::vector<std::string>& names,
                                          const Capabilities& capabilities);

}  // namespace xsp::evaluate

#endif  // XSP_EVALUATE_PLAN_H_
