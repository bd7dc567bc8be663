// KeepErrno restores errno at the end of its scope: the library must not change it in a user's
// process.
#ifndef XSP_SHARED_BASE_KEEP_ERRNO_H_
#define XSP_SHARED_BASE_KEEP_ERRNO_H_

#include <errno.h>

namespace xsp {

class KeepErrno {
 public:
  KeepErrno() : value_(errno) {}
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;
  ~KeepErrno() { errno = value_; }

 private:
  int value_;
};

}  // namespace xsp

#endif  // XSP_SHARED_BASE_KEEP_ERRNO_H_
