// When what is recorded of this process: see control_page.h for who says so.
//
// Levels are switched between two steps where the process shows steps, else at once; so what is
// recorded is whole steps.
#ifndef XSP_CAPTURE_ATTACH_CONTROL_H_
#define XSP_CAPTURE_ATTACH_CONTROL_H_

#include <stdint.h>

namespace xsp::capture {

// Whether there is room for one more trace in this run's folder; where there is not, the page
// counts a process that was left out.
bool has_room(const char* folder);
// This process is not recorded, as its trace cannot be written: `xsp run` says so, as what this
// process says belongs to the program.
void count_unrecorded(int error);
// Likewise, as it has a sanitizer, which takes what is recorded for the program's own doing.
void count_sanitized(const char* folder);
// Maps the page of this run's folder, and obeys it from now on. The process's recording has begun.
// Without a page all is recorded, always.
void begin_control(const char* folder);
// What may be recorded at any time from now on, as bits.
uint32_t possible_levels();
// The recording ends: what follows is not switched any more. A process that becomes another program
// goes on as the same one, and remembers when it began.
void end_control(bool is_exec);
// What was written so far is counted, and what follows is written though there be no room: it is
// little.
void end_limit();
// The process's own span is about to be written: it is recorded whatever is wanted otherwise.
void record_process_span();

}  // namespace xsp::capture

#endif  // XSP_CAPTURE_ATTACH_CONTROL_H_
