// Reads the environment variables that control recording; see xsp.h.
#ifndef XSP_PROCESS_RECORD_ENVIRONMENT_H_
#define XSP_PROCESS_RECORD_ENVIRONMENT_H_

#include <cstddef>
#include <cstdint>

#include "shared/base/clock.h"

namespace xsp::process {

// Returns whether $XSP_DISABLE is set and neither empty nor "0".
bool is_disabled();
// Returns the processor's counter if it can be trusted and $XSP_CLOCK is not "monotonic".
TickSource tick_source_to_use();
// Returns `asked` if it is set, else $XSP_LEVELS, else every level. Returns 0 if $XSP_LEVELS is
// malformed.
uint32_t levels_to_record(uint32_t asked);
// Writes `asked`, else $XSP_TRACE, else xsp-<pid>.xtrace, with the process id for each "%p".
// Returns false if the result does not fit.
bool path_to_record(const char* asked, int process_id, char* out, size_t size);
// Turns a.xtrace into a.<pid>.xtrace. Returns false if the result does not fit.
bool path_of_process(const char* path, int process_id, char* out, size_t size);

}  // namespace xsp::process

#endif  // XSP_PROCESS_RECORD_ENVIRONMENT_H_
