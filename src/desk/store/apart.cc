#include "desk/store/apart.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "desk/store/confine.h"

namespace xsp::store {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kObeys{2000};  // time to obey an interrupt
constexpr milliseconds kLook{100};    // interval between checks whether it has obeyed
constexpr uint64_t kAnswerBytesMin = uint64_t{256} << 20;

std::string& program() {
  static std::string name;
  return name;
}

Result<pid_t> spawn(int socket) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // Messages that a library prints as the process ends are of no use to the caller.
  for (int fd = 0; fd <= 2; ++fd) {
    posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  }
  posix_spawn_file_actions_adddup2(&actions, socket, kSocket);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, usual;
  sigemptyset(&none);
  sigfillset(&usual);
  // The process has its own group: Ctrl-C is meant for the caller, which may still want an answer.
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  const std::string name = program();
  char* argv[] = {const_cast<char*>("xsp"), const_cast<char*>(kApartWord), nullptr};
  pid_t pid = -1;
  const int error = posix_spawn(&pid, name.c_str(), &actions, &attributes, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return failed(std::string("cannot start a process: ") + std::strerror(error));
  return pid;
}

}  // namespace

void read_apart(std::string name) { program() = std::move(name); }
const std::string& apart_program() { return program(); }

std::string not_confined() {
  std::string gaps;
  if (!can_confine_files()) {
    gaps = "no Landlock: SQL alone is kept from other files, by DuckDB's settings";
  }
  if (!can_confine_calls()) {
    gaps += std::string(gaps.empty() ? "" : "; ") + "no seccomp: nothing is kept from the network";
  }
  return gaps;
}

Apart::Apart(std::string name, const ReadLimits& limits, std::unique_ptr<ScratchFolder> spill)
    : name_(std::move(name)),
      limits_(limits),
      spill_(std::move(spill)),
      reader_([this](char* to, size_t size) { return fill(to, size); }) {}

Apart::~Apart() {
  if (socket_ >= 0) ::close(socket_);
  if (pid_ < 0) return;
  // The process holds no data that could be lost.
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Status Apart::start() {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    return failed(name_ + ": cannot be opened: " + std::strerror(errno));
  }
  socket_ = pair[0];
  // The copy must not have the number kSocket: adddup2 would then keep its close-on-exec flag.
  const int other = ::fcntl(pair[1], F_DUPFD_CLOEXEC, kSocket + 1);
  ::close(pair[1]);
  auto pid = spawn(other);
  ::close(other);
  if (!pid.ok()) return failed(name_ + ": cannot be opened: " + pid.error().text);
  pid_ = *pid;
  return Ok{};
}

Result<std::unique_ptr<Apart>> Apart::open(const std::filesystem::path& path,
                                           const ReadLimits& limits) {
  XSP_TRY(std::unique_ptr<ScratchFolder> spill, ScratchFolder::create());
  std::unique_ptr<Apart> apart(new Apart(path.string(), limits, std::move(spill)));
  XSP_CHECK_OK(apart->start());
  WireWriter writer(apart->socket_);
  writer.word(Word::kOpen);
  writer.text(path.string());
  writer.text(apart->spill_->path().string());
  writer.number(limits.memory_bytes);
  writer.number(static_cast<uint64_t>(limits.threads));
  writer.flush();
  std::vector<Column> none;
  XSP_CHECK_OK(apart->answer(limits.open, Rows::kNone, nullptr, &none));
  return apart;
}

Error Apart::ended_error() const {
  return failed(name_ + ": the process that read it has ended: open it again");
}

void Apart::ask(std::string_view sql, const std::map<std::string, Value>& parameters, Rows rows) {
  WireWriter writer(socket_);
  writer.word(Word::kQuery);
  writer.text(sql);
  writer.number(parameters.size());
  for (const auto& [name, value] : parameters) {
    writer.text(name);
    writer.value(value);
  }
  writer.byte(static_cast<uint8_t>(rows));
  writer.flush();
}

Result<Table> Apart::query(std::string_view sql, const std::map<std::string, Value>& parameters,
                           Rows rows) {
  if (has_ended_) return ended_error();
  ask(sql, parameters, rows);
  Table table;
  const TakeRow keep = [&](std::vector<Value>& row) -> Status {
    table.rows.push_back(std::move(row));
    return Ok{};
  };
  XSP_CHECK_OK(answer(limits_.query, rows, keep, &table.columns));
  return table;
}

Status Apart::stream(std::string_view sql, const std::map<std::string, Value>& parameters,
                     const TakeRow& take, std::vector<Column>* columns) {
  if (has_ended_) return ended_error();
  ask(sql, parameters, Rows::kStreamed);
  return answer(limits_.query, Rows::kStreamed, take, columns);
}

void Apart::interrupt() {
  if (!is_asked_) return;
  Clock::rep none = 0;
  const auto kill_at = (Clock::now() + kObeys).time_since_epoch().count();
  if (!kill_at_.compare_exchange_strong(none, kill_at)) return;  // an interrupt was sent already
  const char word = static_cast<char>(Word::kInterrupt);
  // The thread that waits for the answer writes nothing to the socket.
  (void)!::send(socket_, &word, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

size_t Apart::fill(char* to, size_t size) {
  for (;;) {
    const Clock::time_point now = Clock::now();
    if (limits_.stop != nullptr && *limits_.stop) until_ = std::min(until_, now + kObeys);
    if (now >= until_) interrupt();
    const Clock::rep kill_at = kill_at_;
    if (kill_at != 0 && now.time_since_epoch().count() >= kill_at) {
      is_late_ = true;
      return 0;
    }
    pollfd polled = {socket_, POLLIN, 0};
    if (::poll(&polled, 1, static_cast<int>(kLook.count())) <= 0) continue;
    const ssize_t got = ::read(socket_, to, size);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    return got > 0 ? static_cast<size_t>(got) : 0;
  }
}

Error Apart::end(bool is_over) {
  ::kill(pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  has_ended_ = true;
  if (is_late_) {
    return Error{Code::kInterrupted, "SQL on " + name_ + ": broken off: it took too long"};
  }
  if (is_over) {
    return Error{Code::kOutOfMemory, "SQL on " + name_ + ": its answer is too large: ask for less"};
  }
  std::string how = "what it says makes no sense";
  if (WIFEXITED(status)) how = "it exited with status " + std::to_string(WEXITSTATUS(status));
  if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL) {
    how = "it was ended by signal " + std::to_string(WTERMSIG(status)) + " (" +
          ::strsignal(WTERMSIG(status)) + ")";
  }
  return corrupt(name_ + ": damaged: the process that read it failed: " + how +
                 ": restore it from a copy, or measure again");
}

Status Apart::answer(milliseconds most, Rows rows, const TakeRow& take,
                     std::vector<Column>* columns) {
  until_ = most.count() != 0 ? Clock::now() + most : Clock::time_point::max();
  // Rows that are not kept take no memory here.
  const bool is_limited = limits_.memory_bytes != 0 && rows != Rows::kStreamed;
  reader_.limit(is_limited ? std::max(kAnswerBytesMin, 4 * limits_.memory_bytes) : UINT64_MAX);
  kill_at_ = 0;
  is_asked_ = true;
  std::optional<Error> refusal;
  Word word = reader_.word();
  if (word == Word::kColumns) {
    *columns = read_columns();
    word = read_rows(columns->size(), take, &refusal);
  }
  std::optional<Error> error;
  if (word == Word::kError) error = reader_.error();
  is_asked_ = false;
  if (!reader_.ok() || (word != Word::kOk && !error)) return end(reader_.is_over_limit());
  if (refusal) return *refusal;
  if (error) return *error;
  return Ok{};
}

std::vector<Column> Apart::read_columns() {
  std::vector<Column> columns;
  for (uint64_t left = reader_.number(); left > 0 && reader_.ok(); --left) {
    std::string name = reader_.text();
    columns.push_back({std::move(name), reader_.text()});
  }
  return columns;
}

Word Apart::read_rows(size_t columns, const TakeRow& take, std::optional<Error>* refusal) {
  Word word = Word::kOk;
  while (reader_.ok() && (word = reader_.word()) == Word::kRow) {
    std::vector<Value> row;
    row.reserve(columns);
    for (size_t i = 0; i < columns; ++i) row.push_back(reader_.value());
    if (!reader_.ok() || *refusal) continue;
    const Status taken = take(row);
    if (taken.ok()) continue;
    *refusal = taken.error();
    interrupt();
  }
  return word;
}

}  // namespace xsp::store
