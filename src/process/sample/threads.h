// The threads of this process as the kernel sees them, one look each: /proc/self/task/TID.
//
// A thread that was asleep at the last look and has not had a processor since is still at the same
// place: one small file says so. Only the other threads are examined further.
//
// The third number of schedstat says so: a pool without work costs one read per thread. State and
// call come from /proc/self/task/TID/syscall. The kernel gives the time in the queue only as a sum,
// so a look counts as running or in the queue by the growth since the last look, and the remainder
// is carried on. Time in the kernel and faults come from the file stat, once a thread has run for
// 10 ms more, which is the tick of that file.
#ifndef XSP_PROCESS_SAMPLE_THREADS_H_
#define XSP_PROCESS_SAMPLE_THREADS_H_

#include <stddef.h>
#include <stdint.h>

#include "process/sample/native_place.h"
#include "process/sample/python_walk.h"
#include "shared/trace/format.h"

namespace xsp::process {

inline constexpr size_t kSampledThreadsMax = 2048;

struct SampledThread {
  int32_t tid;
  int32_t turns_file;  // schedstat; -1: it is opened for each look
  int32_t call_file;   // syscall
  int32_t cost_file;   // stat
  ThreadClock clock;
  bool is_there;
  bool has_moved;    // since the previous look, or it is on a processor
  bool is_python;    // it has Python frames
  bool awaits_note;  // it waits for a note of its registers
  trace::ThreadDoes does;
  trace::LockState lock;
  int32_t call;           // system call in which it waits; -1: none
  uint64_t wait;          // the first argument of the call
  uint64_t counter;       // program counter while it waits; 0: not known
  uint64_t stack;         // stack pointer while it waits; 0: not known
  uint64_t turns;         // turns on a processor so far
  uint64_t ran_ns;        // time on a processor so far
  uint64_t queued_ns;     // time in the queue for a processor so far
  double queued_share;    // queued share that is carried over to the next look
  uint64_t cost_ran_ns;   // ran_ns when its cost was last read
  uint64_t system_ticks;  // time in the kernel so far
  uint64_t all_faults;    // pages that it touched first, so far
  uint64_t system_ns;     // time in the kernel since the previous look
  uint64_t faults;        // pages touched first since the previous look
  uint32_t node;          // node in the tree of stacks; 0: none
  uint32_t call_text;     // name of the system call
  size_t frame_count;     // see PythonWalk::walk
  PythonFrame frames[kDepthMax];
  size_t native_count;  // see Unwinder::unwind
  NativeFrame natives[kNativeDepthMax];
};

class ThreadTable {
 public:
  void begin();
  // Closes the table's files, on the thread that began.
  void end();
  // Looks at all threads except `sampler` and the other threads of xsp.
  void look(int32_t sampler);
  SampledThread* threads() { return threads_; }
  size_t count() const { return count_; }
  // Returns nullptr if there is no such thread.
  SampledThread* find(int32_t tid);
  // The number of threads for which there was no room.
  uint64_t dropped() const { return dropped_; }

 private:
  bool has_changed();
  void list(int32_t sampler);
  void add(int32_t tid);
  void look_at(SampledThread* thread);
  bool read_cost(SampledThread* thread);

  SampledThread threads_[kSampledThreadsMax];
  size_t count_ = 0;
  uint64_t links_ = 0;
  uint32_t looks_ = 0;
  uint64_t tick_ns_ = 0;
  bool has_ended_ = false;
  uint64_t dropped_ = 0;
  size_t hint_ = 0;
};

}  // namespace xsp::process

#endif  // XSP_PROCESS_SAMPLE_THREADS_H_
