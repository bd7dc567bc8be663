// The sources of requests whose arrival times are known in advance, or follow from the answers.
#ifndef XSP_PROCESS_LOAD_SOURCES_H_
#define XSP_PROCESS_LOAD_SOURCES_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "process/load/serve.h"
#include "process/load/settings.h"

namespace xsp::process {

// Requests that arrive at given times, whatever the answers: an open loop.
class Scheduled : public Source {
 public:
  // `arrivals` are in order, relative to `start_ns`.
  Scheduled(std::vector<int64_t> arrivals, int64_t start_ns)
      : arrivals_(std::move(arrivals)), start_ns_(start_ns) {}
  void take(int64_t now_ns, std::deque<LoadRequest>* queue) override;
  int64_t next_ns() override;
  void answered(std::span<const LoadRequest>, std::span<const std::string>, int64_t) override {}
  bool has_ended() override { return next_ == arrivals_.size(); }

 private:
  std::vector<int64_t> arrivals_;
  const int64_t start_ns_;
  size_t next_ = 0;
};

// Clients that send their next group of requests when the last request of the group before is
// answered: a closed loop.
class Closed : public Source {
 public:
  Closed(const LoadSettings& settings, int64_t start_ns);
  void take(int64_t now_ns, std::deque<LoadRequest>* queue) override;
  int64_t next_ns() override { return pending_.empty() ? kNever : pending_.front().arrival_ns; }
  void answered(std::span<const LoadRequest> batch, std::span<const std::string> texts,
                int64_t done_ns) override;
  bool has_ended() override { return sent_ == requests_ && pending_.empty(); }

 private:
  void send(uint64_t client, int64_t arrival_ns);

  const uint64_t requests_;
  const uint64_t group_;
  uint64_t sent_ = 0;
  std::deque<LoadRequest> pending_;
  std::vector<uint64_t> unanswered_;  // of each client's group
};

// Returns the arrivals of a Poisson process: times between them are independent and exponential.
// The same seed gives the same arrivals on every machine.
std::vector<int64_t> poisson_arrivals(double rate, uint64_t count, uint64_t seed);

// Makes the source that the settings ask for, except for LoadGen's (loadgen.h).
std::unique_ptr<Source> make_source(const LoadSettings& settings, int64_t start_ns);

}  // namespace xsp::process

#endif  // XSP_PROCESS_LOAD_SOURCES_H_
