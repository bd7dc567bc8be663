// Plan: which runs an experiment consists of, and what it cannot measure, and why.
//
// A profiler at level n is exact for the events of level n and slows the levels above it. So there
// is a run for the level model alone, and one more for every deeper level, which includes all
// shallower ones: `model`, then `model,layer`, ... What is asked for and cannot be measured here is
// planned as `not measured`, with its reason, never dropped silently. Counters have a run of their
// own, as counting disturbs too.
#ifndef XSP_EVALUATE_PLAN_H_
#define XSP_EVALUATE_PLAN_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace xsp::evaluate {

// The name of a level of xsp.h, and the text of a set of its bits: "model,layer".
std::string_view level_name(uint32_t level);
std::string levels_text(uint32_t levels);
// "model,layer", or "all"; an Error of usage says which names there are.
Result<uint32_t> parse_levels(std::string_view text);
// "1,2,4": positive, no two alike, in the order given.
Result<std::vector<int>> parse_batches(std::string_view text);
// "none" (an empty list), "roofline", or names of counters.
Result<std::vector<std::string>> parse_counters(std::string_view text);

struct PlannedRun {
  int run_id = 0;            // from 1
  std::optional<int> batch;  // nothing: as the model has it
  uint32_t levels = 0;       // bits
  std::vector<std::string> counters;
};

struct Plan {
  std::vector<PlannedRun> runs;  // batch by batch, shallow levels first
  // What was asked for and cannot be had: a level's or a counter's name, and why.
  std::map<std::string, std::string> not_measured;
};

// What this machine offers.
struct Capabilities {
  std::map<std::string, std::string> no_levels;  // levels that cannot be measured, and why
  std::vector<std::string> counters;             // that can be counted
  std::string no_counters;                       // which others there would be, and why not
};

// Fails with kNotAvailable if nothing of what was asked for can be measured, with kUsage for a
// counter that nobody has heard of.
Result<Plan> make_plan(uint32_t levels, const std::vector<int>& batches,
                       const std::vector<std::string>& counters, const Capabilities& capabilities);

}  // namespace xsp::evaluate

#endif  // XSP_EVALUATE_PLAN_H_
