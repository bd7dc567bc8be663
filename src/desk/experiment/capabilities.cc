#include "desk/experiment/capabilities.h"

#include <algorithm>

#include "shared/base/levels.h"
#include "xsp/plugin.h"

namespace xsp::experiment {
namespace {

constexpr const char* kEnergy = "energy";
constexpr const char* kTargetOption = "target";

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Returns "cuda" for "cuda:1".
std::string kind_of(const std::string& device) { return device.substr(0, device.find(':')); }

Pace pace_of(int counting) {
  switch (counting) {
    case XSP_COUNTS_SPANS:
      return Pace::kFew;
    case XSP_COUNTS_TIME:
      return Pace::kStretch;
    default:
      return Pace::kInterleaved;
  }
}

void add_text(std::string* text, const std::string& more) {
  if (more.empty()) return;
  *text += (text->empty() ? "" : "; ") + more;
}

}  // namespace

std::string default_device(const Probe& framework, const machine::Gpu& gpu,
                           const std::vector<std::pair<std::string, std::string>>& options) {
  for (const auto& [key, value] : options) {
    if (key != kTargetOption || !contains(framework.devices, value)) continue;
    if (const auto device = parse_device(value); device.ok()) return *device;
  }
  return gpu.count > 0 && contains(framework.devices, "cuda") ? "cuda:0" : "cpu";
}

Status check_device(const std::string& device, const machine::Gpu& gpu) {
  if (kind_of(device) != "cuda") return Ok{};  // the adapter knows the other devices
  if (gpu.count == 0) {
    return not_available("--device " + device + ": " + gpu.reason +
                         ": leave --device out to measure on the CPU");
  }
  const size_t colon = device.find(':');
  if (std::stoul(device.substr(colon + 1)) < static_cast<unsigned long>(gpu.count)) return Ok{};
  return not_available("--device " + device + ": there is no such GPU: the last one is cuda:" +
                       std::to_string(gpu.count - 1));
}

std::string why_no_level(const std::string& level, const std::vector<Collector>& collectors,
                         const std::string& device, const machine::Gpu& gpu) {
  if (level == "model" || level == "layer") return {};
  if (level == "application") return "xsp profile runs the model alone, without an application";
  std::string reason;
  for (const Collector& collector : collectors) {
    if (!collector.probe.ok() || !contains(collector.probe->levels, level)) continue;
    if (collector.probe->unavailable.empty()) return {};
    const std::string& watched = collector.probe->device;
    if (watched.empty() || watched == kind_of(device)) reason = collector.probe->unavailable;
  }
  if (kind_of(device) != "opencl" && gpu.count == 0) return gpu.reason;
  if (device == "cpu") return "no GPU: the model runs on the CPU";
  return reason.empty() ? "no collector of this build records it" : reason;
}

Capabilities capabilities_of(const std::vector<Collector>& collectors, const std::string& device,
                             const machine::Gpu& gpu) {
  Capabilities capabilities;
  for (uint32_t level = XSP_LEVEL_APPLICATION; level <= XSP_LEVEL_KERNEL; ++level) {
    const std::string name(level_name(level));
    const std::string why = why_no_level(name, collectors, device, gpu);
    if (!why.empty()) capabilities.no_levels[name] = why;
  }
  for (const Collector& collector : collectors) {
    if (!collector.probe.ok()) {
      add_text(&capabilities.no_counters, collector.probe.error().text);
      continue;
    }
    const CollectorProbe& probe = *collector.probe;
    if (!probe.unavailable.empty()) {
      // Collectors of another device are not mentioned.
      const bool is_ours = probe.device == kind_of(device);
      if (is_ours) add_text(&capabilities.no_counters, probe.name + ": " + probe.unavailable);
      continue;
    }
    add_text(&capabilities.no_counters, probe.absent);
    Offer offer{collector.path, 0, probe.counters, pace_of(probe.counting)};
    for (const std::string& level : probe.levels) {
      if (const auto bits = parse_levels(level); bits.ok()) offer.levels |= *bits;
    }
    if (contains(probe.counters, kEnergy)) capabilities.default_counters = {kEnergy};
    capabilities.offers.push_back(std::move(offer));
  }
  capabilities.default_levels = XSP_LEVEL_BIT(XSP_LEVEL_MODEL) | XSP_LEVEL_BIT(XSP_LEVEL_LAYER);
  if (device != "cpu") {
    capabilities.default_levels |= XSP_LEVEL_BIT(XSP_LEVEL_API) | XSP_LEVEL_BIT(XSP_LEVEL_KERNEL);
  }
  return capabilities;
}

std::vector<std::filesystem::path> monitors_of(const std::vector<Collector>& collectors) {
  std::vector<std::filesystem::path> monitors;
  for (const Collector& collector : collectors) {
    if (!collector.probe.ok() || collector.probe->device.empty()) continue;
    if (collector.probe->unavailable.empty()) monitors.push_back(collector.path);
  }
  return monitors;
}

Status add_counter_names(const Installation& installation, const std::vector<std::string>& wanted,
                         Capabilities* capabilities, const std::atomic<int>& stop) {
  for (Offer& offer : capabilities->offers) {
    if (unknown_counters(wanted, *capabilities).empty()) break;
    XSP_TRY(auto names, counter_names(installation, offer.path, stop));
    offer.counters.insert(offer.counters.end(), std::make_move_iterator(names.begin()),
                          std::make_move_iterator(names.end()));
  }
  return Ok{};
}

}  // namespace xsp::experiment
