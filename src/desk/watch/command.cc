#include "desk/watch/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace xsp::watch {
namespace {

namespace fs = std::filesystem;

constexpr int kProgressMs = 1000;

// Returns whether a signal is passed on to the command. Signals that end or stop a process, that
// report the process's own errors, or that the C library reserves are not passed on. All others are
// sent to us by another process and are meant for the command.
bool is_passed_on(int number) {
  constexpr std::array kOurs = {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS,  SIGILL,  SIGFPE,
                                SIGCHLD, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGXFSZ};
  if (number > SIGSYS && number < SIGRTMIN) return false;
  return std::find(kOurs.begin(), kOurs.end(), number) == kOurs.end();
}

volatile sig_atomic_t command_pid = 0;

extern "C" void pass_on(int number, siginfo_t* info, void*) {
  // The terminal and the kernel signal the command directly, and our signals to ourselves are for
  // us.
  const bool is_sent = info->si_code <= 0 && info->si_pid != ::getpid();
  if (!is_sent || command_pid <= 0) return;
  const int saved = errno;
  const pid_t pid = static_cast<pid_t>(command_pid);
  if (info->si_code == SI_QUEUE) {
    ::sigqueue(pid, number, info->si_value);
  } else {
    ::kill(pid, number);
  }
  errno = saved;
}

// While it exists, it passes signals on to the command, whose own signal actions stay unchanged.
// Signals are held until the command's process is known.
class Signals {
 public:
  explicit Signals(HeldSignals& held) : held_(held) {
    held_.hold();
    for (int number = 1; number < NSIG; ++number) {
      if (!is_passed_on(number)) continue;
      struct sigaction action = {};
      action.sa_sigaction = pass_on;
      action.sa_flags = SA_SIGINFO | SA_RESTART;
      ::sigemptyset(&action.sa_mask);
      ::sigaction(number, &action, &before_[static_cast<size_t>(number)]);
    }
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals() {
    restore();
    command_pid = 0;
  }
  // Passes signals on to `command` from now on.
  void begin(pid_t command) {
    command_pid = command;
    held_.release();
  }
  void restore() const {
    for (int number = 1; number < NSIG; ++number) {
      if (is_passed_on(number)) {
        ::sigaction(number, &before_[static_cast<size_t>(number)], nullptr);
      }
    }
  }

 private:
  HeldSignals& held_;
  std::array<struct sigaction, NSIG> before_ = {};
};

// Waits for the end of `child`, and calls `every_second` meanwhile. Returns the status from
// waitpid.
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

HeldSignals::HeldSignals() { hold(); }

HeldSignals::~HeldSignals() { release(); }

void HeldSignals::hold() {
  if (is_held_) return;
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &mask_);
  is_held_ = true;
}

void HeldSignals::release() {
  if (!is_held_) return;
  is_held_ = false;
  ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
}

bool HeldSignals::ask_for_end() const {
  sigset_t waiting;
  if (::sigpending(&waiting) != 0) return false;
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
    struct sigaction now = {};
    ::sigaction(number, nullptr, &now);
    const bool is_ignored = now.sa_handler == SIG_IGN || ::sigismember(&mask_, number) == 1;
    if (::sigismember(&waiting, number) == 1 && !is_ignored) return true;
  }
  return false;
}

Result<int> run_command(const fs::path& program, const std::vector<std::string>& command,
                        const std::function<void()>& every_second, HeldSignals& held) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  held.hold();
  if (held.ask_for_end()) return failed(command[0] + ": was not started: a signal came before");
  Signals signals(held);
  int failure[2];
  if (::pipe2(failure, O_CLOEXEC) != 0) return failed("pipe: " + std::string(std::strerror(errno)));
  const pid_t child = ::fork();
  if (child < 0) {
    return failed(command[0] + ": cannot be started: " + std::string(std::strerror(errno)));
  }
  if (child == 0) {
    signals.restore();
    held.release();
    // A file of commands that names no interpreter is run by the shell.
    ::execvp(program.c_str(), argv.data());
    const int why = errno;
    [[maybe_unused]] const ssize_t written = ::write(failure[1], &why, sizeof why);
    ::_exit(127);
  }
  signals.begin(child);
  ::close(failure[1]);
  int why = 0;
  const bool has_failed = ::read(failure[0], &why, sizeof why) == sizeof why;
  ::close(failure[0]);
  const int status = wait_for(child, every_second);
  if (!has_failed) return status;
  return not_available(command[0] + ": cannot be run: " + std::strerror(why));
}

}  // namespace xsp::watch
