// Memory over time: turns every allocation and release that CUPTI records into a span of the level
// api without duration, with the pool's total after it. While the level api is not recorded, none
// is known; so from the first such pause on, events have no totals. Refused: recording allocations
// during pauses, too, because what is switched off costs the program nothing.
//
// Thread rule: one thread at a time.
#ifndef XSP_COLLECTORS_CUPTI_MEMORY_H_
#define XSP_COLLECTORS_CUPTI_MEMORY_H_

#include <cupti.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>

namespace xsp::cupti {

// Describes an event of memory that is complete except for its thread.
struct MemoryEvent {
  bool is_allocation = false;
  // The pool: "device of cuda:0", "managed of cuda:0", "pinned"; "pool 0x7f... of cuda:0" if
  // asynchronous.
  std::string pool;
  uint64_t time_ns = 0;  // on CUPTI's clock
  int64_t bytes = 0;     // negative for a release
  int64_t total_bytes = 0;
  bool has_total = true;
  uint32_t correlation_id = 0;  // correlation id of the call
};

class Memory {
 public:
  // Memory may be released that was taken before the recording began. Then its size is that of the
  // release's record, and the total does not fall below zero.
  MemoryEvent follow(const CUpti_ActivityMemory4& record);
  // Events after this time, on CUPTI's clock, may not be all. Any thread may call this.
  void pause(uint64_t time_ns);

 private:
  struct Block {
    uint64_t bytes = 0;
    std::string pool;
  };
  void add(const std::string& pool, int64_t bytes);

  std::unordered_map<uint64_t, Block> blocks_;        // by address
  std::map<std::string, int64_t> totals_;             // by pool
  std::atomic<uint64_t> first_pause_ns_{UINT64_MAX};  // on CUPTI's clock
};

// Joins events with the threads of their calls; either may be recorded first.
class Callers {
 public:
  static constexpr size_t kRememberedMax = 1024;

  // Returns the thread of a call, or 0 if it is not known yet.
  uint32_t thread_of(uint32_t correlation_id) const;
  void remember(uint32_t correlation_id, uint32_t thread);

 private:
  std::unordered_map<uint32_t, uint32_t> threads_;
  std::deque<uint32_t> order_;
};

}  // namespace xsp::cupti

#endif  // XSP_COLLECTORS_CUPTI_MEMORY_H_
