#include "shared/base/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "shared/base/words.h"

namespace xsp {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kBytesMax = 64u << 20;

// An anonymous file is the input, so that no program can block us by not reading.
int file_with(std::string_view text) {
  if (text.empty()) return ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int fd = ::memfd_create("xsp-input", MFD_CLOEXEC);
  if (fd < 0) return fd;
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count <= 0) break;
    text.remove_prefix(static_cast<size_t>(count));
  }
  ::lseek(fd, 0, SEEK_SET);
  return fd;
}

void append(std::string* text, const char* data, size_t size) {
  text->append(data, size);
  if (text->size() > 2 * kBytesMax) text->erase(0, text->size() - kBytesMax);
}

// Reads the streams to their ends; a descriptor of -1 has none. False: that took too long.
bool read_all(const std::array<int, 2>& fds, const std::array<std::string*, 2>& texts,
              std::chrono::seconds patience) {
  const auto limit = Clock::now() + patience;
  pollfd polled[2] = {{fds[0], POLLIN, 0}, {fds[1], POLLIN, 0}};
  while (polled[0].fd >= 0 || polled[1].fd >= 0) {
    int wait_ms = -1;
    if (patience.count() > 0) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(limit - Clock::now());
      if (left.count() <= 0) return false;
      wait_ms = static_cast<int>(left.count());
    }
    if (::poll(polled, 2, wait_ms) < 0 && errno != EINTR) return false;
    for (size_t i = 0; i < 2; ++i) {
      if (polled[i].fd < 0 || polled[i].revents == 0) continue;
      char buffer[16 << 10];
      const ssize_t count = ::read(fds[i], buffer, sizeof buffer);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) polled[i].fd = -1;
      if (count > 0) append(texts[i], buffer, static_cast<size_t>(count));
    }
  }
  return true;
}

}  // namespace

Result<Ended> run_to_end(const Program& program) {
  const std::string& name = program.argv[0];
  std::vector<char*> words;
  for (const std::string& word : program.argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  int out[2], err[2] = {-1, -1};
  if (::pipe2(out, O_CLOEXEC) != 0) return failed(name + ": " + std::strerror(errno));
  if (program.errors == Errors::kApart && ::pipe2(err, O_CLOEXEC) != 0) {
    for (const int fd : out) ::close(fd);
    return failed(name + ": " + std::strerror(errno));
  }
  const int in = file_with(program.input);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  if (program.errors != Errors::kOurs) {
    const int target = program.errors == Errors::kApart ? err[1] : out[1];
    ::posix_spawn_file_actions_adddup2(&actions, target, STDERR_FILENO);
  }
  pid_t child = -1;
  const int error = ::posix_spawnp(&child, words[0], &actions, nullptr, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  for (const int fd : {in, out[1], err[1]}) {
    if (fd >= 0) ::close(fd);
  }
  Ended ended;
  ended.was_in_time =
      error != 0 || read_all({out[0], err[0]}, {&ended.output, &ended.errors}, program.patience);
  for (const int fd : {out[0], err[0]}) {
    if (fd >= 0) ::close(fd);
  }
  if (error != 0) return not_available(name + ": cannot be run: " + std::strerror(error));
  if (!ended.was_in_time) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) ended.status = WEXITSTATUS(status);
  return ended;
}

}  // namespace xsp
