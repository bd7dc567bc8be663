// DeviceLock: no two measured tasks on one device of a machine at once, whoever started them.
//
// A task on the processor takes the whole machine. Tasks on different GPUs share it. The locks are
// files in /tmp, and the kernel releases them when their holder ends.
#ifndef XSP_DESK_SWEEP_DEVICE_LOCK_H_
#define XSP_DESK_SWEEP_DEVICE_LOCK_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "shared/base/result.h"

namespace xsp::sweep {

class DeviceLock {
 public:
  // Waits for the device until `stop` is not 0; then fails with kInterrupted. `device` is that of a
  // task; "cuda:N" counts in $CUDA_VISIBLE_DEVICES, if that is set. `folder` is for tests.
  static Result<std::unique_ptr<DeviceLock>> take(const std::string& device,
                                                  const std::atomic<int>& stop,
                                                  const std::string& folder = "/tmp");
  DeviceLock(const DeviceLock&) = delete;
  DeviceLock& operator=(const DeviceLock&) = delete;
  ~DeviceLock();

 private:
  explicit DeviceLock(std::vector<int> fds) : fds_(std::move(fds)) {}
  std::vector<int> fds_;
};

}  // namespace xsp::sweep

#endif  // XSP_DESK_SWEEP_DEVICE_LOCK_H_
