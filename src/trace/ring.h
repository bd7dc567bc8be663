// Lane: a thread's ring of slots, its open-span stack, and what it keeps of spans still open.
//
// One thread writes (the producer), one reads (the drainer); they share nothing but two positions.
// The memory is private to the process and wiped in the child of a fork, so that a child finds an
// empty lane of no session; the block alone lies in the trace file, through a shared mapping.
//
//   | Lane | pending slots | block (a page of the file while recording) | ring slots ... |
#ifndef XSP_TRACE_RING_H_
#define XSP_TRACE_RING_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trace/format.h"
#include "trace/record.h"

namespace xsp::trace {

enum class LaneUse : uint32_t {
  kFree = 0,      // no thread's; drained
  kThread = 1,    // a live thread's
  kOrphaned = 2,  // its thread ended; not yet drained
};

// A value of a span still open, waiting for its end: this slot, then those of its Extra.
struct PendingHead {
  uint64_t start;  // of the span that it belongs to
  uint32_t slots;  // of the Extra
  uint32_t unused[5];
};
static_assert(sizeof(PendingHead) == kSlotBytes);
inline constexpr uint32_t kPendingSlots = 1024;

struct Lane {
  // The producer's.
  std::atomic<uint32_t> generation;  // the session that it records in; 0 once wiped by a fork
  uint32_t pending_used;             // slots
  std::atomic<uint64_t> head;        // slots ever written
  uint64_t limit;                    // head may go here without a look at tail
  uint64_t mask;                     // slots - 1
  Record* slots;
  LaneBlock* block;
  Record* pending;
  uint64_t model_start;  // of the open call of a model that is a step; 0: none is
  // The drainer's.
  alignas(64) std::atomic<uint64_t> tail;  // slots ever taken
  uint64_t drained;                        // spans of the session taken: as they happened,
  uint64_t drained_given;                  // and with given times
  // Under the session's lock.
  std::atomic<uint32_t> use;  // LaneUse
  uint32_t number;            // from 1, in the session
  uint32_t thread;
  uint32_t has_block;  // in the file of this session
  uint32_t is_mapped;
  uint64_t block_offset;
  size_t mapped_bytes;
  // The producer's again, for what is rare.
  uint32_t is_step_alone;  // nothing is recorded of that call
};

// Maps a lane whose ring has that many bytes, a power of two. Its pages are taken as spans come to
// them for the first time: most threads emit few. nullptr if the memory cannot be had.
Lane* make_lane(uint32_t ring_bytes);
// `bytes`: Lane::mapped_bytes, which a fork wipes in the child.
void free_lane_memory(Lane* lane, size_t bytes);
// Puts private memory in the place of the block, of which `lane` may be being written by its
// thread: what it writes from now on goes nowhere.
void detach_block(Lane* lane);

// Waits for room of `slots` slots; false if the ring is full. The producer's.
inline bool has_room(Lane* lane, uint32_t slots) {
  const uint64_t head = lane->head.load(std::memory_order_relaxed);
  if (head + slots <= lane->limit) return true;
  lane->limit = lane->tail.load(std::memory_order_acquire) + lane->mask + 1;
  return head + slots <= lane->limit;
}

// The block's counters are written by one thread and read by another, and by whoever opens the
// file.
inline uint64_t load(const uint64_t& counter) {
  return __atomic_load_n(&counter, __ATOMIC_RELAXED);
}
inline void store(uint64_t* counter, uint64_t value) {
  __atomic_store_n(counter, value, __ATOMIC_RELEASE);
}
inline void add_one(uint64_t* counter) { store(counter, load(*counter) + 1); }

}  // namespace xsp::trace

#endif  // XSP_TRACE_RING_H_
