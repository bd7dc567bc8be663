#include "desk/experiment/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "desk/machine/machine.h"
#include "process/worker/protocol.h"

namespace xsp::experiment {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr size_t kOutputTailBytes = 8192;
constexpr size_t kReplyLineBytesMax = 64u << 20;  // bounds our memory against a faulty child
constexpr int kPollMs = 50;

// Our descriptors start here, above the numbers that the child's own descriptors get.
constexpr int kFirstFd = 16;

struct Fd {
  int value = -1;
  Fd() = default;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }
  void reset() {
    if (value >= 0) ::close(value);
    value = -1;
  }
  int release() { return std::exchange(value, -1); }
};

// Takes over a descriptor: moves it above the child's descriptors, and makes it close on exec.
bool adopt(int fd, Fd* result) {
  result->value = ::fcntl(fd, F_DUPFD_CLOEXEC, kFirstFd);
  ::close(fd);
  return result->value >= 0;
}

// Runs in the child between fork and exec, so it makes only async-signal-safe calls.
[[noreturn]] void become(char* const* argv, char* const* environment, int input, int reply,
                         int output, int error_report, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // the parent died before the line above
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (::dup2(input, 0) >= 0 && ::dup2(output, 1) >= 0 && ::dup2(output, 2) >= 0 &&
      ::dup2(reply, process::kReplyFd) >= 0) {
    ::execve(argv[0], argv, environment);
  }
  const int why = errno;
  // The parent reads `why` as the reason why the start failed.
  [[maybe_unused]] const ssize_t written = ::write(error_report, &why, sizeof why);
  ::_exit(127);
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

constexpr std::string_view kPreload = "LD_PRELOAD=";

// Returns the environment of this process, with `preload` in front of its LD_PRELOAD.
std::vector<std::string> environment_with(const std::string& preload) {
  std::vector<std::string> all;
  std::string changed = std::string(kPreload) + preload;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view text = *one;
    if (!preload.empty() && text.substr(0, kPreload.size()) == kPreload) {
      changed += ":" + std::string(text.substr(kPreload.size()));
    } else {
      all.emplace_back(text);
    }
  }
  if (!preload.empty()) all.push_back(changed);
  return all;
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

std::string describe_exit(int wait_status, bool ran_out_of_memory) {
  if (WIFEXITED(wait_status)) {
    return "exited with status " + std::to_string(WEXITSTATUS(wait_status));
  }
  const int number = WTERMSIG(wait_status);
  if (number == SIGKILL && ran_out_of_memory) return "killed by the kernel: out of memory";
  std::string name = ::strsignal(number);
  if (!name.empty()) name[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(name[0])));
  return "killed by signal " + std::to_string(number) + " (" + name + ")";
}

Result<std::unique_ptr<Process>> Process::start(const std::vector<std::string>& argv,
                                                const std::string& preload) {
  const auto cannot = [&argv](int why) {
    return failed(argv[0] + ": cannot be started: " + std::strerror(why) +
                  ": check the installation with 'xsp doctor'");
  };
  Fd ours[3], theirs[3], report, report_end;
  // A socket is used because a write without a reader can be told not to raise SIGPIPE.
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return cannot(errno);
  if (!adopt(pair[0], &ours[0]) || !adopt(pair[1], &theirs[0])) return cannot(errno);
  for (int i = 1; i < 3; ++i) {
    if (::pipe2(pair, O_CLOEXEC) != 0) return cannot(errno);
    if (!adopt(pair[0], &ours[i]) || !adopt(pair[1], &theirs[i])) return cannot(errno);
  }
  if (::pipe2(pair, O_CLOEXEC) != 0) return cannot(errno);
  if (!adopt(pair[0], &report) || !adopt(pair[1], &report_end)) return cannot(errno);
  for (int i = 1; i < 3; ++i) ::fcntl(ours[i].value, F_SETFL, O_NONBLOCK);

  const std::vector<std::string> environment = environment_with(preload);
  const std::vector<char*> variables = pointers_to(environment);
  const std::vector<char*> arguments = pointers_to(argv);
  std::unique_ptr<Process> process(new Process);
  process->oom_kills_before_ = machine::Machine().out_of_memory_kills();
  const pid_t parent = ::getpid();
  process->pid_ = ::fork();
  if (process->pid_ < 0) return cannot(errno);
  if (process->pid_ == 0) {
    become(arguments.data(), variables.data(), theirs[0].value, theirs[1].value, theirs[2].value,
           report_end.value, parent);
  }
  for (Fd& fd : theirs) fd.reset();
  report_end.reset();
  process->command_fd_ = ours[0].release();
  process->reply_fd_ = ours[1].release();
  process->output_fd_ = ours[2].release();
  int why = 0;
  ssize_t got = 0;
  do {
    got = ::read(report.value, &why, sizeof why);
  } while (got < 0 && errno == EINTR);
  if (got == sizeof why) return cannot(why);
  return process;
}

Process::~Process() {
  end(steady_clock::now());
  for (const int fd : {command_fd_, reply_fd_, output_fd_}) {
    if (fd >= 0) ::close(fd);
  }
}

bool Process::send(std::string_view line) {
  std::string bytes(line);
  bytes += '\n';
  const char* at = bytes.data();
  size_t left = bytes.size();
  while (left > 0) {
    const ssize_t sent = ::send(command_fd_, at, left, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    left -= static_cast<size_t>(sent);
  }
  return true;
}

bool Process::take_line(std::string* line) {
  const size_t end = replies_.find('\n', replies_scanned_);
  if (end == std::string::npos) {
    replies_scanned_ = replies_.size();
    return false;
  }
  line->assign(replies_, 0, end);
  replies_.erase(0, end + 1);
  replies_scanned_ = 0;
  return true;
}

bool Process::drain_replies() {
  char buffer[16384];
  for (;;) {
    const ssize_t got = ::read(reply_fd_, buffer, sizeof buffer);
    if (got > 0) {
      replies_.append(buffer, static_cast<size_t>(got));
      if (replies_.size() > kReplyLineBytesMax) return false;
    } else if (got == 0) {
      return false;
    } else if (errno != EINTR) {
      return true;
    }
  }
}

void Process::drain_output() {
  char buffer[4096];
  for (;;) {
    const ssize_t got = ::read(output_fd_, buffer, sizeof buffer);
    if (got > 0) {
      output_.append(buffer, static_cast<size_t>(got));
      if (output_.size() > 2 * kOutputTailBytes)
        output_.erase(0, output_.size() - kOutputTailBytes);
    } else if (got == 0 || errno != EINTR) {
      if (got == 0) {
        ::close(output_fd_);
        output_fd_ = -1;
      }
      return;
    }
  }
}

Process::Event Process::read_line(const std::function<TimePoint()>& limit, std::string* line) {
  for (;;) {
    if (take_line(line)) return Event::kLine;
    if (ended_) return Event::kEnded;
    const TimePoint until = limit();  // read before now(), or a limit of "now" would never be
                                      // reached
    const auto now = steady_clock::now();
    if (now >= until) return Event::kTimeout;
    const auto left = std::chrono::ceil<milliseconds>(until - now).count();
    pollfd fds[2] = {{reply_fd_, POLLIN, 0}, {output_fd_, POLLIN, 0}};
    const int events =
        ::poll(fds, output_fd_ >= 0 ? 2 : 1, static_cast<int>(std::min<int64_t>(left, kPollMs)));
    if (output_fd_ >= 0 && fds[1].revents != 0) drain_output();
    // A line that exceeds our memory bound is treated as the end.
    if (fds[0].revents != 0 && !drain_replies() && replies_.find('\n') == std::string::npos) {
      reap(steady_clock::now() + milliseconds(1000));
      return Event::kEnded;
    }
    // A child of its own may hold the sockets open after it has died.
    if (events == 0 && has_exited()) {
      drain_replies();
      reap(steady_clock::now());
    }
  }
}

bool Process::has_exited() const {
  siginfo_t what{};
  return ::waitid(P_PID, static_cast<id_t>(pid_), &what, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         what.si_pid == pid_;
}

void Process::reap(TimePoint limit) {
  if (ended_ || pid_ < 0) return;
  for (;;) {
    if (output_fd_ >= 0) drain_output();
    rusage used{};
    const pid_t got = ::wait4(pid_, &wait_status_, WNOHANG, &used);
    if (got == pid_) cpu_s_at_end_ = seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
    if (got == pid_ || (got < 0 && errno == ECHILD)) break;
    if (steady_clock::now() >= limit && !killed_by_us_) {
      killed_by_us_ = true;
      ::kill(-pid_, SIGKILL);  // also kills the processes that it started
      ::kill(pid_, SIGKILL);   // it may not have made its group yet
    }
    std::this_thread::sleep_for(milliseconds(1));
  }
  ended_ = true;
  if (output_fd_ >= 0) drain_output();
  ran_out_of_memory_ =
      !killed_by_us_ && machine::Machine().out_of_memory_kills() > oom_kills_before_;
}

void Process::end(TimePoint limit) {
  if (command_fd_ >= 0) ::close(command_fd_);
  command_fd_ = -1;
  reap(limit);
}

bool Process::exited_cleanly() const {
  return ended_ && WIFEXITED(wait_status_) && WEXITSTATUS(wait_status_) == 0;
}

std::string Process::cause() const {
  std::string text = killed_by_us_ ? "killed" : describe_exit(wait_status_, ran_out_of_memory_);
  const std::string words = last_words();
  if (!words.empty()) text += ": it said: " + words;
  return text;
}

std::string Process::last_words() const {
  constexpr size_t kLines = 3;
  constexpr size_t kBytes = 400;
  std::vector<std::string> lines;
  std::istringstream stream(output_);
  for (std::string line; std::getline(stream, line);) {
    const size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos) continue;
    lines.push_back(line.substr(first, line.find_last_not_of(" \t\r") + 1 - first));
  }
  std::string text;
  for (size_t i = lines.size() > kLines ? lines.size() - kLines : 0; i < lines.size(); ++i) {
    if (!text.empty()) text += " | ";
    text += lines[i];
  }
  return text.size() > kBytes ? "..." + text.substr(text.size() - kBytes) : text;
}

double Process::cpu_seconds() const {
  if (ended_) return cpu_s_at_end_;
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(pid_, &clock) != 0) return 0;
  if (::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

bool Process::wants_processor() const {
  std::error_code error;
  const std::filesystem::path tasks = "/proc/" + std::to_string(pid_) + "/task";
  for (std::filesystem::directory_iterator it(tasks, error), end; !error && it != end;
       it.increment(error)) {
    std::ifstream file(it->path() / "stat");
    std::string text;
    std::getline(file, text);
    const size_t name_end = text.rfind(')');  // the name may hold spaces and parentheses
    if (name_end != std::string::npos && text.compare(name_end, 3, ") R") == 0) return true;
  }
  return false;
}

uint64_t Process::peak_memory_bytes() const {
  std::ifstream file("/proc/" + std::to_string(pid_) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::strtoull(line.c_str() + 6, nullptr, 10) * 1024;
  }
  return 0;
}

}  // namespace xsp::experiment
