// Queue: tasks that wait in a catalogue for machines which only connect outward.
//
// An asker puts a task there, and says every few seconds that it still waits. An agent leases the
// task, renews the lease while it works, and uploads the answer in parts. Times are the database's.
// Whoever stops saying that it lives loses its part: a task whose asker is gone is not begun, and
// one whose agent is gone is lost.
//
// Thread rule: one thread.
#ifndef XSP_DESK_CATALOGUE_QUEUE_H_
#define XSP_DESK_CATALOGUE_QUEUE_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "desk/catalogue/engine.h"
#include "shared/base/result.h"

namespace xsp::catalogue {

inline constexpr double kBeat_s = 5;  // how often an asker and an agent say that they live
// After which they are gone. Both wait for a server that is started again, and are late by that.
inline constexpr double kSilence_s = kPatienceSeconds + 30;

struct Queued {
  std::string sweep;
  std::string unit;  // the task's name
  std::string spec;  // a plan with this task alone
  std::string framework;
  std::string device;
  std::string wanted;  // the agent that must take it; empty: any
};

struct AgentRow {
  std::string name;
  std::string offers;  // JSON
};

enum class QueueState { kQueued, kLeased, kAnswered, kLost, kGone };

class Queue {
 public:
  // Opens a catalogue, or makes it. Tries for so long where its server does not answer. Once `stop`
  // is not 0, no call waits for a server any more.
  static Result<Queue> open(const std::string& place, int patience_s = 0,
                            const std::atomic<int>* stop = nullptr);

  // For an asker. put() replaces an earlier task of that name, with its answer.
  Status put(const Queued& task);
  // Says that the asker lives, and returns what became of the task. `agent` gets who has it.
  Result<QueueState> look(const Queued& task, std::string* agent);
  // Gives the bytes of an answer to `take`, in order, and removes the task.
  Status fetch(const Queued& task, const std::function<Status(std::string_view)>& take);
  Status remove(const Queued& task);
  // Returns the agents that live.
  Result<std::vector<AgentRow>> agents();

  // For an agent. beat() says that it lives.
  Status beat(const AgentRow& agent);
  Status leave(const AgentRow& agent);
  // Leases the first task that `fits`.
  Result<std::optional<Queued>> lease(const AgentRow& agent,
                                      const std::function<bool(const Queued&)>& fits);
  // Returns false if the asker no longer wants it, or another agent has it.
  Result<bool> renew(const Queued& task, const AgentRow& agent);
  Status upload(const Queued& task, int64_t part, std::string_view bytes);
  Status answered(const Queued& task, const AgentRow& agent);

 private:
  Queue(std::unique_ptr<Engine> engine, const std::atomic<int>* stop)
      : engine_(std::move(engine)), stop_(stop) {}
  Status run(const std::string& sql, const Cells& cells = {});
  Status write(const std::function<Status()>& work);
  // Reads like a writer, which waits for a server that is started again.
  Result<store::Table> read(const std::string& sql, const Cells& cells = {});

  std::unique_ptr<Engine> engine_;
  const std::atomic<int>* stop_;
};

}  // namespace xsp::catalogue

#endif  // XSP_DESK_CATALOGUE_QUEUE_H_
