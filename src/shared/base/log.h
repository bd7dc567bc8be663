// The library rarely writes messages inside a user's process: one line each on standard error.
#ifndef XSP_SHARED_BASE_LOG_H_
#define XSP_SHARED_BASE_LOG_H_

namespace xsp {

// Writes "xsp: <what>: <why>: <consequence>" in one write(2), at most once per `said`, which it
// sets. `error` is an errno value, 0 for none. Allocates nothing.
void say_once(int* said, const char* what, int error, const char* consequence);

}  // namespace xsp

#endif  // XSP_SHARED_BASE_LOG_H_
