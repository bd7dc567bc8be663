#include "collectors/cupti/memory.h"

#include <algorithm>
#include <cstdio>
#include <utility>

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
  Block block{record.bytes, event.pool};
  if (const auto known = blocks_.find(record.address); known != blocks_.end()) {
    if (event.is_allocation) {
      // Its release was lost.
      add(known->second.pool, -static_cast<int64_t>(known->second.bytes));
    } else {
      block.bytes = known->second.bytes;
    }
    blocks_.erase(known);
  }
  const auto bytes = static_cast<int64_t>(block.bytes);
  event.bytes = event.is_allocation ? bytes : -bytes;
  add(event.pool, event.bytes);
  if (event.is_allocation) blocks_[record.address] = std::move(block);
  event.total_bytes = totals_[event.pool];
  event.has_total = event.time_ns < first_pause_ns_;
  return event;
}

void Memory::pause(uint64_t time_ns) {
  uint64_t none = UINT64_MAX;
  first_pause_ns_.compare_exchange_strong(none, time_ns);
}

void Memory::add(const std::string& pool, int64_t bytes) {
  int64_t& total = totals_[pool];
  total = std::max<int64_t>(total + bytes, 0);
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
