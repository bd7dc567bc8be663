// Watcher: the functions that libxsp.so calls, in a process that `xsp run` watches, to learn what
// to record when. They are in libxsp-attach.so, a separate library; this header is the interface
// between the two.
#ifndef XSP_PROCESS_RECORD_WATCHER_H_
#define XSP_PROCESS_RECORD_WATCHER_H_

#include <stddef.h>
#include <stdint.h>

#include "xsp/xsp.h"

namespace xsp::process {

// These functions allocate nothing, throw nothing, and return soon.
struct Watcher {
  // Runs every few milliseconds on the drainer's thread, without a lock. May switch levels.
  void (*on_pass)();
  // Runs when this step is about to begin, on the step's thread, without a lock. May switch levels.
  void (*on_step)(uint32_t kind, uint64_t number);
  // Returns the levels that the child of a fork is to record now. Locks are held: it must not call
  // xsp.h.
  uint32_t (*levels_of_child)();
  // Runs when this child of a fork cannot be recorded; `error` is an errno value. Locks are held:
  // it must not call xsp.h.
  void (*on_unrecorded)(int error);
  // Runs when the program's last thread has ended, on the drainer's thread, which ends next. The
  // watcher ends its other threads now.
  void (*on_last_thread)();
  // The levels that may be recorded at any time, as bits.
  uint32_t levels;
};

}  // namespace xsp::process

// The functions below are not for programs. With a watcher, xsp_emit accepts every level that may
// be recorded: a profiler may report later what happened while its levels were on. nullptr removes
// the watcher. The object must live as long as the process.
extern "C" XSP_API void xsp_switch_levels(uint32_t levels,
                                          uint32_t round);  // see trace::LevelsMark
extern "C" XSP_API void xsp_set_watcher(const xsp::process::Watcher* watcher);
// Returns the levels that are being recorded; 0 while not recording. It differs from
// xsp_recorded_levels in that it has the level model only if that level's spans are recorded.
extern "C" XSP_API uint32_t xsp_levels(void);
// Ends the recording as xsp_stop does; but xsp_stop does not end one that is watched.
// `counts_late`: the process is about to end, and spans that its threads begin until then are
// counted as lost.
extern "C" XSP_API int xsp_end_recording(int counts_late);
// After this call the library writes nothing to standard error: it belongs to the program alone.
extern "C" XSP_API void xsp_be_quiet(void);
// Between these two calls the process has no drainer thread, and the watcher's threads that were
// joined before are gone. Both are called on one thread, in this order.
extern "C" XSP_API void xsp_pause(void);
extern "C" XSP_API void xsp_resume(void);
// The program wants this number for a descriptor. If the file of the recording has it, the file
// moves to another number.
extern "C" XSP_API void xsp_leave_descriptor(int number);
// Returns the size of the file that is being written; 0 if there is none.
extern "C" XSP_API uint64_t xsp_file_bytes(void);
// Lets the file grow by at most this many bytes; later spans are counted and dropped. UINT64_MAX
// restores the limit with which the file was started.
extern "C" XSP_API void xsp_limit_file(uint64_t more_bytes);
// Appends a chunk to the file; see trace::Writer::append for `buffer`. Returns 0 or an errno value.
extern "C" XSP_API int xsp_append_chunk(uint32_t type, uint8_t* buffer, size_t payload_bytes);
// Counts samples of threads that were taken but not yet written: if the process dies first, they
// are counted as lost.
extern "C" XSP_API void xsp_count_samples(uint64_t count);

#endif  // XSP_PROCESS_RECORD_WATCHER_H_
