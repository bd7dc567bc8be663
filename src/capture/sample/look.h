// One look at all threads: what they do, and their stacks, of which Python's frames are read where
// they are and those of compiled code are found from registers.
//
// A look asks the kernel to note the registers of the threads that run. They have moved on when
// that is done, so it waits for the notes of Python's threads and reads their frames at once: then
// compiled code stands below the line that called it.
#ifndef XSP_CAPTURE_SAMPLE_LOOK_H_
#define XSP_CAPTURE_SAMPLE_LOOK_H_

#include <stdint.h>

#include "capture/sample/memory.h"
#include "capture/sample/modules.h"
#include "capture/sample/native_place.h"
#include "capture/sample/python_walk.h"
#include "capture/sample/stack_log.h"
#include "capture/sample/threads.h"
#include "capture/sample/unwinder.h"

namespace xsp::capture {

// In memory that is zero, and is touched where it is used.
class Looker {
 public:
  // On a thread of the program's.
  void prepare(const PythonSymbols& python);
  void end();
  // On the sampler's thread, before the first look.
  void begin();
  // The last on that thread, whose files these are.
  void leave_threads() { threads_.end(); }
  // Writes the look before this one, with what was noted since. The caller holds the log's lock.
  void complete_look();
  // Reads what each thread does, and asks the kernel to note the registers of those that run.
  void look_at_threads(int32_t sampler);
  // Their stacks, at that UNIX time; the look stands for so long. The caller holds the lock.
  void look_at_stacks(int64_t now_ns, int64_t duration_ns);

  StackLog& log() { return log_; }
  void tell_losses() const;
  // Why the kernel notes no registers; 0: it does, or was not asked yet.
  int refusal() const { return refusal_; }

 private:
  static constexpr size_t kAwaitedMax = 4;  // threads of Python's

  static void add_module(void* context, uint32_t index, const char* path);
  void find_id_offset();
  void find_start();
  int32_t tid_of(const PythonThread& thread) const;
  uint32_t name_frames(const SampledThread& thread, size_t count);
  void look_at_python(const PythonThread& python, SampledThread* thread);
  void look_at_all_python();
  bool has_room_for_stack();
  void ask_for_note(SampledThread* thread);
  void await_notes();
  void look_at_native(SampledThread* thread);
  int module_of(uint64_t address);
  bool is_of_python(int module) const;
  bool is_of_start(const NativeFrame& frame) const;
  size_t read_natives(SampledThread* thread, const NativeStart& start);
  void add_natives(SampledThread* thread, const NativeStart& start);

  OwnMemory own_;
  PythonWalk walk_;
  ThreadTable threads_;
  Modules modules_;
  Unwinder unwinder_;
  StackLog log_;
  NativeNote note_;
  PythonFrame frames_[kDepthMax];
  PythonCode codes_[kDepthMax];
  NativeFrame natives_[kNativeDepthMax];

  PythonSymbols python_;
  uint64_t evaluate_end_;
  uint64_t entry_;      // where the program begins
  uint64_t id_offset_;  // of a thread's number, from what pthread_self() gives; 0: not known
  uint64_t cut_;
  int refusal_;
  bool is_pending_;  // a look that is not written yet
  int64_t looked_ns_;
  int64_t lasted_ns_;
  size_t asked_count_;
  SampledThread* awaited_[kAwaitedMax];
  size_t awaited_count_;
};

}  // namespace xsp::capture

#endif  // XSP_CAPTURE_SAMPLE_LOOK_H_
