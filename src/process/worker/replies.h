// Replies: writes the worker's replies to its parent. Any thread may do so.
#ifndef XSP_PROCESS_WORKER_REPLIES_H_
#define XSP_PROCESS_WORKER_REPLIES_H_

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <string>
#include <vector>

#include "process/worker/protocol.h"
#include "xsp/plugin.hpp"

namespace xsp::process {

// Returns why an adapter failed that does not say it itself.
inline const char* status_text(xsp_status status) {
  switch (status) {
    case XSP_BAD_MODEL:
      return "not a model that this framework can run";
    case XSP_BAD_INPUT:
      return "the model does not accept its inputs";
    case XSP_NOT_AVAILABLE:
      return "the framework or the device is not available here";
    case XSP_OUT_OF_MEMORY:
      return "out of memory";
    default:
      return "the framework failed without saying why";
  }
}

class Replies {
 public:
  Replies() : fd_(fcntl(kReplyFd, F_GETFD) < 0 ? STDOUT_FILENO : kReplyFd) {
    // The model's framework may start other programs: they must not hold this pipe.
    if (fd_ == kReplyFd) fcntl(fd_, F_SETFD, FD_CLOEXEC);
  }
  // Ends the process if there is no reader: nothing is left to do then.
  void send(const std::vector<std::string>& fields) const {
    const std::lock_guard lock(mutex_);
    const std::string line = valid_utf8(join_fields(fields)) + "\n";
    for (size_t sent = 0; sent < line.size();) {
      const ssize_t n = write(fd_, line.data() + sent, line.size() - sent);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        xsp_stop();
        _exit(1);
      }
      sent += static_cast<size_t>(n);
    }
  }

 private:
  mutable std::mutex mutex_;
  int fd_;
};

}  // namespace xsp::process

#endif  // XSP_PROCESS_WORKER_REPLIES_H_
