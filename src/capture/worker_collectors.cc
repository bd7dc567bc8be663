#include "capture/worker_collectors.h"

#include <dlfcn.h>

#include <algorithm>

#include "capture/worker_options.h"

namespace xsp::capture {
namespace {

std::string text_of(const char* text) { return text == nullptr ? "" : text; }

}  // namespace

Result<Collectors::Description> Collectors::load(const std::string& path, const xsp_host* host,
                                                 const std::string& why) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return not_available("collector: cannot be loaded, " + std::string(dlerror()) +
                         ": install what it needs, or build xsp again here");
  }
  Description description;
  description.collector = static_cast<const xsp_collector*>(dlsym(library, XSP_COLLECTOR_SYMBOL));
  const xsp_collector* collector = description.collector;
  if (collector == nullptr) {
    return not_available(path + ": not a collector: it has no symbol " + XSP_COLLECTOR_SYMBOL);
  }
  if (collector->abi != XSP_PLUGIN_ABI || !XSP_HAS(xsp_collector, collector, stop)) {
    return not_available(path + ": built for another version of xsp: rebuild it");
  }
  xsp_collector_probe probe{};
  probe.struct_size = sizeof probe;
  if (collector->probe(host, &probe) != XSP_OK) return not_available(why);
  description.counters = text_of(probe.counters);
  description.absent = text_of(probe.absent);
  return description;
}

Status Collectors::start(const std::vector<std::string>& paths,
                         const std::vector<std::string>& counters, uint32_t levels,
                         const xsp_host* host, const std::string& why) {
  std::vector<std::string> missing = counters;
  std::string absent;
  for (const std::string& path : paths) {
    XSP_TRY(const Description found, load(path, host, why));
    const std::vector<std::string> offered = split_list(found.counters);
    std::vector<const char*> wanted;
    for (const std::string& counter : counters) {
      const auto still = std::find(missing.begin(), missing.end(), counter);
      if (still == missing.end()) continue;
      if (std::find(offered.begin(), offered.end(), counter) == offered.end()) continue;
      wanted.push_back(counter.c_str());
      missing.erase(still);
    }
    if (!found.absent.empty()) absent += ": " + found.absent;
    const uint32_t own_levels = levels & found.collector->levels;
    if (wanted.empty() && own_levels == 0) continue;
    const xsp_collect_options options{sizeof options, own_levels, wanted.data(), wanted.size()};
    if (found.collector->start(host, &options) != XSP_OK) return not_available(why);
    running_.push_back(found.collector);
  }
  if (missing.empty()) return Ok{};
  return not_available("counter '" + missing.front() + "': no collector counts it here" + absent +
                       ": see `xsp doctor`");
}

void Collectors::stop() {
  for (const xsp_collector* collector : running_) (void)collector->stop();
  running_.clear();
}

}  // namespace xsp::capture
