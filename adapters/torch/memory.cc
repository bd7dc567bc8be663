#include "adapters/torch/memory.h"

#include <algorithm>
#include <map>
#include <string>

namespace xsp::torch_adapter {
namespace {
thread_local std::map<const void*, int64_t> held_now;  // memory of the open layer
thread_local int64_t held_bytes = 0;
}  // namespace

Memory::Memory(bool spans) : spans_(spans) {
  if (!spans_) return;
  bytes_key_ = xsp_intern_key("bytes");
  total_key_ = xsp_intern_key("allocated_bytes");
}

void Memory::begin_layer() {
  held_now.clear();
  held_bytes = 0;
}

int64_t Memory::held() { return held_bytes; }

uint32_t Memory::site(bool is_release, c10::Device device) {
  const size_t place = device.is_cuda() ? static_cast<size_t>(device.index()) + 1 : 0;
  std::atomic<uint32_t>& cached =
      sites_[std::min(place, kDevices - 1) + (is_release ? kDevices : 0)];
  uint32_t site = cached.load(std::memory_order_relaxed);
  if (site != 0) return site;
  site = xsp_new_site(XSP_LEVEL_API, is_release ? "free" : "allocate", "memory");
  xsp_site_attribute(site, "pool", ("torch " + device.str()).c_str());
  cached.store(site, std::memory_order_relaxed);
  return site;
}

void Memory::report(const void* memory, int64_t bytes, double total, c10::Device device) {
  if (counts_.load(std::memory_order_relaxed)) {
    if (bytes > 0) {
      held_now[memory] = bytes;
      held_bytes += bytes;
    } else if (const auto held = held_now.find(memory); held != held_now.end()) {
      held_bytes -= held->second;
      held_now.erase(held);
    }
  }
  if (!records_.load(std::memory_order_relaxed)) return;
  xsp_value values[2] = {};
  values[0].key = bytes_key_;
  values[0].kind = XSP_VALUE_COUNTER;
  values[0].value.as_double = static_cast<double>(bytes);
  values[1].key = total_key_;
  values[1].kind = XSP_VALUE_COUNTER;
  values[1].value.as_double = total;
  xsp_complete_span span{};
  span.struct_size = sizeof span;
  span.site_id = site(bytes < 0, device);
  span.start_ns = xsp_now_ns();
  span.values = values;
  span.value_count = 2;
  if (device.is_cuda()) span.device = static_cast<uint32_t>(device.index()) + 1;
  xsp_emit(&span);
}

}  // namespace xsp::torch_adapter
