#include "desk/experiment/plan.h"

#include <algorithm>
#include <charconv>

#include "shared/base/levels.h"
#include "shared/base/nearest.h"
#include "xsp/xsp.h"

namespace xsp::experiment {
namespace {

constexpr const char* kRoofline = "roofline";
constexpr const char* kEnergy = "energy";

Result<std::vector<std::string>> split_list(const char* option, std::string_view text) {
  std::vector<std::string> parts;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find(',', start), text.size());
    const std::string_view part = text.substr(start, end - start);
    if (part.empty()) {
      return usage(std::string(option) + ": an empty item in '" + std::string(text) +
                   "': separate items by one comma each, without spaces");
    }
    parts.emplace_back(part);
    start = end + 1;
  }
  return parts;
}

}  // namespace

std::string name_of(const PlannedRun& run) {
  return levels_text(run.levels) + (run.counters.empty() ? "" : " with counters") +
         (run.batch ? ", batch " + std::to_string(*run.batch) : "");
}

Result<uint32_t> parse_levels(std::string_view text) {
  if (text == "all") return XSP_LEVELS_ALL;
  XSP_TRY(const auto names, split_list("--levels", text));
  uint32_t levels = 0;
  for (const std::string& name : names) {
    const uint32_t level = level_named(name);
    if (level == 0) {
      return usage("--levels: '" + name + "' is not a level: choose from " + kLevelChoice +
                   ", or all");
    }
    levels |= XSP_LEVEL_BIT(level);
  }
  return levels;
}

Result<std::vector<int>> parse_batches(std::string_view text) {
  XSP_TRY(const auto parts, split_list("--batch", text));
  std::vector<int> batches;
  for (const std::string& part : parts) {
    int batch = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), batch);
    if (error != std::errc() || end != part.data() + part.size() || batch < 1) {
      return usage("--batch: '" + part + "' is not a batch size: give whole numbers from 1, e.g. " +
                   "--batch 1,2,4");
    }
    if (std::find(batches.begin(), batches.end(), batch) != batches.end()) {
      return usage("--batch: " + part + " is given twice: name each batch size once");
    }
    batches.push_back(batch);
  }
  return batches;
}

Result<std::vector<std::string>> parse_counters(std::string_view text) {
  if (text == "none" || text.empty()) return std::vector<std::string>{};
  return split_list("--counters", text);
}

Result<std::string> parse_device(std::string_view text) {
  if (text == "cpu") return std::string(text);
  if (text == "cuda") return std::string("cuda:0");
  if (text == "opencl" || text == "opencl:0") return std::string("opencl:0");
  constexpr std::string_view kPrefix = "cuda:";
  unsigned number = 0;
  const char* end = text.data() + text.size();
  if (text.substr(0, kPrefix.size()) == kPrefix) {
    const auto [last, error] = std::from_chars(text.data() + kPrefix.size(), end, number);
    if (error == std::errc() && last == end) return std::string(kPrefix) + std::to_string(number);
  }
  return usage("--device: '" + std::string(text) +
               "' is not a device: say cpu, cuda, cuda:N or opencl");
}

namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Returns the first offer that counts the counter, or nullptr if none does.
const Offer* offer_of(const std::string& counter, const Capabilities& capabilities) {
  for (const Offer& offer : capabilities.offers) {
    if (contains(offer.counters, counter)) return &offer;
  }
  return nullptr;
}

// Returns whether only a GPU counts it: the operations and traffic of each kernel, and energy.
bool is_of_gpu(const std::string& counter) { return counter == kRoofline || counter == kEnergy; }

bool is_known_absent(const std::string& counter, const Capabilities& capabilities) {
  return is_of_gpu(counter) || capabilities.no_counters.find(counter) != std::string::npos;
}

// Returns the levels that can be measured. Notes the others in the plan.
Result<uint32_t> choose_levels(const Wanted& wanted, const Capabilities& capabilities, Plan* plan) {
  const uint32_t asked = wanted.levels.value_or(capabilities.default_levels);
  uint32_t levels = 0;
  for (uint32_t level = XSP_LEVEL_APPLICATION; level <= XSP_LEVEL_KERNEL; ++level) {
    if ((asked & XSP_LEVEL_BIT(level)) == 0) continue;
    const auto found = capabilities.no_levels.find(std::string(level_name(level)));
    if (found == capabilities.no_levels.end()) {
      levels |= XSP_LEVEL_BIT(level);
    } else {
      plan->not_measured.insert(*found);
    }
  }
  if (levels != 0) return levels;
  return not_available("--levels " + levels_text(asked) +
                       ": not measured: " + plan->not_measured.begin()->second +
                       ": ask for model or layer, which need nothing but the framework");
}

// Returns the counters that can be counted. Notes the others in the plan.
Result<std::vector<std::string>> choose_counters(const Wanted& wanted,
                                                 const Capabilities& capabilities, Plan* plan) {
  std::vector<std::string> counters;
  for (const std::string& name : wanted.counters.value_or(capabilities.default_counters)) {
    if (offer_of(name, capabilities) != nullptr) {
      if (!contains(counters, name)) counters.push_back(name);
    } else if (is_of_gpu(name)) {
      const auto found = capabilities.no_levels.find("kernel");
      plan->not_measured[name] = found != capabilities.no_levels.end() ? found->second
                                 : capabilities.no_counters.empty()    ? "no collector counts it"
                                                                       : capabilities.no_counters;
    } else if (is_known_absent(name, capabilities)) {
      plan->not_measured[name] = capabilities.no_counters;
    } else {
      std::vector<std::string> offered;
      for (const Offer& offer : capabilities.offers) {
        offered.insert(offered.end(), offer.counters.begin(), offer.counters.end());
      }
      return usage("--counters: '" + name + "' is not a counter: " +
                   did_you_mean(name, offered, "see 'xsp doctor' for those that there are"));
    }
  }
  return counters;
}

// Returns the levels that must be recorded: also those of the kernels' launches, if a collector can
// record them.
uint32_t with_launches(uint32_t levels, const Capabilities& capabilities) {
  const bool has_kernels = (levels & XSP_LEVEL_BIT(XSP_LEVEL_KERNEL)) != 0;
  const bool has_api = capabilities.no_levels.count("api") == 0;
  return has_kernels && has_api ? levels | XSP_LEVEL_BIT(XSP_LEVEL_API) : levels;
}

PlannedRun level_run(uint32_t levels, const Capabilities& capabilities) {
  PlannedRun run;
  run.levels = with_launches(levels, capabilities);
  for (const Offer& offer : capabilities.offers) {
    if ((offer.levels & run.levels) != 0) run.collectors.push_back(offer.path);
  }
  return run;
}

// Adds the runs for the counters of one pace. All host counters share one run; each collector of a
// device has its own.
void add_counter_runs(const std::vector<std::string>& counters, const Capabilities& capabilities,
                      std::vector<PlannedRun>* runs) {
  for (const std::string& name : counters) {
    const Offer& offer = *offer_of(name, capabilities);
    const auto same = std::find_if(runs->begin(), runs->end(), [&offer](const PlannedRun& run) {
      if (run.counters.empty() || run.pace != offer.pace) return false;
      return offer.pace == Pace::kInterleaved || run.collectors.back() == offer.path;
    });
    if (same != runs->end()) {
      same->counters.push_back(name);
      if (same->collectors.back() != offer.path) same->collectors.push_back(offer.path);
      continue;
    }
    PlannedRun run;
    run.levels = XSP_LEVEL_BIT(XSP_LEVEL_MODEL);
    // To count each span separately, a run must record all levels that tell the spans apart.
    if (offer.pace == Pace::kFew) run.levels |= XSP_LEVEL_BIT(XSP_LEVEL_LAYER) | offer.levels;
    run.counters = {name};
    run.pace = offer.pace;
    run.collectors = {offer.path};
    runs->push_back(std::move(run));
  }
}

}  // namespace

std::vector<std::string> unknown_counters(const std::vector<std::string>& names,
                                          const Capabilities& capabilities) {
  std::vector<std::string> unknown;
  for (const std::string& name : names) {
    if (offer_of(name, capabilities) == nullptr && !is_known_absent(name, capabilities)) {
      unknown.push_back(name);
    }
  }
  return unknown;
}

Result<Plan> make_plan(const Wanted& wanted, const Capabilities& capabilities) {
  Plan plan;
  XSP_TRY(uint32_t measurable, choose_levels(wanted, capabilities, &plan));
  XSP_TRY(const auto counters, choose_counters(wanted, capabilities, &plan));
  // Every deeper level is compared with the latency of the model alone.
  measurable |= XSP_LEVEL_BIT(XSP_LEVEL_MODEL);
  std::vector<PlannedRun> runs;  // runs of one batch size
  uint32_t shallower = 0;
  for (uint32_t level = XSP_LEVEL_MODEL; level <= XSP_LEVEL_KERNEL; ++level) {
    if ((measurable & XSP_LEVEL_BIT(level)) == 0) continue;
    shallower |= XSP_LEVEL_BIT(level);
    runs.push_back(level_run(shallower, capabilities));
  }
  add_counter_runs(counters, capabilities, &runs);
  std::stable_sort(runs.begin(), runs.end(),
                   [](const PlannedRun& a, const PlannedRun& b) { return a.pace < b.pace; });
  std::vector<std::optional<int>> sizes(wanted.batches.begin(), wanted.batches.end());
  if (sizes.empty()) sizes.push_back(std::nullopt);
  for (const std::optional<int>& batch : sizes) {
    for (PlannedRun run : runs) {
      run.run_id = static_cast<int>(plan.runs.size()) + 1;
      run.batch = batch;
      plan.runs.push_back(std::move(run));
    }
  }
  return plan;
}

}  // namespace xsp::experiment
