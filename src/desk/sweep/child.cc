#include "desk/sweep/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

namespace xsp::sweep {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLook{100};  // how often a stop is looked for
constexpr int kNoProgram = 127;

void close_fd(int* fd) {
  if (*fd >= 0) ::close(*fd);
  *fd = -1;
}

class Running {
 public:
  explicit Running(const ChildOptions& options) : options_(options) {}
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    for (int* fd : {&in_, &out_, &pidfd_}) close_fd(fd);
  }

  Status start();
  ChildEnd wait();

 private:
  void end_early();
  bool reap(ChildEnd* end);
  void read_output();
  void feed();

  const ChildOptions& options_;
  pid_t pid_ = -1;
  int in_ = -1, out_ = -1, pidfd_ = -1;
  std::string_view left_;  // of the input
  std::optional<Clock::time_point> kill_at_;
};

Status Running::start() {
  std::vector<std::string> words = options_.words;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int log = ::open(options_.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (log < 0) return failed(options_.log.string() + ": " + std::strerror(errno));
  int in[2] = {-1, -1}, out[2] = {-1, -1};
  const bool has_pipes = ::pipe2(in, O_CLOEXEC) == 0 && ::pipe2(out, O_CLOEXEC) == 0;
  const pid_t parent = ::getpid();
  pid_ = has_pipes ? ::fork() : -1;
  if (pid_ == 0) {  // only async-signal-safe calls
    // Whoever runs it may have blocked signals for its own threads.
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGINT);
    if (::getppid() != parent) ::_exit(1);
    ::dup2(in[0], STDIN_FILENO);
    ::dup2(options_.out ? out[1] : log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    ::execvp(argv[0], argv.data());
    ::_exit(kNoProgram);
  }
  const int error = errno;
  for (int* fd : {&in[0], &out[1]}) close_fd(fd);
  ::close(log);
  in_ = in[1];
  out_ = out[0];
  if (pid_ < 0) return failed(options_.words[0] + ": it cannot be run: " + std::strerror(error));
  ::fcntl(in_, F_SETFL, O_NONBLOCK);
  ::fcntl(out_, F_SETFL, O_NONBLOCK);
  pidfd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  left_ = options_.input;
  return Ok{};
}

void Running::end_early() {
  if (kill_at_) return;
  kill_at_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                std::chrono::duration<double>(options_.end_s));
  close_fd(&in_);
  ::kill(-pid_, SIGINT);
}

bool Running::reap(ChildEnd* end) {
  int status = 0;
  const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
  if (ended == 0 || (ended < 0 && errno == EINTR)) return false;
  end->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return true;
}

void Running::read_output() {
  std::array<char, 64 << 10> buffer;
  while (out_ >= 0) {
    const ssize_t count = ::read(out_, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return close_fd(&out_);
    if (options_.out && !options_.out({buffer.data(), static_cast<size_t>(count)})) end_early();
  }
}

void Running::feed() {
  while (in_ >= 0 && !left_.empty()) {
    const ssize_t count = ::write(in_, left_.data(), left_.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) return close_fd(&in_);
    left_.remove_prefix(static_cast<size_t>(count));
  }
}

ChildEnd Running::wait() {
  ChildEnd end;
  const auto begin = Clock::now();
  const auto limit = begin + std::chrono::duration<double>(options_.limit_s);
  for (;;) {
    const bool has_more = !left_.empty() && in_ >= 0;
    std::array<pollfd, 4> fds = {{{pidfd_, POLLIN, 0},
                                  {out_, POLLIN, 0},
                                  {options_.lifeline, POLLIN, 0},
                                  {has_more ? in_ : -1, POLLOUT, 0}}};
    ::poll(fds.data(), fds.size(), static_cast<int>(kLook.count()));
    feed();
    read_output();
    if (reap(&end)) break;
    const bool is_gone = fds[2].revents != 0 || (options_.tick && !options_.tick());
    const bool is_stopped = is_gone || (options_.stop != nullptr && *options_.stop > 0);
    const bool is_late = options_.limit_s > 0 && Clock::now() >= limit;
    end.is_stopped |= is_stopped;
    end.is_timeout |= is_late && !end.is_stopped;
    if (is_stopped || is_late) end_early();
    if (kill_at_ && Clock::now() >= *kill_at_) ::kill(-pid_, SIGKILL);
  }
  read_output();
  return end;
}

}  // namespace

Result<ChildEnd> run_child(const ChildOptions& options) {
  ::signal(SIGPIPE, SIG_IGN);
  Running running(options);
  XSP_CHECK_OK(running.start());
  return running.wait();
}

}  // namespace xsp::sweep
