// Process: a child process that is spoken to in lines.
//
// Its standard input is ours to write, its replies come on file descriptor 3 (capture::kReplyFd),
// and what it prints on standard output or standard error is collected: the tail of it is kept, to
// tell why it died. Our own standard streams are not touched. The child leads a process group of
// its own, so that Ctrl-C at a terminal reaches us alone, and is killed by the kernel if we die.
//
// Thread rule: one thread; the one that started it, as the kernel ties the child's life to it.
#ifndef XSP_EVALUATE_PROCESS_H_
#define XSP_EVALUATE_PROCESS_H_

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace xsp::evaluate {

using TimePoint = std::chrono::steady_clock::time_point;

// Why a process ended, in words: "exited with status 1", "killed by signal 11 (segmentation
// fault)", "killed by the kernel: out of memory".
std::string describe_exit(int wait_status, bool ran_out_of_memory);

class Process {
 public:
  // Runs argv[0], a path, with those arguments; `preload` is put in front of its LD_PRELOAD.
  static Result<std::unique_ptr<Process>> start(const std::vector<std::string>& argv,
                                                const std::string& preload = {});
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();  // kills it if it is alive

  // Sends a line; its end is added. False: the process no longer reads.
  bool send(std::string_view line);

  enum class Event { kLine, kEnded, kTimeout };
  // Waits for the next line of its replies until `limit`, which is asked again several times a
  // second, so that it may shrink while we wait.
  Event read_line(const std::function<TimePoint()>& limit, std::string* line);

  // Closes its input and waits until `limit` for it to end by itself; then kills it.
  void end(TimePoint limit);
  // Why it ended, with the last lines that it printed. Only after it ended.
  std::string cause() const;
  bool has_ended() const { return ended_; }
  bool exited_cleanly() const;

  pid_t pid() const { return pid_; }
  // Processor time that it has used so far; 0 if unknown.
  double cpu_seconds() const;
  // Is any of its threads running, or waiting for nothing but a processor?
  bool wants_processor() const;
  // The largest its resident memory has been; 0 if unknown.
  uint64_t peak_memory_bytes() const;
  // The last lines that it printed, joined by " | "; may be empty.
  std::string last_words() const;

 private:
  Process() = default;
  bool take_line(std::string* line);
  // Reads what the descriptor has; false at its end.
  bool drain_replies();
  void drain_output();
  void reap(TimePoint limit);

  pid_t pid_ = -1;
  int command_fd_ = -1;
  int reply_fd_ = -1;
  int output_fd_ = -1;
  std::string replies_;
  size_t replies_scanned_ = 0;  // no line end before it
  std::string output_;
  bool ended_ = false;
  bool killed_by_us_ = false;
  int wait_status_ = 0;
  uint64_t oom_kills_before_ = 0;
  bool ran_out_of_memory_ = false;
};

}  // namespace xsp::evaluate

#endif  // XSP_EVALUATE_PROCESS_H_
