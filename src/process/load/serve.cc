#include "process/load/serve.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "process/load/processor_clock.h"
#include "process/load/queue.h"
#include "process/load/run_delay.h"
#include "xsp/xsp.h"

namespace xsp::process {
namespace {

// A thread that sleeps wakes up to this much too late, so the rest of a wait is spent awake.
constexpr int64_t kLateNs = 100'000;
constexpr int64_t kSleepNsMax = 3'600'000'000'000;

class Instances {
 public:
  Instances(const LoadSettings& settings, int64_t start_ns, Source& source,
            std::span<Server* const> servers, Clock& clock, const OnBatch& on_batch,
            const std::atomic<bool>* stop)
      : records_requests_(settings.records_requests),
        source_(source),
        servers_(servers),
        clock_(clock),
        on_batch_(on_batch),
        stop_(stop),
        queue_(settings, start_ns, source) {
    report_.start_ns = start_ns;
    end_ns_ = settings.time_ns > 0 ? start_ns + settings.time_ns : kNever;
    report_.answers.reserve(std::min<uint64_t>(settings.requests, 1 << 20));
  }

  Result<LoadReport> run() {
    std::vector<std::thread> threads;
    for (uint32_t i = 1; i < servers_.size(); ++i) threads.emplace_back([this, i] { work(i); });
    work(0);
    for (std::thread& thread : threads) thread.join();
    if (error_) return *error_;
    report_.end_ns = clock_.now_ns();
    if (!report_.answers.empty()) report_.end_ns = last_done_ns_;
    report_.batches = queue_.batches();
    report_.abandoned = queue_.waiting();
    report_.is_interrupted = is_stopped() && !queue_.has_ended();
    return std::move(report_);
  }

 private:
  // The times of a batch's parts that its instance measures.
  struct Times {
    int64_t ready_ns = 0;
    int64_t computed_ns = 0;
    int64_t done_ns = 0;
    int64_t waited_ns = -1;
    int64_t clock_mhz = -1;
  };

  // Answers batches until none comes any more.
  void work(uint32_t instance) {
    const RunDelay delay;
    std::unique_lock lock(mutex_);
    while (!is_over()) {
      const std::optional<Batch> batch = queue_.form(clock_.now_ns());
      if (batch) {
        another_.notify_one();
        lock.unlock();
        Times times;
        const Status status = answer(*servers_[instance], *batch, delay, &times);
        lock.lock();
        if (status.ok()) {
          record(*batch, instance, times);
        } else if (!error_) {
          error_ = status.error();
        }
      } else if (looks_) {
        another_.wait(lock);
      } else {
        look(lock);
      }
    }
    another_.notify_all();
    if (looks_) source_.wake(clock_);
  }

  bool is_stopped() const { return stop_ != nullptr && *stop_; }
  bool is_over() {
    return error_ || is_stopped() || clock_.now_ns() >= end_ns_ || queue_.has_ended();
  }

  // Looks at the queue for all free instances until there may be something to do.
  void look(std::unique_lock<std::mutex>& lock) {
    looks_ = true;
    looks_until_ns_ = std::min(queue_.next_ns(), end_ns_);
    const int64_t until_ns = looks_until_ns_;
    lock.unlock();
    source_.wait_until(until_ns, clock_);
    lock.lock();
    looks_ = false;
  }

  Status answer(Server& server, const Batch& batch, const RunDelay& delay, Times* times) {
    XSP_CHECK_OK(server.prepare(batch.requests));
    const int64_t waited_before_ns = delay.ns();
    times->ready_ns = clock_.now_ns();
    XSP_CHECK_OK(server.run(batch.requests));
    times->computed_ns = clock_.now_ns();
    if (waited_before_ns >= 0) times->waited_ns = delay.ns() - waited_before_ns;
    XSP_CHECK_OK(server.finish(batch.requests));
    times->done_ns = server.has_output() ? clock_.now_ns() : times->computed_ns;
    if (records_requests_) times->clock_mhz = clock_.processor_mhz();
    return Ok{};
  }

  void record(const Batch& batch, uint32_t instance, const Times& times) {
    const Server& server = *servers_[instance];
    queue_.answered(batch, server.answers(), times.done_ns);
    // An answer may bring requests before the time until which another thread waits.
    if (looks_ && queue_.next_ns() < looks_until_ns_) source_.wake(clock_);
    const auto size = static_cast<uint32_t>(batch.requests.size());
    for (uint32_t i = 0; i < size; ++i) {
      const LoadRequest& request = batch.requests[i];
      report_.answers.push_back({request.id, batch.number, i, size, instance, request.arrival_ns,
                                 std::max(request.arrival_ns, batch.free_ns), batch.formed_ns,
                                 times.ready_ns, times.computed_ns, times.done_ns, times.waited_ns,
                                 times.clock_mhz});
    }
    last_done_ns_ = std::max(last_done_ns_, times.done_ns);
    if (on_batch_) on_batch_(server, std::span(report_.answers).last(size), report_);
  }

  const bool records_requests_;
  Source& source_;
  const std::span<Server* const> servers_;
  Clock& clock_;
  const OnBatch& on_batch_;
  const std::atomic<bool>* const stop_;  // null: nothing interrupts it
  std::mutex mutex_;                     // protects all that follows, and the source
  std::condition_variable another_;      // a thread that is free and does not look waits for it
  Queue queue_;
  LoadReport report_;
  std::optional<Error> error_;
  bool looks_ = false;  // a thread
  int64_t looks_until_ns_ = 0;
  int64_t last_done_ns_ = 0;
  int64_t end_ns_ = kNever;
};

}  // namespace

int64_t RealClock::now_ns() { return xsp_now_ns(); }

void RealClock::wait_until(int64_t ns) {
  const int64_t left_ns = ns - now_ns();
  if (left_ns > kLateNs) {
    std::unique_lock lock(mutex_);
    woken_.wait_for(lock, std::chrono::nanoseconds(std::min(left_ns - kLateNs, kSleepNsMax)),
                    [this] { return is_woken_.load(); });
  }
  while (ns - now_ns() <= kLateNs && !is_woken_.load(std::memory_order_relaxed) && now_ns() < ns) {
  }
  is_woken_ = false;
}

void RealClock::wake() {
  const std::lock_guard lock(mutex_);
  is_woken_ = true;
  woken_.notify_all();
}

int64_t RealClock::processor_mhz() { return processor_clock_mhz(); }

Result<LoadReport> serve(const LoadSettings& settings, int64_t start_ns, Source& source,
                         std::span<Server* const> servers, Clock& clock, const OnBatch& on_batch,
                         const std::atomic<bool>* stop) {
  return Instances(settings, start_ns, source, servers, clock, on_batch, stop).run();
}

}  // namespace xsp::process
