// Watcher: whom libxsp.so asks, in a process that `xsp run` watches, when what is to be recorded.
// It is libxsp-attach.so, which is another library: this is what they have between them.
#ifndef XSP_CAPTURE_ANNOTATE_WATCHER_H_
#define XSP_CAPTURE_ANNOTATE_WATCHER_H_

#include <stddef.h>
#include <stdint.h>

#include "xsp/xsp.h"

namespace xsp::capture {

// Its functions allocate nothing, throw nothing, and return soon.
struct Watcher {
  // Every few milliseconds, on the drainer's thread; no lock is held. May switch levels.
  void (*on_pass)();
  // That step is about to begin, on its thread; no lock is held. May switch levels.
  void (*on_step)(uint32_t kind, uint64_t number);
  // What the child of a fork is to record now. Locks are held: it calls nothing of xsp.h.
  uint32_t (*levels_of_child)();
  // This child of a fork cannot be recorded: an errno value. Locks are held: it calls nothing of
  // xsp.h.
  void (*on_unrecorded)(int error);
  // The program's last thread has ended; on the drainer's thread, which ends next. Other threads of
  // the watcher end now.
  void (*on_last_thread)();
  // What may be recorded at any time, as bits.
  uint32_t levels;
};

}  // namespace xsp::capture

// Not for programs. Where there is a watcher, xsp_emit takes whatever may be recorded: a profiler
// may tell later what happened while its levels were on. nullptr: nobody. The watcher stays where
// it is as long as the process lives.
extern "C" XSP_API void xsp_switch_levels(uint32_t levels,
                                          uint32_t round);  // see trace::LevelsMark
extern "C" XSP_API void xsp_set_watcher(const xsp::capture::Watcher* watcher);
// The levels that are being recorded; 0 while not recording. Those of xsp_recorded_levels, but that
// this has the level model only if its spans are recorded.
extern "C" XSP_API uint32_t xsp_levels(void);
// As xsp_stop, which leaves alone what somebody watches. `counts_late`: the process is about to
// end, and what its threads begin until then is counted as lost.
extern "C" XSP_API int xsp_end_recording(int counts_late);
// From now on nothing is said on standard error: it is the program's alone.
extern "C" XSP_API void xsp_be_quiet(void);
// From one to the other the process has no thread of the drainer. On one thread, in this order.
extern "C" XSP_API void xsp_pause(void);
extern "C" XSP_API void xsp_resume(void);
// The program wants that number for a descriptor: what is recorded leaves it, if it has it.
extern "C" XSP_API void xsp_leave_descriptor(int number);
// The size of the file that is being written; 0: none is.
extern "C" XSP_API uint64_t xsp_file_bytes(void);
// The file grows by so many bytes at most, what comes later is counted and dropped; UINT64_MAX: by
// what it was started with.
extern "C" XSP_API void xsp_limit_file(uint64_t more_bytes);
// Appends a chunk to the file; `buffer` as trace::Writer::append has it. 0, or an errno value.
extern "C" XSP_API int xsp_append_chunk(uint32_t type, uint8_t* buffer, size_t payload_bytes);
// So many samples of threads were taken, and are written later: should the process die before, they
// are counted.
extern "C" XSP_API void xsp_count_samples(uint64_t count);

#endif  // XSP_CAPTURE_ANNOTATE_WATCHER_H_
