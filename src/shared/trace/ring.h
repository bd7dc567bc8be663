// Lane: a thread's ring of slots, its open-span stack, and the values of its open spans.
//
// One thread writes (the producer), one reads (the drainer); they share only two positions. The
// memory is private to the process and is wiped in the child of a fork, so that a child finds an
// empty lane that belongs to no session. Only the block lies in the trace file, through a shared
// mapping.
//
//   | Lane | pending slots | block (a page of the file while recording) | ring slots ... |
#ifndef XSP_SHARED_TRACE_RING_H_
#define XSP_SHARED_TRACE_RING_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shared/trace/format.h"
#include "shared/trace/record.h"

namespace xsp::trace {

enum class LaneUse : uint32_t {
  kFree = 0,      // no thread owns it; drained
  kThread = 1,    // a live thread owns it
  kOrphaned = 2,  // its thread has ended; not yet drained
};

// A value of an open span, which waits for the span's end: this slot, then those of its Extra.
struct PendingHead {
  uint64_t start;  // start of the span that it belongs to
  uint32_t slots;  // slots of the Extra
  uint32_t unused[5];
};
static_assert(sizeof(PendingHead) == kSlotBytes);
inline constexpr uint32_t kPendingSlots = 1024;

struct Lane {
  // The producer writes the members below.
  std::atomic<uint32_t> generation;  // the session that it records in; 0 once wiped by a fork
  uint32_t pending_used;             // slots
  std::atomic<uint64_t> head;        // slots ever written
  uint64_t limit;                    // head may go up to here without a look at tail
  uint64_t mask;                     // slots - 1
  Record* slots;
  LaneBlock* block;
  Record* pending;
  uint64_t model_start;  // start of the open model call that is a step; 0: none
  // The drainer writes the members below.
  alignas(64) std::atomic<uint64_t> tail;  // slots ever taken
  uint64_t drained;                        // spans of the session taken: as they happened,
  uint64_t drained_given;                  // and with given times
  // The session's lock guards the members below.
  std::atomic<uint32_t> use;  // LaneUse
  uint32_t number;            // from 1, in the session
  uint32_t thread;
  uint32_t has_block;  // its block is in the file of this session
  uint32_t is_mapped;
  uint64_t block_offset;
  size_t mapped_bytes;
  // The producer again, for a rare case.
  uint32_t is_step_alone;  // nothing is recorded of that model call
};

// Maps a lane whose ring has that many bytes, a power of two. Its pages are allocated only when
// spans first reach them, because most threads emit few spans. Returns nullptr if the memory cannot
// be had.
Lane* make_lane(uint32_t ring_bytes);
// `bytes` is Lane::mapped_bytes; the caller keeps it because a fork wipes the lane in the child.
void free_lane_memory(Lane* lane, size_t bytes);
// Replaces the block by private memory. The lane's thread may be writing to it: its further writes
// are discarded.
void detach_block(Lane* lane);

// Returns whether there is room for `slots` slots; false: the ring is full. Only the producer calls
// it.
inline bool has_room(Lane* lane, uint32_t slots) {
  const uint64_t head = lane->head.load(std::memory_order_relaxed);
  if (head + slots <= lane->limit) return true;
  lane->limit = lane->tail.load(std::memory_order_acquire) + lane->mask + 1;
  return head + slots <= lane->limit;
}

// One thread writes the block's counters; another thread, and any reader of the file, may read
// them.
inline uint64_t load(const uint64_t& counter) {
  return __atomic_load_n(&counter, __ATOMIC_RELAXED);
}
inline void store(uint64_t* counter, uint64_t value) {
  __atomic_store_n(counter, value, __ATOMIC_RELEASE);
}
inline void add_one(uint64_t* counter) { store(counter, load(*counter) + 1); }

}  // namespace xsp::trace

#endif  // XSP_SHARED_TRACE_RING_H_
