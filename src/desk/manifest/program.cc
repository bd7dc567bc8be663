#include "desk/manifest/program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "shared/base/text.h"
#include "shared/base/words.h"

namespace xsp::manifest {
namespace {

constexpr size_t kPrintedBytesMax = 64 << 10;

// Reads to the end, and keeps the last bytes.
std::string read_all(int descriptor) {
  std::string text;
  char buffer[4096];
  ssize_t count = 0;
  while ((count = ::read(descriptor, buffer, sizeof buffer)) != 0) {
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) break;
    text.append(buffer, static_cast<size_t>(count));
    if (text.size() > kPrintedBytesMax) text.erase(0, text.size() - kPrintedBytesMax);
  }
  return text;
}

std::string last_line(const std::string& text) {
  const std::vector<std::string> lines = split(text, '\n');
  return lines.empty() ? std::string() : check_text(lines.back()).text;
}

}  // namespace

Status run_program(const std::vector<std::string>& argv) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return failed(argv[0] + ": " + std::strerror(errno));
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  pid_t child = -1;
  const int error = ::posix_spawnp(&child, words[0], &actions, nullptr, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  const std::string printed = error == 0 ? read_all(ends[0]) : std::string();
  ::close(ends[0]);
  if (error != 0) {
    return not_available(argv[0] + ": cannot be run: " + std::strerror(error) + ": install it");
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return Ok{};
  const std::string line = last_line(printed);
  return failed(line.empty() ? argv[0] + " failed" : line);
}

}  // namespace xsp::manifest
