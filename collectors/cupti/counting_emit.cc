#include "collectors/cupti/counting_emit.h"

#include <algorithm>
#include <cmath>

#include "collectors/cupti/api_calls.h"

namespace xsp::cupti {
namespace {

bool has(uint32_t levels, uint32_t level) { return (levels & XSP_LEVEL_BIT(level)) != 0; }

}  // namespace

CountingEmitter::CountingEmitter(uint32_t levels, const std::vector<std::string>& counters,
                                 KernelSites* sites)
    : levels_(levels), sites_(sites), reused_key_(xsp_intern_key("counters_reused")) {
  for (const std::string& counter : counters) keys_.push_back(xsp_intern_key(counter.c_str()));
}

void CountingEmitter::emit(const Launches& names, const std::vector<Launch>& launches,
                           const std::vector<Counted>& counted) {
  for (size_t i = 0; i < launches.size(); ++i) {
    const KernelKey& key = names.key(launches[i].kernel);
    if (has(levels_, XSP_LEVEL_API)) emit_call(launches[i], key.is_graph());
    if (has(levels_, XSP_LEVEL_KERNEL) && !key.is_graph())
      emit_kernel(key, launches[i], counted[i]);
  }
}

void CountingEmitter::emit_call(const Launch& launch, bool is_graph) {
  uint32_t& site = call_sites_[{launch.api, is_graph}];
  if (site == 0) {
    site = xsp_intern_site(XSP_LEVEL_API, plain_name(launch.api).c_str(),
                           is_graph ? "graph_launch" : "launch");
  }
  xsp_complete_span span{};
  span.struct_size = sizeof span;
  span.site_id = site;
  span.thread = launch.thread;
  span.start_ns = launch.start_ns;
  span.duration_ns = launch.end_ns - launch.start_ns;
  span.correlation_id = launch.correlation_id;
  xsp_emit(&span);
}

void CountingEmitter::emit_kernel(const KernelKey& key, const Launch& launch,
                                  const Counted& counted) {
  int64_t& busy_until_ns = busy_until_ns_[{launch.device, launch.stream}];
  std::vector<xsp_value> values;
  if (counted.values != nullptr) {
    for (size_t i = 0; i < keys_.size(); ++i) {
      if (std::isnan((*counted.values)[i])) continue;  // CUPTI returns NaN if there is no value
      xsp_value value{keys_[i], XSP_VALUE_COUNTER, {}};
      value.value.as_double = (*counted.values)[i];
      values.push_back(value);
    }
  }
  if (counted.is_reused) {
    xsp_value value{reused_key_, XSP_VALUE_INT, {}};
    value.value.as_int = static_cast<int64_t>(keys_.size());
    values.push_back(value);
  }
  Geometry geometry;
  std::copy(key.grid.begin(), key.grid.end(), geometry.grid);
  std::copy(key.block.begin(), key.block.end(), geometry.block);
  geometry.dynamic_shared_bytes = key.shared_bytes;
  geometry.registers = key.registers;
  geometry.static_shared_bytes = key.static_shared_bytes;
  xsp_complete_span span{};
  span.struct_size = sizeof span;
  span.site_id = sites_->site_of(key.mangled, geometry, launch.device);
  span.thread = launch.thread;
  span.start_ns = std::max(launch.start_ns, busy_until_ns);
  span.duration_ns = std::isfinite(counted.duration_ns) ? std::llround(counted.duration_ns) : 0;
  span.correlation_id = launch.correlation_id;
  span.device = launch.device + 1;
  span.stream = launch.stream + 1;
  span.values = values.data();
  span.value_count = values.size();
  busy_until_ns = span.start_ns + span.duration_ns;
  xsp_emit(&span);
}

}  // namespace xsp::cupti
