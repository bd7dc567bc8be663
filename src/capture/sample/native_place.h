// Finds where a running thread is in compiled code: when asked, the kernel notes its registers as
// soon as it is on a processor outside of the kernel, with a copy of the end of its stack, in pages
// that are read here. No signal is sent. An extra: containers often forbid it.
//
// For a thread that has a table of files of its own.
#ifndef XSP_CAPTURE_SAMPLE_NATIVE_PLACE_H_
#define XSP_CAPTURE_SAMPLE_NATIVE_PLACE_H_

#include <stddef.h>
#include <stdint.h>

#include "capture/sample/unwinder.h"

namespace xsp::capture {

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

// Opens it, unless that was tried. Without a stack, or where the kernel's limit on locked memory
// leaves no room for that, it notes addresses alone. False: the kernel refuses; errno says why.
bool open_clock(ThreadClock* clock, int32_t tid, bool has_stack);
void close_clock(ThreadClock* clock);

// The kernel's note about where a thread is.
struct NativeNote {
  int64_t time_ns;    // CLOCK_MONOTONIC
  NativeStart start;  // nothing known: the address in its register is all there is
  uint8_t bytes[kStackCopyBytes];
};
// The latest note since the last call; false: there is none.
bool latest_note(ThreadClock* clock, NativeNote* note);
bool has_note(const ThreadClock& clock);
// Asks for one note, and forgets those that there are. False: none will come.
bool ask_clock(ThreadClock* clock);

}  // namespace xsp::capture

#endif  // XSP_CAPTURE_SAMPLE_NATIVE_PLACE_H_
