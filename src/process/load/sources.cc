#include "process/load/sources.h"

#include <cmath>
#include <random>

namespace xsp::process {

void Scheduled::take(int64_t now_ns, std::deque<LoadRequest>* queue) {
  for (; next_ < arrivals_.size() && start_ns_ + arrivals_[next_] <= now_ns; ++next_) {
    queue->push_back({next_, start_ns_ + arrivals_[next_], 0, next_});
  }
}

int64_t Scheduled::next_ns() {
  return next_ < arrivals_.size() ? start_ns_ + arrivals_[next_] : kNever;
}

Closed::Closed(const LoadSettings& settings, int64_t start_ns)
    : requests_(settings.requests), group_(settings.group), unanswered_(settings.clients, 0) {
  for (uint64_t client = 0; client < settings.clients; ++client) send(client, start_ns);
}

void Closed::send(uint64_t client, int64_t arrival_ns) {
  for (uint64_t i = 0; i < group_ && sent_ < requests_; ++i) {
    pending_.push_back({sent_, arrival_ns, client, sent_});
    ++sent_;
    ++unanswered_[client];
  }
}

void Closed::take(int64_t now_ns, std::deque<LoadRequest>* queue) {
  for (; !pending_.empty() && pending_.front().arrival_ns <= now_ns; pending_.pop_front()) {
    queue->push_back(pending_.front());
  }
}

void Closed::answered(std::span<const LoadRequest> batch, std::span<const std::string> /*texts*/,
                      int64_t done_ns) {
  for (const LoadRequest& request : batch) {
    if (--unanswered_[request.handle] == 0) send(request.handle, done_ns);
  }
}

std::vector<int64_t> poisson_arrivals(double rate, uint64_t count, uint64_t seed) {
  // The library's distributions differ between implementations; its generator does not.
  constexpr double kUnit = 0x1p-53;
  constexpr int kDropped = 11;
  std::mt19937_64 random(seed);
  std::vector<int64_t> arrivals;
  arrivals.reserve(count);
  double seconds = 0;
  for (uint64_t i = 0; i < count; ++i) {
    seconds -= std::log1p(-static_cast<double>(random() >> kDropped) * kUnit) / rate;
    arrivals.push_back(std::llround(seconds * 1e9));
  }
  return arrivals;
}

std::unique_ptr<Source> make_source(const LoadSettings& settings, int64_t start_ns) {
  switch (settings.generator) {
    case Generator::kServer:
      return std::make_unique<Scheduled>(
          poisson_arrivals(settings.rate, settings.requests, settings.seed), start_ns);
    case Generator::kOffline:
      return std::make_unique<Scheduled>(std::vector<int64_t>(settings.requests, 0), start_ns);
    case Generator::kReplay: {
      std::vector<int64_t> arrivals = settings.arrivals;
      if (arrivals.size() > settings.requests) arrivals.resize(settings.requests);
      return std::make_unique<Scheduled>(std::move(arrivals), start_ns);
    }
    case Generator::kClosed:
    case Generator::kLoadgen:  // see run_load()
      break;
  }
  return std::make_unique<Closed>(settings, start_ns);
}

}  // namespace xsp::process
