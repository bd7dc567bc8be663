// A look reads all threads: their states and their stacks. Python's frames are read from memory;
// frames of compiled code are found from the registers.
//
// A look asks the kernel to note the registers of the running threads. When that is done, the
// threads have already moved on. So the look waits for the notes of Python's threads and reads
// their frames at once: compiled code then stands below the line that called it.
//
// Below Python stand the frames of compiled code down to the interpreter's loop
// (_PyEval_EvalFrameDefault), without the interpreter's own and without those of the C library that
// start a program or a thread. Refused: compiled code between two Python functions, because it
// differs from sample to sample whether the whole stack fits into the copy, so that one place would
// be two rows of a flame graph.
#ifndef XSP_PROCESS_SAMPLE_LOOK_H_
#define XSP_PROCESS_SAMPLE_LOOK_H_

#include <stdint.h>

#include "process/sample/memory.h"
#include "process/sample/modules.h"
#include "process/sample/native_place.h"
#include "process/sample/python_walk.h"
#include "process/sample/stack_log.h"
#include "process/sample/threads.h"
#include "process/sample/unwinder.h"

namespace xsp::process {

// The object lies in zeroed memory, of which pages are touched only when they are used.
class Looker {
 public:
  // Runs on a thread of the program.
  void prepare(const PythonSymbols& python);
  void end();
  // Runs on the sampler's thread, before the first look.
  void begin();
  // The last call on the sampler's thread: only there are the files valid.
  void leave_threads() { threads_.end(); }
  // Writes the previous look, with the notes that came since. The caller holds the log's lock.
  void complete_look();
  // Reads the state of each thread, and asks the kernel to note the registers of running threads.
  void look_at_threads(int32_t sampler);
  // Reads the stacks for a look at that UNIX time, which stands for `duration_ns`. The caller holds
  // the log's lock.
  void look_at_stacks(int64_t now_ns, int64_t duration_ns);

  StackLog& log() { return log_; }
  void tell_losses() const;
  // The errno value with which the kernel refuses to note registers; 0: it notes them, or was not
  // asked yet.
  int refusal() const { return refusal_; }

 private:
  static constexpr size_t kAwaitedMax = 4;  // Python threads

  static void add_module(void* context, uint32_t index, const char* path);
  void find_id_offset();
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
  uint64_t entry_;      // address at which the program begins
  uint64_t id_offset_;  // offset of a thread's number from pthread_self(); 0: not known
  uint64_t cut_;
  uint64_t crowded_;  // threads without room for the kernel's notes
  int refusal_;
  bool is_pending_;  // a look waits to be written
  int64_t looked_ns_;
  int64_t lasted_ns_;
  size_t asked_count_;
  SampledThread* awaited_[kAwaitedMax];
  size_t awaited_count_;
};

}  // namespace xsp::process

#endif  // XSP_PROCESS_SAMPLE_LOOK_H_
