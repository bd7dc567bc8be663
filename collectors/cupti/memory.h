// Memory over time: every allocation and release that CUPTI records, as a span without duration at
// the level api, with the pool's total after it.
//
// Thread rule: one thread at a time.
#ifndef XSP_COLLECTORS_CUPTI_MEMORY_H_
#define XSP_COLLECTORS_CUPTI_MEMORY_H_

#include <cupti.h>

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>

namespace xsp::cupti {

// An event of memory, ready to be emitted but for its thread.
struct MemoryEvent {
  bool is_allocation = false;
  // "device of cuda:0", "managed of cuda:0", "pinned"; "pool 0x7f... of cuda:0" if asynchronous
  std::string pool;
  uint64_t time_ns = 0;  // of CUPTI's clock
  int64_t bytes = 0;     // < 0: released
  int64_t total_bytes = 0;
  uint32_t correlation_id = 0;  // of the call that did it
};

class Memory {
 public:
  // Memory that was taken before the recording began is released unknown: its bytes are those that
  // the record tells, and the total does not sink below zero.
  MemoryEvent follow(const CUpti_ActivityMemory4& record);

 private:
  std::unordered_map<uint64_t, uint64_t> sizes_;  // by address
  std::map<std::string, int64_t> totals_;         // by pool
};

// Brings events and the threads of the calls that did them together, whichever is recorded first.
class Callers {
 public:
  static constexpr size_t kRememberedMax = 1024;

  // The thread of a call that is known already; 0: not yet.
  uint32_t thread_of(uint32_t correlation_id) const;
  void remember(uint32_t correlation_id, uint32_t thread);

 private:
  std::unordered_map<uint32_t, uint32_t> threads_;
  std::deque<uint32_t> order_;
};

}  // namespace xsp::cupti

#endif  // XSP_COLLECTORS_CUPTI_MEMORY_H_
