#include "desk/experiment/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <random>

#include "desk/statistics/steady.h"

namespace xsp::experiment {
namespace {

// The fewest iterations on which a warm-up is judged.
constexpr int kWarmupIterationsMin = 6;
// Numbers of processors are drawn from 0 to this one, which is far more than any machine has.
constexpr uint64_t kProcessorsMax = 1 << 20;
// Subjects whose latencies differ by less count as equally fast: beside other programs, the fastest
// of a few iterations differs by chance by up to a factor of 5.
constexpr double kEquallyFast = 8;

int iterations_that_fill(double seconds, double latency_ns, int iterations_max) {
  if (latency_ns <= 0) return iterations_max;
  const double count = std::round(seconds * kNsPerSecond / latency_ns);
  return static_cast<int>(std::clamp(count, 1.0, static_cast<double>(iterations_max)));
}

class Loop {
 public:
  Loop(std::span<Subject* const> subjects, std::span<const SubjectInfo> infos, const Limits& limits,
       uint64_t seed, const Environment& environment, Listener& listener,
       const std::atomic<int>& stop)
      : subjects_(subjects),
        infos_(infos),
        limits_(limits),
        environment_(environment),
        listener_(listener),
        stop_(stop),
        random_(seed),
        start_ns_(environment.now_ns()),
        series_(subjects.size()),
        block_iterations_(subjects.size(), 1),
        expected_ns_(subjects.size(), 0),
        undisturbed_ns_(subjects.size(), 0) {
    for (size_t i = 0; i < infos.size(); ++i) {
      RunProgress run;
      run.levels = infos[i].levels;
      run.batch = infos[i].batch;
      progress_.runs.push_back(std::move(run));
      series_[i].warmup_iterations = infos[i].iterations_before;
    }
    progress_.bound_s = limits.time_s;
  }

  std::vector<Series> run() {
    for (const size_t i : drawn_order()) {
      if (!stopped()) warm_up(i);
    }
    if (limits_.equal_blocks) choose_equal_blocks();
    while (!stopped() && goes_on()) round();
    for (size_t i = 0; i < series_.size(); ++i) {
      Series& series = series_[i];
      if (!series.stopped_by.empty()) continue;
      if (is_settled(series, limits_)) {
        series.stopped_by = "interval";
      } else if (stopped()) {
        series.stopped_by = "interrupt";
      } else {
        const bool full = has_enough(series) || room(i) < block_iterations_[i];
        series.stopped_by = full ? "iterations" : "time";
      }
    }
    return std::move(series_);
  }

 private:
  bool stopped() const { return stop_.load(std::memory_order_relaxed) > 0; }
  bool is_alive(size_t i) const { return !series_[i].failure; }
  double elapsed_s() const {
    return static_cast<double>(environment_.now_ns() - start_ns_) / kNsPerSecond;
  }
  bool has_enough(const Series& series) const {
    return static_cast<int>(series.latencies_ns.size()) >= limits_.iterations_max;
  }

  // Returns how many more iterations the subject can run.
  int room(size_t i) const {
    if (infos_[i].iterations_max == 0) return std::numeric_limits<int>::max();
    const int done =
        series_[i].warmup_iterations + static_cast<int>(series_[i].latencies_ns.size());
    return std::max(0, infos_[i].iterations_max - done);
  }

  int iterations_for(double seconds, double latency_ns) const {
    return iterations_that_fill(seconds, latency_ns, limits_.block_iterations_max);
  }

  std::optional<Block> run_block(size_t i, int iterations, bool is_warmup) {
    progress_.runs[i].is_current = true;
    tell();
    const double expected_s = iterations * expected_ns_[i] / kNsPerSecond;
    auto block = is_warmup ? subjects_[i]->warm(iterations, expected_s)
                           : subjects_[i]->run(iterations, expected_s);
    progress_.runs[i].is_current = false;
    if (block.ok()) return std::move(block).value();
    const bool interrupted = block.error().code == Code::kInterrupted;
    series_[i].failure = block.error();
    series_[i].stopped_by = interrupted ? "interrupt" : "failure";
    progress_.runs[i].state = RunProgress::State::kFailed;
    return std::nullopt;
  }

  // Runs the first iteration, whose time counts for nothing. A framework that compiles as it goes
  // (TorchScript does so at the second inference, for example) is much slower here than later.
  void run_first(size_t i, std::vector<double>* latencies) {
    const int64_t start_ns = environment_.now_ns();
    const auto block = run_block(i, 1, true);
    ++series_[i].warmup_iterations;
    if (!block) return;
    latencies->push_back(static_cast<double>(block->durations_ns.front()));
    expected_ns_[i] = latencies->front();
    start_ns_ += environment_.now_ns() - start_ns;
  }

  void warm_up(size_t i) {
    progress_.runs[i].state = RunProgress::State::kWarmingUp;
    const double share_s =
        limits_.time_s * limits_.warmup_share / static_cast<double>(subjects_.size());
    Series& series = series_[i];
    std::vector<double> latencies;
    if (room(i) / 2 >= 1) run_first(i, &latencies);
    if (series.failure) return;
    const int64_t start_ns = environment_.now_ns();
    int iterations = 1;
    // Half of the iterations that the subject can run are left for measuring.
    while (!stopped() && room(i) / 2 >= iterations) {
      // If one inference takes all of the time, it is enough warm-up.
      if (expected_ns_[i] > limits_.time_s * kNsPerSecond) break;
      const auto block = run_block(i, iterations, true);
      // If the block failed, the trace may hold any part of it.
      series.warmup_iterations += iterations;
      if (!block) return;
      latencies.insert(latencies.end(), block->durations_ns.begin(), block->durations_ns.end());
      const double fastest_ns = static_cast<double>(std::ranges::min(block->durations_ns));
      double& undisturbed_ns = undisturbed_ns_[i];
      undisturbed_ns = undisturbed_ns == 0 ? fastest_ns : std::min(undisturbed_ns, fastest_ns);
      expected_ns_[i] =
          statistics::median(std::span(latencies).last(static_cast<size_t>(iterations)));
      const auto steady = statistics::steady_from(latencies);
      if (steady && latencies.size() >= kWarmupIterationsMin) {
        series.warmup_settled = true;
        expected_ns_[i] = statistics::median(std::span(latencies).subspan(*steady));
        break;
      }
      // Each block takes a quarter of the usual time, and at most the rest of the share.
      const double left_s =
          share_s - static_cast<double>(environment_.now_ns() - start_ns) / kNsPerSecond;
      if (left_s * kNsPerSecond < expected_ns_[i]) break;
      iterations = iterations_for(std::min(limits_.block_s / 4, left_s), expected_ns_[i]);
    }
    choose_block(i);
    progress_.runs[i].state = RunProgress::State::kMeasuring;
    if (subjects_.size() > 1) subjects_[i]->settle();
  }

  // If time is short, blocks are shorter, so that there are enough of them for an interval. They
  // fill half of the time, because the work between them takes time, too.
  double block_s() const {
    const double blocks = limits_.rounds_min * static_cast<double>(subjects_.size());
    return std::min(limits_.block_s, limits_.time_s * (1 - limits_.warmup_share) / 2 / blocks);
  }

  void choose_block(size_t i) {
    if (infos_[i].block_iterations > 0) {
      block_iterations_[i] = infos_[i].block_iterations;
      return;
    }
    block_iterations_[i] =
        std::clamp(room(i) / limits_.rounds_min, 1, iterations_for(block_s(), expected_ns_[i]));
  }

  void choose_equal_blocks() {
    std::vector<size_t> chosen;
    std::vector<BlockLength> lengths;
    for (size_t i = 0; i < subjects_.size(); ++i) {
      const bool is_known = undisturbed_ns_[i] > 0 && infos_[i].block_iterations == 0;
      if (!is_alive(i) || !is_known) continue;
      chosen.push_back(i);
      lengths.push_back({undisturbed_ns_[i], expected_ns_[i]});
    }
    const std::vector<int> fill = equal_blocks(lengths, block_s(), limits_.block_iterations_max);
    for (size_t k = 0; k < chosen.size(); ++k) {
      const size_t i = chosen[k];
      block_iterations_[i] = std::clamp(room(i) / limits_.rounds_min, 1, fill[k]);
    }
  }

  // A new random order each time: what the machine does to the first subject of a round is not
  // what it does to the second.
  std::vector<size_t> drawn_order() {
    std::vector<size_t> order(subjects_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::shuffle(order.begin(), order.end(), random_);
    return order;
  }

  void round() {
    const auto first_processor = static_cast<unsigned>(random_() % kProcessorsMax);
    for (const size_t i : drawn_order()) {
      if (stopped()) return;
      if (!is_alive(i)) continue;
      if (limits_.equal_blocks) subjects_[i]->place(first_processor);
      measure_block(i);
    }
    ++round_;
  }

  void measure_block(size_t i) {
    Series& series = series_[i];
    MeasuredBlock measured;
    measured.round = round_;
    measured.iterations = block_iterations_[i];
    measured.start_ns = environment_.now_ns();
    const auto block = run_block(i, measured.iterations, false);
    if (!block) return;
    measured.duration_ns = environment_.now_ns() - measured.start_ns;
    measured.machine = environment_.machine_state();
    if (subjects_.size() > 1) subjects_[i]->settle();
    measured.first_iteration = block->first_iteration;
    const std::vector<double> latencies(block->durations_ns.begin(), block->durations_ns.end());
    measured.median_ns = statistics::median(latencies);
    series.blocks.push_back(measured);
    if (!series.warmup_settled && round_ == 0 && !limits_.equal_blocks) {
      // The measured block tells better than the warm-up how long an iteration takes.
      expected_ns_[i] = measured.median_ns;
      choose_block(i);
    }
    series.latencies_ns.insert(series.latencies_ns.end(), latencies.begin(), latencies.end());
    series.latency_ns = latency_of(series);
    RunProgress& run = progress_.runs[i];
    run.iterations = static_cast<int>(series.latencies_ns.size());
    run.latency_ns = series.latency_ns;
    run.state =
        is_settled(series, limits_) ? RunProgress::State::kSettled : RunProgress::State::kMeasuring;
  }

  bool goes_on() const {
    double round_s = 0;
    bool wanting = false;
    bool fits = true;
    for (size_t i = 0; i < series_.size(); ++i) {
      if (!is_alive(i)) continue;
      round_s += block_iterations_[i] * expected_ns_[i] / kNsPerSecond;
      fits = fits && room(i) >= block_iterations_[i];
      wanting = wanting || !(is_settled(series_[i], limits_) || has_enough(series_[i]));
    }
    // At least one round is measured, even if the time limit is exceeded.
    return wanting && fits && (round_ == 0 || elapsed_s() + round_s <= limits_.time_s);
  }

  void tell() {
    progress_.elapsed_s = elapsed_s();
    progress_.left_s = 0;
    const double bound_s = std::max(0.0, limits_.time_s - progress_.elapsed_s);
    for (size_t i = 0; i < series_.size(); ++i) {
      if (!is_alive(i) || is_settled(series_[i], limits_)) continue;
      // The width of an interval falls with the square root of the measured time.
      const auto width = series_[i].latency_ns.relative_half_width();
      double left_s = bound_s;
      if (width && limits_.width > 0 && *width > limits_.width) {
        const double ratio = *width / limits_.width;
        left_s = std::min(bound_s, progress_.elapsed_s * (ratio * ratio - 1));
      }
      progress_.left_s = std::max(progress_.left_s, left_s);
    }
    listener_.progress(progress_);
  }

  std::span<Subject* const> subjects_;
  std::span<const SubjectInfo> infos_;
  const Limits& limits_;
  const Environment& environment_;
  Listener& listener_;
  const std::atomic<int>& stop_;
  std::mt19937_64 random_;
  int64_t start_ns_;
  int round_ = 0;
  std::vector<Series> series_;
  std::vector<int> block_iterations_;
  std::vector<double> expected_ns_;  // latency of each
  std::vector<double>
      undisturbed_ns_;  // the fastest iteration of each in its warm-up; 0: not known
  Progress progress_;
};

}  // namespace

Environment this_environment() {
  using std::chrono::duration_cast;
  using std::chrono::nanoseconds;
  using std::chrono::steady_clock;
  using std::chrono::system_clock;
  const int64_t offset_ns =
      duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count() -
      duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
  const auto machine = std::make_shared<machine::Machine>();
  return {[offset_ns] {
            return offset_ns +
                   duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
          },
          [machine] { return machine->state(); }};
}

std::vector<int> equal_blocks(std::span<const BlockLength> subjects, double block_s,
                              int iterations_max) {
  if (subjects.empty()) return {};
  const double count = static_cast<double>(subjects.size());
  double slowdown = 0, log_ns = 0, least_ns = std::numeric_limits<double>::max(), most_ns = 0;
  for (const BlockLength& one : subjects) {
    slowdown += one.expected_ns / one.undisturbed_ns / count;
    log_ns += std::log(one.undisturbed_ns) / count;
    least_ns = std::min(least_ns, one.undisturbed_ns);
    most_ns = std::max(most_ns, one.undisturbed_ns);
  }
  std::vector<int> iterations;
  for (const BlockLength& one : subjects) {
    const bool equally_fast = most_ns <= kEquallyFast * least_ns;
    const double latency_ns = equally_fast ? std::exp(log_ns) : one.undisturbed_ns;
    iterations.push_back(iterations_that_fill(block_s / slowdown, latency_ns, iterations_max));
  }
  return iterations;
}

statistics::Estimate latency_of(const Series& series) {
  std::vector<statistics::Block> blocks;
  for (const MeasuredBlock& block : series.blocks) {
    blocks.push_back({block.round, static_cast<size_t>(block.iterations)});
  }
  return statistics::estimate(series.latencies_ns, blocks);
}

bool is_settled(const Series& series, const Limits& limits) {
  if (static_cast<int>(series.blocks.size()) < limits.rounds_min) return false;
  const auto width = series.latency_ns.relative_half_width();
  return width && limits.width > 0 && *width <= limits.width;
}

statistics::Difference difference(const Series& a, const Series& b) {
  return statistics::paired_difference(a.latency_ns, b.latency_ns);
}

std::vector<Series> measure(std::span<Subject* const> subjects, std::span<const SubjectInfo> infos,
                            const Limits& limits, uint64_t seed, const Environment& environment,
                            Listener& listener, const std::atomic<int>& stop) {
  Loop loop(subjects, infos, limits, seed, environment, listener, stop);
  return loop.run();
}

}  // namespace xsp::experiment
