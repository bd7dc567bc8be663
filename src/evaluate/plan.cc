#include "evaluate/plan.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/nearest.h"
#include "xsp/xsp.h"

namespace xsp::evaluate {
namespace {

constexpr std::array<std::string_view, 7> kLevelNames = {"",        "application", "model", "layer",
                                                         "library", "api",         "kernel"};

constexpr const char* kRoofline = "roofline";

Result<std::vector<std::string>> split(const char* option, std::string_view text) {
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

std::string_view level_name(uint32_t level) {
  return level < kLevelNames.size() ? kLevelNames[level] : std::string_view{};
}

std::string levels_text(uint32_t levels) {
  std::string text;
  for (uint32_t level = 1; level < kLevelNames.size(); ++level) {
    if ((levels & XSP_LEVEL_BIT(level)) == 0) continue;
    if (!text.empty()) text += ',';
    text += kLevelNames[level];
  }
  return text;
}

Result<uint32_t> parse_levels(std::string_view text) {
  if (text == "all") return XSP_LEVELS_ALL;
  XSP_TRY(const auto names, split("--levels", text));
  uint32_t levels = 0;
  for (const std::string& name : names) {
    const auto found = std::find(kLevelNames.begin() + 1, kLevelNames.end(), name);
    if (found == kLevelNames.end()) {
      return usage("--levels: '" + name +
                   "' is not a level: choose from application, model, layer, library, api, "
                   "kernel, or all");
    }
    levels |= XSP_LEVEL_BIT(static_cast<uint32_t>(found - kLevelNames.begin()));
  }
  return levels;
}

Result<std::vector<int>> parse_batches(std::string_view text) {
  XSP_TRY(const auto parts, split("--batch", text));
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
  return split("--counters", text);
}

namespace {

// Sets the levels that can be measured, and notes the others.
Status choose_levels(uint32_t wanted, const Capabilities& capabilities, uint32_t* levels,
                     Plan* plan) {
  for (uint32_t level = 1; level < kLevelNames.size(); ++level) {
    if ((wanted & XSP_LEVEL_BIT(level)) == 0) continue;
    const auto found = capabilities.no_levels.find(std::string(level_name(level)));
    if (found == capabilities.no_levels.end()) {
      *levels |= XSP_LEVEL_BIT(level);
    } else {
      plan->not_measured.insert(*found);
    }
  }
  if (*levels != 0) return Ok{};
  return not_available("--levels " + levels_text(wanted) +
                       ": not measured: " + plan->not_measured.begin()->second +
                       ": ask for model or layer, which need nothing but the framework");
}

Status choose_counters(const std::vector<std::string>& wanted, const Capabilities& capabilities,
                       std::vector<std::string>* counters, Plan* plan) {
  const std::vector<std::string>& offered = capabilities.counters;
  for (const std::string& name : wanted) {
    if (std::find(offered.begin(), offered.end(), name) != offered.end()) {
      counters->push_back(name);
    } else if (name == kRoofline) {
      // Operations and traffic of each kernel, which only a GPU counts.
      const auto found = capabilities.no_levels.find("kernel");
      const bool has_kernels = found == capabilities.no_levels.end();
      plan->not_measured[name] = has_kernels ? "no collector counts it" : found->second;
    } else if (capabilities.no_counters.find(name) != std::string::npos) {
      plan->not_measured[name] = capabilities.no_counters;
    } else {
      return usage("--counters: '" + name + "' is not a counter: " +
                   did_you_mean(name, offered, "see 'xsp doctor' for those that there are"));
    }
  }
  return Ok{};
}

}  // namespace

Result<Plan> make_plan(uint32_t levels, const std::vector<int>& batches,
                       const std::vector<std::string>& counters, const Capabilities& capabilities) {
  Plan plan;
  uint32_t measurable = 0;
  XSP_CHECK_OK(choose_levels(levels, capabilities, &measurable, &plan));
  std::vector<std::string> countable;
  XSP_CHECK_OK(choose_counters(counters, capabilities, &countable, &plan));
  // Every deeper level is compared with the model's own latency.
  measurable |= XSP_LEVEL_BIT(XSP_LEVEL_MODEL);
  std::vector<std::optional<int>> sizes(batches.begin(), batches.end());
  if (sizes.empty()) sizes.push_back(std::nullopt);
  int run_id = 0;
  for (const std::optional<int>& batch : sizes) {
    uint32_t shallower = 0;
    for (uint32_t level = XSP_LEVEL_MODEL; level < kLevelNames.size(); ++level) {
      if ((measurable & XSP_LEVEL_BIT(level)) == 0) continue;
      shallower |= XSP_LEVEL_BIT(level);
      plan.runs.push_back({++run_id, batch, shallower, {}});
    }
    if (countable.empty()) continue;
    plan.runs.push_back({++run_id, batch, XSP_LEVEL_BIT(XSP_LEVEL_MODEL), countable});
  }
  return plan;
}

}  // namespace xsp::evaluate
