#include "desk/experiment/counted.h"

#include <gtest/gtest.h>

#include <functional>

namespace xsp::experiment {
namespace {

// A subject in simulated time: running it advances the clock.
class CountedWork : public Subject {
 public:
  Result<Block> run(int iterations, double) override {
    counted += iterations;
    return take(iterations);
  }
  Result<Block> warm(int iterations, double) override {
    warmed += iterations;
    return take(iterations);
  }
  Environment environment() {
    return {[this] { return now_ns; }, [] { return machine::MachineState{}; }};
  }

  int64_t latency_ns = 10'000'000;
  int64_t now_ns = 0;
  int counted = 0;
  int warmed = 0;
  int dies_at = -1;
  std::function<void()> after;

 private:
  Result<Block> take(int iterations) {
    if (dies_at >= 0 && next_ + iterations > dies_at) return failed("worker: it died");
    Block block{next_, std::vector<int64_t>(static_cast<size_t>(iterations), latency_ns)};
    next_ += iterations;
    now_ns += iterations * latency_ns;
    if (after) after();
    return block;
  }
  int next_ = 1;  // one inference was run before, to show that the model runs
};

TEST(Counted, AFewTimesEverythingAfterSomeWarmUp) {
  CountedWork subject;
  const std::atomic<int> stop = 0;
  const Series series = measure_few(subject, 1, 7, {3, 2, 60}, subject.environment(), stop);
  EXPECT_EQ(subject.warmed, 3);
  EXPECT_EQ(series.warmup_iterations, 4);
  EXPECT_EQ(series.latencies_ns.size(), 14u);
  ASSERT_EQ(series.blocks.size(), 2u);
  EXPECT_EQ(series.blocks[0].first_iteration, 4);
  EXPECT_EQ(series.blocks[1].first_iteration, 11);
  EXPECT_EQ(series.stopped_by, "iterations");
}

TEST(Counted, OnceIsCountedHoweverLongItTakes) {
  CountedWork subject;
  subject.latency_ns = 100'000'000'000;
  const std::atomic<int> stop = 0;
  const Series series = measure_few(subject, 1, 1, {1, 3, 60}, subject.environment(), stop);
  EXPECT_EQ(series.latencies_ns.size(), 1u);
  EXPECT_EQ(series.stopped_by, "time");
}

TEST(Counted, AStretchIsOneBlockOfTheWantedLength) {
  CountedWork subject;
  const std::atomic<int> stop = 0;
  const Series series = measure_stretch(subject, 1, 3, subject.environment(), stop);
  ASSERT_EQ(series.blocks.size(), 1u);
  EXPECT_EQ(series.blocks[0].iterations, 300);
  EXPECT_EQ(series.blocks[0].duration_ns, 3'000'000'000);
  EXPECT_EQ(series.warmup_iterations, 1 + 3 + 120);
  EXPECT_EQ(series.blocks[0].first_iteration, series.warmup_iterations);
}

TEST(Counted, ADeathLeavesWhatWasCounted) {
  CountedWork subject;
  subject.dies_at = 6;
  const std::atomic<int> stop = 0;
  const Series series = measure_few(subject, 1, 1, {3, 9, 60}, subject.environment(), stop);
  EXPECT_EQ(series.latencies_ns.size(), 2u);
  EXPECT_EQ(series.stopped_by, "failure");
  ASSERT_TRUE(series.failure);
  EXPECT_EQ(measure_stretch(subject, 1, 3, subject.environment(), stop).stopped_by, "failure");
}

TEST(Counted, AnInterruptEndsIt) {
  CountedWork subject;
  std::atomic<int> stop = 0;
  subject.after = [&stop] { stop = 1; };
  const Series series = measure_stretch(subject, 1, 3, subject.environment(), stop);
  EXPECT_EQ(series.stopped_by, "interrupt");
  EXPECT_EQ(subject.counted, 0);
}

}  // namespace
}  // namespace xsp::experiment
