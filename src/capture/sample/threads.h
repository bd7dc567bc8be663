// The threads of this process as the kernel sees them, one look each: /proc/self/task/TID.
//
// A thread that was asleep at the last look and has not been given a processor since is where it
// was: one small file says so. Only of the others it is asked what they do.
#ifndef XSP_CAPTURE_SAMPLE_THREADS_H_
#define XSP_CAPTURE_SAMPLE_THREADS_H_

#include <stddef.h>
#include <stdint.h>

#include "capture/sample/native_place.h"
#include "capture/sample/python_walk.h"
#include "trace/format.h"

namespace xsp::capture {

inline constexpr size_t kSampledThreadsMax = 2048;

struct SampledThread {
  int32_t tid;
  int32_t turns_file;  // schedstat; -1: it is opened for each look
  int32_t call_file;   // syscall
  int32_t cost_file;   // stat
  ThreadClock clock;
  bool is_there;
  bool has_moved;    // since the look before, or it is on a processor
  bool is_python;    // it has frames of Python's
  bool awaits_note;  // of its registers
  trace::ThreadDoes does;
  trace::LockState lock;
  int32_t call;           // the system call that it waits in; -1: none
  uint64_t wait;          // the first argument of the call
  uint64_t counter;       // the program's counter while it waits; 0: not known
  uint64_t stack;         // the stack's pointer likewise
  uint64_t turns;         // on a processor so far
  uint64_t ran_ns;        // likewise
  uint64_t queued_ns;     // likewise, for a processor
  double queued_share;    // what is left over of a look as runnable
  uint64_t cost_ran_ns;   // ran_ns when its cost was read last
  uint64_t system_ticks;  // in the kernel so far
  uint64_t all_faults;    // pages that it touched first, so far
  uint64_t system_ns;     // in the kernel since the look before
  uint64_t faults;        // likewise
  uint32_t node;          // of the tree of stacks; 0: none
  uint32_t call_text;     // its name
  size_t frame_count;     // see PythonWalk::walk
  PythonFrame frames[kDepthMax];
  size_t native_count;  // see Unwinder::unwind
  NativeFrame natives[kNativeDepthMax];
};

// Gives the calling thread a table of files of its own, an empty one. False: the system does not.
bool own_files();

class ThreadTable {
 public:
  void begin();
  // Closes its files, on the thread that began.
  void end();
  // One look at all. `sampler` is left out, and with it threads of ours.
  void look(int32_t sampler);
  SampledThread* threads() { return threads_; }
  size_t count() const { return count_; }
  // nullptr: there is none.
  SampledThread* find(int32_t tid);
  // Threads for which there was no room.
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

}  // namespace xsp::capture

#endif  // XSP_CAPTURE_SAMPLE_THREADS_H_
