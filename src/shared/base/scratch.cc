#include "shared/base/scratch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>

namespace xsp {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "xsp-scratch-";
constexpr std::string_view kKeptPrefix = "xsp-kept-";
constexpr int kAttempts = 8;
constexpr size_t kVisited = 10'000;  // a folder of temporary files may hold any number

// Locks the folder. Returns -1 if another process has the lock.
int lock(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return -1;
  struct stat locked {
  }, found{};
  const bool is_locked = ::fstat(fd, &locked) == 0 && ::flock(fd, LOCK_EX | LOCK_NB) == 0 &&
                         // The previous owner may have removed the folder meanwhile.
                         ::lstat(path.c_str(), &found) == 0 && found.st_ino == locked.st_ino;
  if (is_locked) return fd;
  ::close(fd);
  return -1;
}

// Returns whether a trace in the folder was written to in the last day. The killed owner may have
// left a command that still records, or traces that can be imported.
bool has_fresh_traces(const fs::path& folder) {
  constexpr auto kFresh = std::chrono::hours(24);
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (at->path().extension() != ".xtrace") continue;
    std::error_code ignored;
    const auto written = fs::last_write_time(at->path(), ignored);
    if (!ignored && fs::file_time_type::clock::now() - written < kFresh) return true;
  }
  return false;
}

bool is_of_this_user(const fs::path& path) {
  struct stat found {};
  return ::lstat(path.c_str(), &found) == 0 && found.st_uid == ::geteuid();
}

// Removes the folders of this user's killed processes: those without a lock.
void remove_leftovers(const fs::path& base) {
  std::error_code error;
  size_t visited = 0;
  fs::directory_iterator at(base, error);
  for (; !error && at != fs::directory_iterator() && ++visited < kVisited; at.increment(error)) {
    if (!at->path().filename().string().starts_with(kPrefix)) continue;
    if (!is_of_this_user(at->path())) continue;
    const int fd = lock(at->path());
    if (fd < 0) continue;
    std::error_code ignored;
    if (!has_fresh_traces(at->path())) fs::remove_all(at->path(), ignored);
    ::close(fd);
  }
}

}  // namespace

Result<std::unique_ptr<ScratchFolder>> ScratchFolder::create() {
  static std::atomic<pid_t> looked{0};
  std::error_code error;
  // The path is absolute because programs change their working directory.
  const fs::path found = fs::absolute(fs::temp_directory_path(error), error);
  const fs::path base = error ? fs::path("/tmp") : found;
  if (looked.exchange(::getpid()) != ::getpid()) remove_leftovers(base);
  std::string pattern;
  for (int i = 0; i < kAttempts; ++i) {
    pattern = (base / (std::string(kPrefix) + "XXXXXX")).string();
    if (::mkdtemp(pattern.data()) == nullptr) break;
    // Between the two calls another process may take the folder for a leftover.
    const int fd = lock(pattern);
    if (fd >= 0) return std::unique_ptr<ScratchFolder>(new ScratchFolder(pattern, fd));
  }
  return failed(pattern + ": cannot be made: " + std::strerror(errno) +
                ": name a folder for temporary files with TMPDIR");
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!is_kept_) fs::remove_all(path_, ignored);
  ::close(lock_);
}

void ScratchFolder::keep() {
  std::string name = path_.filename().string();
  name.replace(0, kPrefix.size(), kKeptPrefix);
  std::error_code error;
  fs::rename(path_, path_.parent_path() / name, error);
  if (!error) path_.replace_filename(name);
  is_kept_ = true;
}

}  // namespace xsp
