#include "desk/sweep/device_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "shared/base/words.h"

namespace xsp::sweep {
namespace {

constexpr useconds_t kPollMicroseconds = 20000;

// Opens a lock that every user of the machine can take. In a folder such as /tmp, the kernel lets
// nobody create a file over another user's, so an existing one is opened without creating it.
int open_lock(const std::string& path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd >= 0 || errno != ENOENT) return fd;
  fd = ::open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  return fd >= 0 || errno != EACCES ? fd : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

// Returns the machine's own name of a GPU, so that two tasks that see one GPU each differ.
std::string gpu_of(const std::string& device) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  const std::string number = device.substr(device.find(':') + 1);
  const std::vector<std::string> names = split(visible != nullptr ? visible : "", ',');
  const size_t position = static_cast<size_t>(std::atol(number.c_str()));
  std::string name = position < names.size() ? names[position] : number;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-') c = '_';
  }
  return name;
}

// Locks without waiting in the kernel, so that a stop is noticed.
Status lock(int fd, int mode, const std::atomic<int>& stop) {
  while (::flock(fd, mode | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return failed(std::string("the device cannot be locked: ") + std::strerror(errno));
    }
    if (stop != 0) return Error{Code::kInterrupted, "interrupted while it waited for the device"};
    ::usleep(kPollMicroseconds);
  }
  return Ok{};
}

}  // namespace

Result<std::unique_ptr<DeviceLock>> DeviceLock::take(const std::string& device,
                                                     const std::atomic<int>& stop,
                                                     const std::string& folder) {
  const bool is_gpu = device.starts_with("cuda:");
  std::unique_ptr<DeviceLock> taken(new DeviceLock({}));
  const auto add = [&](const std::string& name, int mode) -> Status {
    const std::string path = folder + "/xsp-" + name + ".lock";
    const int fd = open_lock(path);
    if (fd < 0) return failed(path + ": it cannot be opened: " + std::strerror(errno));
    taken->fds_.push_back(fd);
    return lock(fd, mode, stop);
  };
  // The order is the same for all, so that no two wait for one another.
  XSP_CHECK_OK(add("machine", is_gpu ? LOCK_SH : LOCK_EX));
  if (is_gpu) XSP_CHECK_OK(add("gpu-" + gpu_of(device), LOCK_EX));
  return taken;
}

DeviceLock::~DeviceLock() {
  for (const int fd : fds_) ::close(fd);
}

}  // namespace xsp::sweep
