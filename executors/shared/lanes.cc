#include "executors/shared/lanes.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace xsp::executors {
namespace {

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace

bool disturb(const std::string& device, const std::string& other) {
  const auto is_gpu = [](const std::string& name) { return name.starts_with("cuda:"); };
  return !is_gpu(device) || !is_gpu(other) || device == other;
}

Lanes::~Lanes() { (void)cancel(); }

Status Lanes::submit(const std::vector<size_t>& indexes) {
  waiting_.insert(waiting_.end(), indexes.begin(), indexes.end());
  return start_free();
}

bool Lanes::is_free(const std::string& system, const std::string& device) const {
  return std::none_of(running_.begin(), running_.end(), [&](const auto& one) {
    return one.second.system == system && disturb(job_.units[one.first].device, device);
  });
}

Status Lanes::start_free() {
  for (const std::string& system : systems_) {
    for (auto at = waiting_.begin(); at != waiting_.end();) {
      const Unit& unit = job_.units[*at];
      const bool fits = unit.system.empty() || unit.system == system;
      if (!fits || !is_free(system, unit.device)) {
        ++at;
        continue;
      }
      const size_t index = *at;
      at = waiting_.erase(at);
      XSP_TRY(const Child child, start(index, system));
      running_[index] = child;
    }
  }
  return Ok{};
}

Result<Lanes::Child> Lanes::start(size_t index, const std::string& system) const {
  std::vector<std::string> words = command_(index, system);
  const std::vector<char*> argv = pointers(words);
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) {
    ::close(nothing);
    return failed(std::string("a process cannot be started: ") + std::strerror(errno));
  }
  if (pid == 0) {  // only async-signal-safe calls
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(1);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(nothing, STDOUT_FILENO);
    ::dup2(nothing, STDERR_FILENO);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(nothing);
  Child child;
  child.pid = pid;
  child.pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  child.system = system;
  return child;
}

void Lanes::reap() {
  for (auto at = running_.begin(); at != running_.end();) {
    int status = 0;
    const pid_t ended = ::waitpid(at->second.pid, &status, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR)) {
      ++at;
      continue;
    }
    if (at->second.pidfd >= 0) ::close(at->second.pidfd);
    at = running_.erase(at);
  }
}

void Lanes::wait_for_change(std::chrono::milliseconds patience) const {
  std::vector<pollfd> fds;
  for (const auto& [index, child] : running_) fds.push_back({child.pidfd, POLLIN, 0});
  ::poll(fds.data(), fds.size(), static_cast<int>(patience.count()));
}

Result<std::map<size_t, Held>> Lanes::poll(std::chrono::milliseconds patience) {
  wait_for_change(patience);
  reap();
  XSP_CHECK_OK(start_free());
  std::map<size_t, Held> held;
  for (const auto& [index, child] : running_) held[index] = {true, child.system, {}};
  for (const size_t index : waiting_) {
    held[index] = {false, job_.units[index].system, "the device is taken by another task"};
  }
  return held;
}

Status Lanes::cancel() {
  waiting_.clear();
  for (const auto& [index, child] : running_) ::kill(child.pid, SIGTERM);
  const auto limit = std::chrono::steady_clock::now() + kEndPatience;
  while (!running_.empty() && std::chrono::steady_clock::now() < limit) {
    wait_for_change(std::chrono::milliseconds(100));
    reap();
  }
  for (const auto& [index, child] : running_) ::kill(-child.pid, SIGKILL);
  while (!running_.empty()) {
    wait_for_change(std::chrono::milliseconds(100));
    reap();
  }
  return Ok{};
}

}  // namespace xsp::executors
