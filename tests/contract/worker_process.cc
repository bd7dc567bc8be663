#include "worker_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "process/worker/protocol.h"
#include "processor.h"

namespace xsp::contract {

std::string adapter_path(const std::string& name) {
  return (bin_folder() / "../lib/xsp/adapters" / (name + ".so")).string();
}

WorkerProcess::WorkerProcess(const Fields& arguments) {
  const std::string program = bin_folder().string() + "/xsp-worker";
  Fields line = emulator_words();
  const bool is_emulated = !line.empty();
  line.insert(line.end(), {program, "--trace", trace(), "--scratch", scratch_.path().string()});
  line.insert(line.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : line) argv.push_back(word.data());
  argv.push_back(nullptr);
  int input[2];
  int replies[2];
  if (pipe2(input, O_CLOEXEC) != 0 || pipe2(replies, O_CLOEXEC) != 0) std::abort();
  std::signal(SIGPIPE, SIG_IGN);
  // Sanitizers would turn a crash, or a request for too much memory, into an exit. A child must not
  // allocate, so this is set before the fork.
  setenv("ASAN_OPTIONS", "handle_segv=0:allocator_may_return_null=1", 1);
  pid_ = fork();
  if (pid_ == 0) {
    dup2(input[0], STDIN_FILENO);
    dup2(replies[1], process::kReplyFd);
    fcntl(process::kReplyFd, F_SETFD, 0);
    if (is_emulated) execvp(argv[0], argv.data());
    if (!is_emulated) execv(program.c_str(), argv.data());
    _exit(127);
  }
  close(input[0]);
  close(replies[1]);
  input_ = input[1];
  replies_ = replies[0];
}

WorkerProcess::~WorkerProcess() {
  close_input();
  if (pid_ > 0) kill(pid_, SIGKILL);
  wait();
  close(replies_);
}

void WorkerProcess::send(const std::string& line) {
  const std::string text = line + "\n";
  EXPECT_EQ(write(input_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

void WorkerProcess::close_input() {
  if (input_ >= 0) close(input_);
  input_ = -1;
}

Fields WorkerProcess::reply(int timeout_ms) {
  for (;;) {
    const size_t end = pending_.find('\n');
    if (end != std::string::npos) {
      Fields fields = process::split_fields(pending_.substr(0, end));
      pending_.erase(0, end + 1);
      const bool is_before = fields[0] == "note" || fields[0] == "input" || fields[0] == "output" ||
                             fields[0] == "unknown_batch";
      if (!is_before) return fields;
      said_.push_back(std::move(fields));
      continue;
    }
    pollfd waiting{replies_, POLLIN, 0};
    if (poll(&waiting, 1, timeout_ms) <= 0) return {};
    char buffer[4096];
    const ssize_t n = read(replies_, buffer, sizeof buffer);
    if (n <= 0) return {};
    pending_.append(buffer, static_cast<size_t>(n));
  }
}

int WorkerProcess::wait() {
  if (pid_ <= 0) return -1;
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return status;
}

std::string failure_of(const Fields& arguments) {
  WorkerProcess worker(arguments);
  Fields reply = worker.reply();
  if (!reply.empty() && reply[0] == "ready") {
    worker.send("run\t1");
    reply = worker.reply();
  }
  EXPECT_EQ(reply.size(), 3u);
  return reply.size() == 3 ? reply[0] + " " + reply[1] + " " + reply[2] : "";
}

}  // namespace xsp::contract
