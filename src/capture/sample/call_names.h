// The names of system calls that threads wait in.
#ifndef XSP_CAPTURE_SAMPLE_CALL_NAMES_H_
#define XSP_CAPTURE_SAMPLE_CALL_NAMES_H_

#include <stdint.h>

namespace xsp::capture {

// nullptr: a call that no table here has.
const char* name_of_call(int32_t number);

}  // namespace xsp::capture

#endif  // XSP_CAPTURE_SAMPLE_CALL_NAMES_H_
