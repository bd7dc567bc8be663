// The names of the system calls in which threads wait.
#ifndef XSP_PROCESS_SAMPLE_CALL_NAMES_H_
#define XSP_PROCESS_SAMPLE_CALL_NAMES_H_

#include <stdint.h>

namespace xsp::process {

// Returns nullptr if the table has no such call.
const char* name_of_call(int32_t number);

}  // namespace xsp::process

#endif  // XSP_PROCESS_SAMPLE_CALL_NAMES_H_
