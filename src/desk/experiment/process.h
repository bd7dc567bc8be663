// Process: a child process that communicates in lines.
//
// We write its standard input. Its replies come on file descriptor 3 (process::kReplyFd). Its
// standard output and standard error are collected, and the last lines are kept to explain its end.
// Our own standard streams are not touched. The child leads its own process group, so that Ctrl-C
// at a terminal reaches only us. The kernel kills it if we die.
//
// Thread rule: one thread, the one that started the child, because the kernel ties the child's life
// to that thread.
#ifndef XSP_DESK_EXPERIMENT_PROCESS_H_
#define XSP_DESK_EXPERIMENT_PROCESS_H_

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/result.h"

namespace xsp::experiment {

using TimePoint = std::chrono::steady_clock::time_point;

// Returns in words why a process ended: "exited with status 1", "killed by signal 11 (segmentation
// fault)", "killed by the kernel: out of memory".
std::string describe_exit(int wait_status, bool ran_out_of_memory);

class Process {
 public:
  // Runs argv[0], a path, with the other arguments. Puts `preload` in front of its LD_PRELOAD.
  static Result<std::unique_ptr<Process>> start(const std::vector<std::string>& argv,
                                                const std::string& preload = {});
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();  // kills the process if it is alive

  // Sends a line and appends its line end. Returns false if the process no longer reads.
  bool send(std::string_view line);

  enum class Event { kLine, kEnded, kTimeout };
  // Waits for the next line of its replies until `limit`. Calls `limit` several times a second, so
  // that it may shrink during the wait.
  Event read_line(const std::function<TimePoint()>& limit, std::string* line);

  // Closes its input, waits until `limit` for it to end by itself, and then kills it.
  void end(TimePoint limit);
  // Returns why it ended, with its last printed lines. Call only after its end.
  std::string cause() const;
  bool has_ended() const { return ended_; }
  bool exited_cleanly() const;

  pid_t pid() const { return pid_; }
  // Returns the processor time that it has used so far, or until its end; 0 if unknown.
  double cpu_seconds() const;
  // Returns whether any of its threads is running or ready to run.
  bool wants_processor() const;
  // Returns its largest resident memory so far; 0 if unknown.
  uint64_t peak_memory_bytes() const;
  // Returns its last printed lines, joined by " | ". May be empty.
  std::string last_words() const;

 private:
  Process() = default;
  bool take_line(std::string* line);
  // Reads the available data of the descriptor. Returns false at its end.
  bool drain_replies();
  bool has_exited() const;  // also before it is reaped
  void drain_output();
  void reap(TimePoint limit);

  pid_t pid_ = -1;
  int command_fd_ = -1;
  int reply_fd_ = -1;
  int output_fd_ = -1;
  std::string replies_;
  size_t replies_scanned_ = 0;  // there is no line end before this position
  std::string output_;
  bool ended_ = false;
  bool killed_by_us_ = false;
  int wait_status_ = 0;
  double cpu_s_at_end_ = 0;
  uint64_t oom_kills_before_ = 0;
  bool ran_out_of_memory_ = false;
};

}  // namespace xsp::experiment

#endif  // XSP_DESK_EXPERIMENT_PROCESS_H_
