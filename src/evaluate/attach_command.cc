#include "evaluate/attach_command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace xsp::evaluate {
namespace {

namespace fs = std::filesystem;

constexpr int kProgressMs = 1000;

// Signals that somebody sends to us are meant for the command.
constexpr std::array kPassedOn = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH, SIGALRM};
// Signals of the terminal, which it sends to the command as well.
constexpr std::array kIgnored = {SIGINT, SIGQUIT};

volatile sig_atomic_t command_pid = 0;

extern "C" void pass_on(int number) {
  const int saved = errno;
  if (command_pid > 0) ::kill(static_cast<pid_t>(command_pid), number);
  errno = saved;
}

// For as long as it lives, this process's own answer to signals; the command's is what it was.
class Signals {
 public:
  Signals() {
    size_t at = 0;
    for (const int number : kPassedOn) set(number, pass_on, &before_[at++]);
    for (const int number : kIgnored) set(number, SIG_IGN, &before_[at++]);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals() {
    restore();
    command_pid = 0;
  }
  void restore() const {
    size_t at = 0;
    for (const int number : kPassedOn) ::sigaction(number, &before_[at++], nullptr);
    for (const int number : kIgnored) ::sigaction(number, &before_[at++], nullptr);
  }

 private:
  static void set(int number, void (*handler)(int), struct sigaction* before) {
    struct sigaction action = {};
    action.sa_handler = handler;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(number, &action, before);
  }
  std::array<struct sigaction, kPassedOn.size() + kIgnored.size()> before_ = {};
};

// Waits for its end, and calls `every_second` meanwhile; what waitpid gives.
int wait_for(pid_t child, const std::function<void()>& every_second) {
  int status = 0;
  const int fd = every_second ? static_cast<int>(::syscall(SYS_pidfd_open, child, 0)) : -1;
  for (pollfd wanted = {fd, POLLIN, 0}; fd >= 0;) {
    const int ready = ::poll(&wanted, 1, kProgressMs);
    if (ready > 0 || (ready < 0 && errno != EINTR)) break;
    if (ready == 0) every_second();
  }
  if (fd >= 0) ::close(fd);
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

Result<int> run_command(const fs::path& program, const std::vector<std::string>& command,
                        const std::function<void()>& every_second) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const Signals signals;
  int failure[2];
  if (::pipe2(failure, O_CLOEXEC) != 0) return failed("pipe: " + std::string(std::strerror(errno)));
  const pid_t child = ::fork();
  if (child < 0) {
    return failed(command[0] + ": cannot be started: " + std::string(std::strerror(errno)));
  }
  if (child == 0) {
    signals.restore();
    ::execv(program.c_str(), argv.data());
    const int why = errno;
    [[maybe_unused]] const ssize_t written = ::write(failure[1], &why, sizeof why);
    ::_exit(127);
  }
  command_pid = child;
  ::close(failure[1]);
  int why = 0;
  const bool has_failed = ::read(failure[0], &why, sizeof why) == sizeof why;
  ::close(failure[0]);
  const int status = wait_for(child, every_second);
  if (!has_failed) return status;
  return not_available(command[0] + ": cannot be run: " + std::strerror(why));
}

}  // namespace xsp::evaluate
