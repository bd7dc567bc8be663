// Finds the place of a running thread in compiled code. On request, the kernel notes the thread's
// registers as soon as the thread runs outside of the kernel, together with a copy of the end of
// its stack, in pages that are read here. No signal is sent. This is optional: containers often
// forbid it.
//
// Only a thread with a file table of its own may use these functions.
//
// perf_event_open on the thread's clock counts user code alone, and gives one note for each
// request: one interrupt for each look and thread, and 8 KiB of stack. A note comes 0.2 ms of
// processor time after the request. Refused: a clock that notes all the time, whose latest note is
// milliseconds older than the line below which it would stand, and most of whose notes are thrown
// away. A thread in the queue or in the kernel has its note when it goes on, so a look is written
// when the next one begins. A note takes 20 KiB of locked memory for each running thread: there are
// notes for 16 threads per processor, less than the kernel sets aside, so that the program keeps
// its own limit on locked memory. Further threads have addresses without stacks.
#ifndef XSP_PROCESS_SAMPLE_NATIVE_PLACE_H_
#define XSP_PROCESS_SAMPLE_NATIVE_PLACE_H_

#include <stddef.h>
#include <stdint.h>

#include "process/sample/unwinder.h"

namespace xsp::process {

inline constexpr size_t kStackCopyBytes = 8192;

// The kernel's notes about one thread.
struct ThreadClock {
  void* pages;  // nullptr: there are none
  size_t bytes;
  int32_t file;
  bool is_tried;
  bool has_stack;
  bool is_asked;
};

// Opens the clock, unless that was tried before. It notes only addresses if `has_stack` is false,
// or if the kernel's limit on locked memory leaves no room for a stack. Returns false if the kernel
// refuses; errno says why.
bool open_clock(ThreadClock* clock, int32_t tid, bool has_stack);
void close_clock(ThreadClock* clock);

// The kernel's note about the place of a thread.
struct NativeNote {
  int64_t time_ns;    // CLOCK_MONOTONIC
  NativeStart start;  // `known` 0: only the program counter is set
  uint8_t bytes[kStackCopyBytes];
};
// Reads the latest note since the last call. Returns false if there is none.
bool latest_note(ThreadClock* clock, NativeNote* note);
bool has_note(const ThreadClock& clock);
// Asks for one note, and forgets the existing ones. Returns false if no note will come.
bool ask_clock(ThreadClock* clock);

}  // namespace xsp::process

#endif  // XSP_PROCESS_SAMPLE_NATIVE_PLACE_H_
