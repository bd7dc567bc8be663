// NoCancel protects the calling thread from cancellation (pthread_cancel) while it lives. The
// library holds locks and makes system calls inside a user's process: a thread that were cancelled
// there would leave a lock behind.
#ifndef XSP_SHARED_BASE_NO_CANCEL_H_
#define XSP_SHARED_BASE_NO_CANCEL_H_

#include <pthread.h>

namespace xsp {

class NoCancel {
 public:
  NoCancel() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  NoCancel(const NoCancel&) = delete;
  NoCancel& operator=(const NoCancel&) = delete;
  ~NoCancel() { pthread_setcancelstate(before_, nullptr); }

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace xsp

#endif  // XSP_SHARED_BASE_NO_CANCEL_H_
