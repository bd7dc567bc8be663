// bin/xsp-worker as a child process of the test, controlled line by line.
#ifndef XSP_TESTS_CONTRACT_WORKER_PROCESS_H_
#define XSP_TESTS_CONTRACT_WORKER_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "manifest.h"

namespace xsp::contract {

using Fields = std::vector<std::string>;

class WorkerProcess {
 public:
  // Starts it with --trace and --scratch in a folder of its own, and the given arguments.
  explicit WorkerProcess(const Fields& arguments);
  // Kills the process if it still runs.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  void send(const std::string& line);
  void close_input();
  // Returns the next reply that is not a note, an input or an output; those are kept. Returns
  // nothing if the worker has closed its replies, or sends nothing for this long.
  Fields reply(int timeout_ms = 60'000);
  // Waits for the end of the process. Returns its status as waitpid does.
  int wait();

  pid_t pid() const { return pid_; }
  std::string trace() const { return (scratch_.path() / "t.xtrace").string(); }
  const Scratch& scratch() const { return scratch_; }
  const std::vector<Fields>& said() const { return said_; }  // notes, inputs, outputs

 private:
  Scratch scratch_;
  pid_t pid_ = -1;
  int input_ = -1;
  int replies_ = -1;
  std::string pending_;
  std::vector<Fields> said_;
};

// lib/xsp/adapters/NAME.so
std::string adapter_path(const std::string& name);

// Returns the error of a worker that fails, when it opens the model or runs it.
std::string failure_of(const Fields& arguments);

}  // namespace xsp::contract

#endif  // XSP_TESTS_CONTRACT_WORKER_PROCESS_H_
