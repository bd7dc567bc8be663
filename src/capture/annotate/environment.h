// What the environment says about recording; see xsp.h.
#ifndef XSP_CAPTURE_ANNOTATE_ENVIRONMENT_H_
#define XSP_CAPTURE_ANNOTATE_ENVIRONMENT_H_

#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace xsp::capture {

// $XSP_DISABLE is set and neither empty nor "0".
bool is_disabled();
// The processor's counter where it can be trusted and $XSP_CLOCK is not "monotonic".
TickSource tick_source_to_use();
// `asked`, else $XSP_LEVELS, else every level. 0 if $XSP_LEVELS is malformed.
uint32_t levels_to_record(uint32_t asked);
// `asked`, else $XSP_TRACE, else xsp-<pid>.xtrace, each "%p" made the process's id. False if it
// does not fit.
bool path_to_record(const char* asked, int process_id, char* out, size_t size);
// a.xtrace -> a.<pid>.xtrace. False if it does not fit.
bool path_of_process(const char* path, int process_id, char* out, size_t size);

}  // namespace xsp::capture

#endif  // XSP_CAPTURE_ANNOTATE_ENVIRONMENT_H_
