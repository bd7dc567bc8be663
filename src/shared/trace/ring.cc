#include "shared/trace/ring.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <new>

#include "shared/trace/writer.h"

namespace xsp::trace {
namespace {

constexpr int kPrivate = MAP_PRIVATE | MAP_ANONYMOUS;

// Returns the size of the lane and the pending slots, in whole pages.
size_t front_bytes() {
  const size_t page = block_area_bytes();
  return (sizeof(Lane) + kPendingSlots * kSlotBytes + page - 1) / page * page;
}

}  // namespace

Lane* make_lane(uint32_t ring_bytes) {
  const size_t front = front_bytes();
  const size_t bytes = front + block_area_bytes() + ring_bytes;
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kPrivate, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  // The child of a fork must not write as if it were its parent, and the parent's ring must not be
  // copied page by page as the parent continues to write.
  madvise(at, bytes, MADV_WIPEONFORK);
  uint8_t* memory = static_cast<uint8_t*>(at);
  Lane* lane = new (memory) Lane();
  lane->mask = ring_bytes / kSlotBytes - 1;
  lane->limit = lane->mask + 1;
  lane->pending = reinterpret_cast<Record*>(memory + sizeof(Lane));
  lane->block = reinterpret_cast<LaneBlock*>(memory + front);
  lane->slots = reinterpret_cast<Record*>(memory + front + block_area_bytes());
  lane->mapped_bytes = bytes;
  return lane;
}

void free_lane_memory(Lane* lane, size_t bytes) { munmap(lane, bytes); }

void detach_block(Lane* lane) {
  // One system call replaces the mapping, because the lane's thread may be writing to it. That is
  // no race, but ThreadSanitizer would report one if it saw the call.
  syscall(SYS_mmap, lane->block, block_area_bytes(), PROT_READ | PROT_WRITE, kPrivate | MAP_FIXED,
          -1, 0);
  lane->has_block = 0;
  lane->is_mapped = 0;
}

}  // namespace xsp::trace
