#include "shared/base/durable.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "shared/base/keep_errno.h"

namespace xsp {

bool make_durable(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool is_done = ::fsync(fd) == 0 || errno == EINVAL;
  const KeepErrno keep;
  ::close(fd);
  return is_done;
}

}  // namespace xsp
