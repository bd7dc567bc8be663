#include "desk/store/bounded.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>

#include "desk/store/confine.h"
#include "shared/base/guard.h"
#include "shared/base/scratch.h"

namespace xsp::store {
namespace {

using Clock = std::chrono::steady_clock;

// The first byte of an answer: kReturned before a result, or a digit for an error's code.
constexpr char kReturned = 'r';
constexpr char kFirstCode = '0';

void write_all(int fd, const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t wrote = ::write(fd, text.data() + at, text.size() - at);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;
    at += static_cast<size_t>(wrote);
  }
}

[[noreturn]] void be_bounded(int answer, const Bounds& bounds, const ScratchFolder& scratch,
                             const std::function<Result<std::string>()>& work) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setenv("TMPDIR", scratch.path().c_str(), 1);
  confine({bounds.read, {bounds.folder, scratch.path()}, 0});
  std::string text;
  const auto thrown = guard([&] {
    Result<std::string> result = work();
    text = result.ok() ? kReturned + std::move(result).value()
                       : static_cast<char>(kFirstCode + static_cast<int>(result.error().code)) +
                             result.error().text;
  });
  if (thrown) {
    const Code code = thrown->out_of_memory ? Code::kOutOfMemory : Code::kFailed;
    text = static_cast<char>(kFirstCode + static_cast<int>(code)) + thrown->text;
  }
  write_all(answer, text);
  ::_exit(0);
}

// Reads until all writers have closed the descriptor. Returns nothing if that takes too long.
std::optional<std::string> read_all(int fd, Clock::time_point until) {
  std::string text;
  char some[4096];
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd ready = {fd, POLLIN, 0};
    const int found = left <= 0 ? 0 : ::poll(&ready, 1, static_cast<int>(left));
    if (found < 0 && errno == EINTR) continue;
    if (found <= 0) return std::nullopt;
    const ssize_t got = ::read(fd, some, sizeof some);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(some, static_cast<size_t>(got));
  }
}

Error error_of(const std::string& what, bool is_late, int status, std::chrono::seconds most) {
  if (is_late) {
    return failed(what + ": broken off: it takes more than " + std::to_string(most.count()) + " s");
  }
  const std::string how = WIFSIGNALED(status)
                              ? std::string(::strsignal(WTERMSIG(status)))
                              : "exit status " + std::to_string(WEXITSTATUS(status));
  return corrupt(what + ": damaged: the process that reads it crashes (" + how + ")");
}

}  // namespace

Result<std::string> bounded(const Bounds& bounds, const std::string& what,
                            const std::function<Result<std::string>()>& work) {
#if defined(__SANITIZE_THREAD__)
  return work();
#endif
  XSP_TRY(const std::unique_ptr<ScratchFolder> scratch, ScratchFolder::create());
  int answer[2];
  if (::pipe2(answer, O_CLOEXEC) != 0) return failed(what + ": " + ::strerror(errno));
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(answer[0]);
    be_bounded(answer[1], bounds, *scratch, work);
  }
  ::close(answer[1]);
  if (child < 0) {
    ::close(answer[0]);
    return failed(what + ": no process can be made: " + ::strerror(errno));
  }
  const std::optional<std::string> text = read_all(answer[0], Clock::now() + bounds.most);
  ::close(answer[0]);
  if (!text) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!text || text->empty()) return error_of(what, !text, status, bounds.most);
  if (text->front() == kReturned) return text->substr(1);
  return Error{static_cast<Code>(text->front() - kFirstCode), text->substr(1)};
}

}  // namespace xsp::store
