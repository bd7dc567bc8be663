#include "collectors/cupti/memory.h"

#include <cstdio>

namespace xsp::cupti {
namespace {

std::string pool_name(const CUpti_ActivityMemory4& record) {
  if (record.memoryPoolConfig.address != 0) {
    char text[32];
    std::snprintf(text, sizeof text, "pool 0x%llx",
                  static_cast<unsigned long long>(record.memoryPoolConfig.address));
    return text;
  }
  switch (record.memoryKind) {
    case CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE:
      return "pageable";
    case CUPTI_ACTIVITY_MEMORY_KIND_PINNED:
      return "pinned";
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
      return "device";
    case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY:
      return "array";
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC:
      return "managed";
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC:
      return "device static";
    default:
      return "unknown";
  }
}

}  // namespace

MemoryEvent Memory::follow(const CUpti_ActivityMemory4& record) {
  MemoryEvent event;
  event.is_allocation =
      record.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
  event.pool = pool_name(record);
  const bool is_on_device = record.memoryKind != CUPTI_ACTIVITY_MEMORY_KIND_PINNED &&
                            record.memoryKind != CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
  if (is_on_device) event.pool += " of cuda:" + std::to_string(record.deviceId);
  event.time_ns = record.timestamp;
  event.correlation_id = record.correlationId;
  uint64_t bytes = record.bytes;
  if (event.is_allocation) {
    sizes_[record.address] = bytes;
  } else if (const auto known = sizes_.find(record.address); known != sizes_.end()) {
    bytes = known->second;
    sizes_.erase(known);
  }
  event.bytes = event.is_allocation ? static_cast<int64_t>(bytes) : -static_cast<int64_t>(bytes);
  int64_t& total = totals_[event.pool];
  total += event.bytes;
  if (total < 0) total = 0;
  event.total_bytes = total;
  return event;
}

uint32_t Callers::thread_of(uint32_t correlation_id) const {
  const auto found = threads_.find(correlation_id);
  return found == threads_.end() ? 0 : found->second;
}

void Callers::remember(uint32_t correlation_id, uint32_t thread) {
  if (!threads_.emplace(correlation_id, thread).second) return;
  order_.push_back(correlation_id);
  if (order_.size() <= kRememberedMax) return;
  threads_.erase(order_.front());
  order_.pop_front();
}

}  // namespace xsp::cupti
