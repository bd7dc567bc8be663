#include "process/sample/own_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>

namespace xsp::process {
namespace {

constexpr rlim_t kSpareFiles = 16;

// Closes all files on kernels before 5.9.
bool close_all_files() {
  const int folder = open("/proc/thread-self/fd", O_RDONLY | O_CLOEXEC | O_DIRECTORY);
  if (folder < 0) return false;
  for_each_name(folder, [folder](const char* name) {
    if (name[0] != '.' && atoi(name) != folder) close(atoi(name));
  });
  close(folder);
  return true;
}

}  // namespace

bool own_files() {
#ifdef SYS_close_range
  constexpr unsigned kUnshare = 1u << 1;  // CLOSE_RANGE_UNSHARE
  if (syscall(SYS_close_range, 0u, ~0u, kUnshare) == 0) return true;
  if (errno != ENOSYS) return false;
#endif
  return unshare(CLONE_FILES) == 0 && close_all_files();
}

bool has_spare_files(int newest) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return true;
  return static_cast<rlim_t>(newest) + kSpareFiles < limit.rlim_cur;
}

}  // namespace xsp::process
