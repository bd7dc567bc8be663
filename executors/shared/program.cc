#include "executors/shared/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "shared/base/text.h"
#include "shared/base/words.h"

namespace xsp::executors {
namespace {

constexpr size_t kPrintedBytesMax = 64u << 20;  // a queue of 100,000 tasks is some 10 MB
constexpr std::chrono::seconds kPatience{120};

// An anonymous file is the input, so that no program can block us by not reading.
int file_with(std::string_view text) {
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

// Reads both streams to their ends. Returns false if that took too long.
bool read_both(const int (&fds)[2], std::string (&texts)[2]) {
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  pollfd polled[2] = {{fds[0], POLLIN, 0}, {fds[1], POLLIN, 0}};
  while (polled[0].fd >= 0 || polled[1].fd >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        limit - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    if (::poll(polled, 2, static_cast<int>(left.count())) < 0 && errno != EINTR) return false;
    for (int i = 0; i < 2; ++i) {
      if (polled[i].fd < 0 || polled[i].revents == 0) continue;
      char buffer[16 << 10];
      const ssize_t count = ::read(fds[i], buffer, sizeof buffer);
      if (count <= 0) polled[i].fd = -1;
      if (count > 0 && texts[i].size() < kPrintedBytesMax) {
        texts[i].append(buffer, static_cast<size_t>(count));
      }
    }
  }
  return true;
}

}  // namespace

Result<std::string> run_program(const std::vector<std::string>& argv, std::string_view input) {
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  int out[2], err[2];
  if (::pipe2(out, O_CLOEXEC) != 0) return failed(argv[0] + ": " + std::strerror(errno));
  if (::pipe2(err, O_CLOEXEC) != 0) {
    for (const int fd : out) ::close(fd);
    return failed(argv[0] + ": " + std::strerror(errno));
  }
  const int in = file_with(input);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
  pid_t child = -1;
  const int error = ::posix_spawnp(&child, words[0], &actions, nullptr, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  for (const int fd : {in, out[1], err[1]}) ::close(fd);
  const int fds[2] = {out[0], err[0]};
  std::string texts[2];
  const bool is_in_time = error != 0 || read_both(fds, texts);
  for (const int fd : fds) ::close(fd);
  if (error != 0) {
    return not_available(argv[0] + ": cannot be run: " + std::strerror(error) + ": install it");
  }
  if (!is_in_time) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!is_in_time) return failed(argv[0] + ": no answer within two minutes: see that it works");
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return std::move(texts[0]);
  const std::string said = joined(split(check_text(texts[1]).text, '\n'), " | ");
  return failed(said.empty() ? argv[0] + " failed" : said);
}

}  // namespace xsp::executors
