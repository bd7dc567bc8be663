#include "desk/experiment/counted.h"

#include <algorithm>
#include <cmath>

#include "desk/statistics/steady.h"

namespace xsp::experiment {
namespace {

constexpr double kWarmupShare = 1.0 / 6;
// GPUs report their power as the mean of the last second.
constexpr double kWarmupMin = 1.2;
// The most iterations of one stretch, so that even a model that takes no time comes to an end.
constexpr double kIterationsMax = 1e6;

class Counted {
 public:
  Counted(Subject& subject, int iterations_before, const Environment& environment,
          const std::atomic<int>& stop)
      : subject_(subject), environment_(environment), stop_(stop) {
    series_.warmup_iterations = iterations_before;
    series_.warmup_settled = true;  // these times are never reported
  }

  bool stopped() const { return stop_.load(std::memory_order_relaxed) > 0; }
  double now_s() const { return static_cast<double>(environment_.now_ns()) / kNsPerSecond; }
  bool is_alive() const { return !series_.failure && !stopped(); }

  // Returns the median of their latencies, or 0 after a failure.
  double warm(int iterations) {
    if (!is_alive()) return 0;
    const auto block = subject_.warm(iterations, 0);
    series_.warmup_iterations += iterations;
    if (!block.ok()) return fail(block.error());
    return median_of(*block);
  }

  void count(int iterations, double expected_s) {
    if (!is_alive()) return;
    MeasuredBlock measured;
    measured.round = static_cast<int>(series_.blocks.size());
    measured.iterations = iterations;
    measured.start_ns = environment_.now_ns();
    const auto block = subject_.run(iterations, expected_s);
    if (!block.ok()) {
      (void)fail(block.error());
      return;
    }
    measured.duration_ns = environment_.now_ns() - measured.start_ns;
    measured.machine = environment_.machine_state();
    measured.first_iteration = block->first_iteration;
    measured.median_ns = median_of(*block);
    series_.blocks.push_back(measured);
    series_.latencies_ns.insert(series_.latencies_ns.end(), block->durations_ns.begin(),
                                block->durations_ns.end());
  }

  Series end(const char* why) {
    if (series_.stopped_by.empty()) series_.stopped_by = stopped() ? "interrupt" : why;
    series_.latency_ns = latency_of(series_);
    return std::move(series_);
  }

 private:
  static double median_of(const Block& block) {
    return statistics::median(
        std::vector<double>(block.durations_ns.begin(), block.durations_ns.end()));
  }
  double fail(const Error& error) {
    series_.failure = error;
    series_.stopped_by = error.code == Code::kInterrupted ? "interrupt" : "failure";
    return 0;
  }

  Subject& subject_;
  const Environment& environment_;
  const std::atomic<int>& stop_;
  Series series_;
};

}  // namespace

Series measure_few(Subject& subject, int iterations_before, int needed, const FewLimits& limits,
                   const Environment& environment, const std::atomic<int>& stop) {
  Counted run(subject, iterations_before, environment, stop);
  const double start_s = run.now_s();
  run.warm(limits.warmup);
  for (int i = 0; i < limits.times && run.is_alive(); ++i) {
    if (i > 0 && run.now_s() - start_s > limits.time_s) return run.end("time");
    run.count(std::max(1, needed), 0);
  }
  return run.end("iterations");
}

Series measure_stretch(Subject& subject, int iterations_before, double seconds,
                       const Environment& environment, const std::atomic<int>& stop) {
  Counted run(subject, iterations_before, environment, stop);
  const auto iterations_for = [](double time_s, double latency_ns) {
    const double wanted = latency_ns > 0 ? time_s * kNsPerSecond / latency_ns : kIterationsMax;
    return static_cast<int>(std::clamp(std::round(wanted), 1.0, kIterationsMax));
  };
  constexpr int kFirst = 3;
  double latency_ns = run.warm(kFirst);
  latency_ns = run.warm(iterations_for(std::max(kWarmupMin, seconds * kWarmupShare), latency_ns));
  run.count(iterations_for(seconds, latency_ns), seconds);
  return run.end("time");
}

}  // namespace xsp::experiment
