// serve(): answers the requests of a source with a model, or with several instances of it.
//
//                             +-> pipeline -> model -> output    (instance 0)
//   source -> queue, batcher -+
//                             +-> pipeline -> model -> output    (instance 1)
//
// Each instance has a thread, and the threads of those that are free also look at the queue, so an
// arrival costs nothing while all of them run. One free thread looks, the others sleep. Where the
// arrival times are known in advance, no other thread takes part: a request is in the queue from
// its arrival time on, whatever the threads do then. So a load that the machine cannot keep up with
// is measured as it is, and no generator competes for a processor. queue.h has the batcher's rules.
//
// The parts of a request's latency follow one another, and add up to it exactly:
//
//   arrival      free          formed          ready        computed      done
//   |--- queue ---|--- batch ---|--- pipeline ---|--- model ---|-- output --|
//     all instances waits for     its inputs are   its batch     its answer
//     are busy      companions    made             runs          is made
//
// Time comes from a Clock, so that a test can simulate it.
#ifndef XSP_PROCESS_LOAD_SERVE_H_
#define XSP_PROCESS_LOAD_SERVE_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "process/load/settings.h"
#include "shared/base/result.h"

namespace xsp::process {

inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

struct LoadRequest {
  uint64_t id = 0;  // from 0, in the order of arrival
  int64_t arrival_ns = 0;
  uint64_t handle = 0;  // the source's own
  uint64_t item = 0;    // what it brings, if there are items: the number of one, or beyond them all
};

// An answered request. Times are those of the clock.
struct Answer {
  uint64_t id = 0;
  uint64_t batch = 0;  // number of its batch, from 0
  uint32_t position = 0;
  uint32_t batch_size = 0;
  uint32_t instance = 0;
  int64_t arrival_ns = 0;
  int64_t free_ns = 0;
  int64_t formed_ns = 0;
  int64_t ready_ns = 0;
  int64_t computed_ns = 0;
  int64_t done_ns = 0;
  int64_t waited_ns = -1;  // while the model ran, its thread waited for a processor; -1: not known
  int64_t clock_mhz = -1;  // of the processor right after the answer; -1: not known
};

// A step of a pipeline that ran for a request. Its site is one of xsp_intern_site.
struct StepTime {
  uint32_t site = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

class Clock {
 public:
  virtual ~Clock() = default;
  virtual int64_t now_ns() = 0;
  virtual void wait_until(int64_t ns) = 0;
  // Ends another thread's wait, or its next one if it does not wait now.
  virtual void wake() {}
  // Returns the clock of the processor that the calling thread runs on; -1: not known.
  virtual int64_t processor_mhz() { return -1; }
};

// The clock of the spans.
class RealClock : public Clock {
 public:
  int64_t now_ns() override;
  void wait_until(int64_t ns) override;
  void wake() override;
  int64_t processor_mhz() override;

 private:
  std::mutex mutex_;
  std::condition_variable woken_;
  std::atomic<bool> is_woken_ = false;
};

// Produces requests. Thread rule: one call at a time; while a thread waits, others may call all but
// wait_until().
class Source {
 public:
  virtual ~Source() = default;
  // Appends the requests that have arrived by `now_ns`, in order.
  virtual void take(int64_t now_ns, std::deque<LoadRequest>* queue) = 0;
  // Returns the time of the next arrival; kNever: none comes before a request is answered. A source
  // whose arrivals are not known in advance returns a time until which it may be asked again.
  virtual int64_t next_ns() = 0;
  // Returns once `ns` has come, or earlier if a request has arrived or the wait is ended by wake().
  virtual void wait_until(int64_t ns, Clock& clock) { clock.wait_until(ns); }
  virtual void wake(Clock& clock) { clock.wake(); }
  // `texts`: what an instance answered; see Server::answers.
  virtual void answered(std::span<const LoadRequest> batch, std::span<const std::string> texts,
                        int64_t done_ns) = 0;
  // Returns whether no request will come any more.
  virtual bool has_ended() = 0;
};

// An instance: makes the inputs of a batch, runs the model, and makes answers of its outputs.
// Thread rule: one thread at a time calls it.
class Server {
 public:
  virtual ~Server() = default;
  // Turns the requests into the model's inputs.
  virtual Status prepare(std::span<const LoadRequest> batch) = 0;
  virtual Status run(std::span<const LoadRequest> batch) = 0;
  // Runs the model as an answer does after its first run, before a load. The batch was prepared,
  // and the model has run. A server whose answers take one run each has nothing to do.
  virtual Status warm_further(std::span<const LoadRequest>) { return Ok{}; }
  // Makes the answers. A server without any has nothing to do, and takes no time.
  virtual bool has_output() const { return false; }
  virtual Status finish(std::span<const LoadRequest>) { return Ok{}; }
  // Returns the steps of each request of the last batch; none if there is no pipeline.
  virtual std::span<const std::vector<StepTime>> steps() const { return {}; }
  // Returns the answer to each request of the last batch as text; none if it makes no answers.
  virtual std::span<const std::string> answers() const { return {}; }
  // Writes what is not in its file yet. Fails if it could not be written.
  virtual Status close() { return Ok{}; }
};

struct LoadReport {
  std::vector<Answer> answers;  // in the order in which their batches were answered
  uint64_t batches = 0;
  uint64_t abandoned = 0;  // requests that arrived and were not answered when the time was over
  bool is_interrupted = false;  // it ended before its requests had come, or its time was over
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

// Is called after each batch, one call at a time, with the instance that has answered it.
using OnBatch = std::function<void(const Server& server, std::span<const Answer> batch,
                                   const LoadReport& report)>;

// Serves until the source has ended, until `settings.time_ns` after the begin, or until `stop` is
// set; whoever sets it then calls the source's wake(). Batches that run are answered. `start_ns` is
// the begin: the time from which the source counts. There are as many servers as
// `settings.instances`; the first one is called by the calling thread. Several of them need a clock
// that goes by itself.
Result<LoadReport> serve(const LoadSettings& settings, int64_t start_ns, Source& source,
                         std::span<Server* const> servers, Clock& clock, const OnBatch& on_batch,
                         const std::atomic<bool>* stop = nullptr);

}  // namespace xsp::process

#endif  // XSP_PROCESS_LOAD_SERVE_H_
