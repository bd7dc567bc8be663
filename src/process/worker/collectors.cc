#include "process/worker/collectors.h"

#include <dlfcn.h>

#include <algorithm>

#include "shared/base/words.h"
#include "xsp/plugin.hpp"

namespace xsp::process {
namespace {

std::string text_of(const char* text) { return text == nullptr ? "" : text; }

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Result<xsp_collector> Collectors::find(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return not_available("collector: cannot be loaded, " + std::string(dlerror()) +
                         ": install what it needs, or build xsp again here");
  }
  const auto* entry = static_cast<const xsp_collector*>(dlsym(library, XSP_COLLECTOR_SYMBOL));
  if (entry == nullptr) {
    return not_available(path + ": not a collector: it has no symbol " + XSP_COLLECTOR_SYMBOL);
  }
  if (entry->abi != XSP_PLUGIN_ABI || !XSP_HAS(xsp_collector, entry, stop)) {
    return not_available(path + ": built for another version of xsp: rebuild it");
  }
  return whole(entry);
}

Result<Collectors::Description> Collectors::load(const std::string& path, const xsp_host* host,
                                                 const std::string& why) {
  Description description;
  XSP_TRY(description.collector, find(path));
  xsp_collector_probe probe{};
  probe.struct_size = sizeof probe;
  if (description.collector.probe(host, &probe) != XSP_OK) return not_available(why);
  description.counters = text_of(probe.counters);
  description.absent = text_of(probe.absent);
  return description;
}

bool Collectors::watches(const xsp_collector& collector, std::string_view device) {
  return collector.device == nullptr || device.substr(0, device.find(':')) == collector.device;
}

void Collectors::take_places(const WorkerOptions& options, const xsp_host* host) {
  for (const std::string& path : options.collectors) {
    const Result<xsp_collector> collector = find(path);
    if (!collector.ok() || collector->device != nullptr) continue;
    if ((collector->levels & options.levels) == 0) continue;
    xsp_collector_probe probe{};
    probe.struct_size = sizeof probe;
    (void)collector->probe(host, &probe);
  }
}

Status Collectors::start_one(const std::string& path, const WorkerOptions& options,
                             const xsp_host* host, const std::string& why,
                             std::vector<std::string>* missing, std::string* absent) {
  XSP_TRY(const xsp_collector collector, find(path));
  if (!watches(collector, options.device)) return Ok{};
  XSP_TRY(const Description found, load(path, host, why));
  std::vector<std::string> offered = split(found.counters, ',');
  const bool needs_more = std::any_of(missing->begin(), missing->end(),
                                      [&](const auto& name) { return !contains(offered, name); });
  if (needs_more && collector.counter_names != nullptr) {
    const char* names = nullptr;
    if (collector.counter_names(host, &names) != XSP_OK) return not_available(why);
    for (std::string& name : split(text_of(names), ',')) offered.push_back(std::move(name));
  }
  std::vector<const char*> wanted;
  for (const std::string& counter : options.counters) {
    if (!contains(*missing, counter) || !contains(offered, counter)) continue;
    wanted.push_back(counter.c_str());
    missing->erase(std::find(missing->begin(), missing->end(), counter));
  }
  if (!found.absent.empty()) *absent += ": " + found.absent;
  const uint32_t own_levels = options.levels & collector.levels;
  if (wanted.empty() && own_levels == 0) return Ok{};
  const xsp_collect_options collect{
      sizeof collect,         own_levels,     wanted.data(), wanted.size(),
      options.device.c_str(), options.replay, options.reuse, 0};
  if (collector.start(host, &collect) != XSP_OK) return not_available(why);
  running_.push_back(collector);
  counts_spans_ = counts_spans_ || (!wanted.empty() && collector.counting == XSP_COUNTS_SPANS);
  return Ok{};
}

Status Collectors::start(const WorkerOptions& options, const xsp_host* host,
                         const std::string& why) {
  std::vector<std::string> missing = options.counters;
  std::string absent;
  for (const std::string& path : options.collectors) {
    XSP_CHECK_OK(start_one(path, options, host, why, &missing, &absent));
  }
  if (missing.empty()) return Ok{};
  return not_available("counter '" + missing.front() + "': no collector counts it here" + absent +
                       ": see `xsp doctor`");
}

uint64_t Collectors::runs_needed() const {
  uint64_t runs = 1;
  for (const xsp_collector& collector : running_) {
    if (collector.runs_needed != nullptr) runs = std::max(runs, collector.runs_needed());
  }
  return runs;
}

void Collectors::stop() {
  for (const xsp_collector& collector : running_) (void)collector.stop();
  running_.clear();
}

}  // namespace xsp::process
