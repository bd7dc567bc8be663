// Queue: the requests that wait, and the rules by which they are joined into batches.
//
// The instances of the model that are free take batches from it, the oldest requests first. A batch
// is closed as soon as it has max_batch requests; or its oldest request has been there for
// max_wait; or no further request can come before one is answered.
//
// It knows neither threads nor a clock, so that a test can simulate any number of instances.
//
// Thread rule: one call at a time.
#ifndef XSP_PROCESS_LOAD_QUEUE_H_
#define XSP_PROCESS_LOAD_QUEUE_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "process/load/serve.h"
#include "process/load/settings.h"

namespace xsp::process {

// Requests that an instance answers together.
struct Batch {
  uint64_t number = 0;  // from 0
  int64_t free_ns = 0;  // an instance has been free since then
  int64_t formed_ns = 0;
  std::vector<LoadRequest> requests;
};

class Queue {
 public:
  // All instances are free. `start_ns` is the time from which the source counts.
  Queue(const LoadSettings& settings, int64_t start_ns, Source& source);

  // Takes what has arrived by `now_ns`. Returns the batch that a free instance is to answer now;
  // nothing: none is complete, or none is free.
  std::optional<Batch> form(int64_t now_ns);
  // An instance has answered a batch, and is free. `texts`: what it answered; see Server::answers.
  void answered(const Batch& batch, std::span<const std::string> texts, int64_t done_ns);
  // Returns the time at which form() is to be asked again, unless a batch is answered before.
  int64_t next_ns() const;
  // Returns whether no request waits, and none will come.
  bool has_ended() const { return waiting_.empty() && source_.has_ended(); }
  uint64_t batches() const { return batches_; }
  size_t waiting() const { return waiting_.size(); }

 private:
  bool is_complete(int64_t now_ns) const;
  int64_t deadline_ns() const;

  const uint64_t max_batch_;
  const int64_t max_wait_ns_;
  Source& source_;
  std::deque<LoadRequest> waiting_;
  const size_t instances_;
  size_t free_;            // instances
  int64_t free_since_ns_;  // one instance at least has been free since then
  uint64_t batches_ = 0;
};

}  // namespace xsp::process

#endif  // XSP_PROCESS_LOAD_QUEUE_H_
