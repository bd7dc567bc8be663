#include "process/load/serve.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "xsp/xsp.h"

namespace xsp::process {
namespace {

// A thread that sleeps wakes up to this much too late, so the rest of a wait is spent awake.
constexpr int64_t kLateNs = 100'000;

class Loop {
 public:
  Loop(const LoadSettings& settings, int64_t start_ns, Source& source, Server& server, Clock& clock,
       const OnBatch& on_batch)
      : settings_(settings), source_(source), server_(server), clock_(clock), on_batch_(on_batch) {
    report_.start_ns = start_ns;
    free_ns_ = start_ns;
    end_ns_ = settings.time_ns > 0 ? start_ns + settings.time_ns : kNever;
    report_.answers.reserve(std::min<uint64_t>(settings.requests, 1 << 20));
  }

  Result<LoadReport> run() {
    for (;;) {
      const int64_t now_ns = clock_.now_ns();
      if (now_ns >= end_ns_) break;
      source_.take(now_ns, &queue_);
      if (queue_.empty() && source_.has_ended()) break;
      if (is_complete(now_ns)) {
        XSP_CHECK_OK(answer_batch(now_ns));
      } else {
        source_.wait_until(std::min({source_.next_ns(), deadline_ns(), end_ns_}), clock_);
      }
    }
    report_.end_ns = report_.answers.empty() ? clock_.now_ns() : report_.answers.back().done_ns;
    report_.abandoned = queue_.size();
    return std::move(report_);
  }

 private:
  int64_t deadline_ns() const {
    return queue_.empty() ? kNever : queue_.front().arrival_ns + settings_.max_wait_ns;
  }

  bool is_complete(int64_t now_ns) {
    if (queue_.empty()) return false;
    return queue_.size() >= settings_.max_batch || now_ns >= deadline_ns() ||
           source_.next_ns() == kNever;
  }

  Status answer_batch(int64_t formed_ns) {
    const size_t size = std::min<size_t>(queue_.size(), settings_.max_batch);
    batch_.assign(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(size));
    queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(size));
    XSP_CHECK_OK(server_.prepare(batch_));
    const int64_t ready_ns = clock_.now_ns();
    XSP_CHECK_OK(server_.run(batch_));
    const int64_t computed_ns = clock_.now_ns();
    XSP_CHECK_OK(server_.finish(batch_));
    const int64_t done_ns = server_.has_output() ? clock_.now_ns() : computed_ns;
    source_.answered(batch_, done_ns);
    for (size_t i = 0; i < size; ++i) {
      const LoadRequest& request = batch_[i];
      report_.answers.push_back({request.id, report_.batches, static_cast<uint32_t>(i),
                                 static_cast<uint32_t>(size), request.arrival_ns,
                                 std::max(request.arrival_ns, free_ns_), formed_ns, ready_ns,
                                 computed_ns, done_ns});
    }
    ++report_.batches;
    free_ns_ = done_ns;
    if (on_batch_) on_batch_(std::span(report_.answers).last(size), report_);
    return Ok{};
  }

  const LoadSettings& settings_;
  Source& source_;
  Server& server_;
  Clock& clock_;
  const OnBatch& on_batch_;
  LoadReport report_;
  std::deque<LoadRequest> queue_;
  std::vector<LoadRequest> batch_;
  int64_t free_ns_ = 0;  // the model has been free since then
  int64_t end_ns_ = kNever;
};

}  // namespace

int64_t RealClock::now_ns() { return xsp_now_ns(); }

void RealClock::wait_until(int64_t ns) {
  int64_t left_ns = ns - now_ns();
  if (left_ns > kLateNs) std::this_thread::sleep_for(std::chrono::nanoseconds(left_ns - kLateNs));
  while (now_ns() < ns) {
  }
}

Result<LoadReport> serve(const LoadSettings& settings, int64_t start_ns, Source& source,
                         Server& server, Clock& clock, const OnBatch& on_batch) {
  return Loop(settings, start_ns, source, server, clock, on_batch).run();
}

}  // namespace xsp::process
