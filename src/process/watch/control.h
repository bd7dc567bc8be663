// Control decides when which levels of this process are recorded. control_page.h says who asks for
// them.
//
// If the process reports steps, levels are switched between two steps, otherwise at once. So only
// whole steps are recorded.
#ifndef XSP_PROCESS_WATCH_CONTROL_H_
#define XSP_PROCESS_WATCH_CONTROL_H_

#include <stdint.h>

namespace xsp::process {

// Returns whether there is room for one more trace in this run's folder. If there is none, the page
// counts a process that was left out.
bool has_room(const char* folder);
// Counts this process as not recorded because its trace cannot be written. `xsp run` reports that,
// because the output of this process belongs to the program.
void count_unrecorded(int error);
// Counts this process as not recorded because it has a sanitizer, which would blame the recording's
// activity on the program.
void count_sanitized(const char* folder);
// Maps the page of this run's folder and follows it from now on. The process's recording has
// already begun. Without a page, everything is always recorded.
void begin_control(const char* folder);
// Returns the levels that may be recorded at any time from now on, as bits.
uint32_t possible_levels();
// Leaves the slot to the parent, in the child of a fork. The child has a slot of its own from its
// first span on. No thread of the parent is inside this module any more.
void forget_control();
// Ends control: levels are not switched any more. A process that becomes another program keeps its
// slot and its start time.
void end_control(bool is_exec);
// Counts everything that was written so far and removes the size limit: the little that follows is
// always written.
void end_limit();
// Makes sure that the level of the process's own span is recorded; the span is about to be written.
void record_process_span();

}  // namespace xsp::process

#endif  // XSP_PROCESS_WATCH_CONTROL_H_
