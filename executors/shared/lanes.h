// Lanes run units as child processes, one at a time on each device of each machine.
//
// The children end with this process: the kernel sends them SIGTERM when it dies, and they pass it
// on.
//
// Thread rule: one thread, which the kernel ties the children's lives to.
#ifndef XSP_EXECUTORS_SHARED_LANES_H_
#define XSP_EXECUTORS_SHARED_LANES_H_

#include <sys/types.h>

#include <deque>
#include <functional>

#include "executors/shared/executor.h"

namespace xsp::executors {

// Returns whether tasks on these devices of one machine disturb each other. A task on a processor
// needs the whole machine; those on different GPUs share it.
bool disturb(const std::string& device, const std::string& other);

class Lanes : public Session {
 public:
  // Returns the words of the child that runs the unit on the machine.
  using Command = std::function<std::vector<std::string>(size_t index, const std::string& system)>;

  Lanes(Job job, std::vector<std::string> systems, Command command)
      : job_(std::move(job)), systems_(std::move(systems)), command_(std::move(command)) {}
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;
  ~Lanes() override;

  Status submit(const std::vector<size_t>& indexes) override;
  Result<std::map<size_t, Held>> poll(std::chrono::milliseconds patience) override;
  Status cancel() override;

 private:
  struct Child {
    pid_t pid = -1;
    int pidfd = -1;
    std::string system;
  };

  Status start_free();
  bool is_free(const std::string& system, const std::string& device) const;
  Result<Child> start(size_t index, const std::string& system) const;
  void reap();
  void wait_for_change(std::chrono::milliseconds patience) const;

  Job job_;
  std::vector<std::string> systems_;
  Command command_;
  std::deque<size_t> waiting_;
  std::map<size_t, Child> running_;
};

}  // namespace xsp::executors

#endif  // XSP_EXECUTORS_SHARED_LANES_H_
