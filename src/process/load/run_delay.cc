#include "process/load/run_delay.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <string_view>

namespace xsp::process {

RunDelay::RunDelay() : file_(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {}

RunDelay::~RunDelay() {
  if (file_ >= 0) ::close(file_);
}

// The file has the time on a processor, the time of waiting for one, and how often it ran.
int64_t RunDelay::ns() const {
  char text[96];
  const ssize_t size = file_ < 0 ? -1 : ::pread(file_, text, sizeof text, 0);
  if (size <= 0) return -1;
  const std::string_view all(text, static_cast<size_t>(size));
  const size_t space = all.find(' ');
  int64_t ns = -1;
  if (space != std::string_view::npos) {
    std::from_chars(all.data() + space + 1, all.data() + all.size(), ns);
  }
  return ns;
}

}  // namespace xsp::process
