#include "desk/experiment/measure.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

namespace xsp::experiment {
namespace {

// Simulated time, which advances only when a subject runs.
struct World {
  int64_t now_ns = 1'000'000'000;
  std::vector<char> order;  // the subjects' letters, one for each block
  Environment environment() {
    return {[this] { return now_ns; },
            [this] {
              return machine::MachineState{{}, {}, static_cast<double>(order.size()), {}};
            }};
  }
};

class Simulated : public Subject {
 public:
  Simulated(World& world, char letter, std::function<double(int)> latency_ns)
      : world_(world), letter_(letter), latency_ns_(std::move(latency_ns)) {}
  Result<Block> run(int iterations, double) override {
    if (dies_at >= 0 && next_ + iterations > dies_at) {
      next_ = dies_at;
      return failed("worker: killed by signal 11 (segmentation fault)");
    }
    world_.order.push_back(letter_);
    Block block;
    block.first_iteration = next_;
    for (int i = 0; i < iterations; ++i) {
      const int64_t ns = static_cast<int64_t>(latency_ns_(next_++));
      block.durations_ns.push_back(ns);
      world_.now_ns += ns;
    }
    if (after_block) after_block();
    return block;
  }
  void place(unsigned first_processor) override { places.push_back(first_processor); }
  void settle() override { ++settled; }
  std::vector<unsigned> places;
  int settled = 0;
  int dies_at = -1;
  std::function<void()> after_block;

 private:
  World& world_;
  char letter_;
  std::function<double(int)> latency_ns_;
  int next_ = 0;
};

class Silent : public Listener {
 public:
  void step(const std::string&) override {}
  void progress(const Progress& progress) override { last = progress; }
  void note(const std::string&) override {}
  void warn(const std::string&) override {}
  Progress last;
};

class Measure : public testing::Test {
 protected:
  std::function<double(int)> noisy(double mean_ns, double spread) {
    return [this, mean_ns, spread](int) {
      return mean_ns * std::exp(spread * std::normal_distribution<double>()(random));
    };
  }
  std::vector<Series> run(std::vector<Subject*> subjects, const Limits& limits) {
    const std::vector<SubjectInfo> infos(subjects.size());
    return measure(subjects, infos, limits, 5, world.environment(), listener, stop);
  }
  World world;
  Silent listener;
  std::atomic<int> stop = 0;
  std::mt19937_64 random{42};
};

TEST_F(Measure, StopsWhenTheIntervalIsNarrowAndTheIntervalIsRight) {
  Simulated a(world, 'a', noisy(10e6, 0.05));
  Limits limits;
  const Series series = run({&a}, limits)[0];
  EXPECT_EQ(series.stopped_by, "interval");
  EXPECT_TRUE(is_settled(series, limits));
  EXPECT_NEAR(series.latency_ns.mean, 10e6, 0.02 * 10e6);
  EXPECT_LT(series.latencies_ns.size(), 1000u);  // far below the limit
  EXPECT_EQ(series.latencies_ns.size(), series.latency_ns.count);
}

TEST_F(Measure, NeighboursThatResembleEachOtherDoNotEndItEarly) {
  // Iterations of one block are alike and blocks differ by 20 %, so only blocks count as evidence.
  int block_of = -1;
  double level = 1;
  Simulated a(world, 'a', [&](int) {
    const int block = static_cast<int>(world.order.size());
    if (block != block_of) level = std::exp(0.2 * std::normal_distribution<double>()(random));
    block_of = block;
    return 1e6 * level;
  });
  Limits limits;
  limits.iterations_max = 1 << 30;
  limits.time_s = 30;
  const Series series = run({&a}, limits)[0];
  EXPECT_EQ(series.stopped_by, "time");
  EXPECT_GT(series.blocks.size(), 100u);
}

TEST_F(Measure, TheTimeBoundHoldsAndAtLeastOneRoundIsMeasured) {
  Simulated a(world, 'a', noisy(1e9, 0.3));
  Simulated b(world, 'b', noisy(2e9, 0.3));
  Limits limits;
  limits.time_s = 60;
  const int64_t start = world.now_ns;
  const auto series = run({&a, &b}, limits);
  EXPECT_EQ(series[0].stopped_by, "time");
  EXPECT_LT(static_cast<double>(world.now_ns - start) / 1e9, 70);
  limits.time_s = 0.001;
  Simulated slow(world, 's', noisy(5e9, 0.3));
  const Series one = run({&slow}, limits)[0];
  EXPECT_EQ(one.blocks.size(), 1u);
  EXPECT_GE(one.warmup_iterations, 1);
}

TEST_F(Measure, InLittleTimeBlocksAreShorterSoThatThereAreEnough) {
  Limits limits;
  limits.time_s = 1.5;
  limits.width = 0;
  Simulated a(world, 'a', noisy(1e6, 0.05)), b(world, 'b', noisy(2e6, 0.05));
  for (Simulated* one : {&a, &b}) {
    one->after_block = [this] { world.now_ns += 40'000'000; };  // time between blocks
  }
  const auto series = run({&a, &b}, limits);
  for (const Series& one : series) {
    EXPECT_GE(one.blocks.size(), static_cast<size_t>(limits.rounds_min));
    EXPECT_TRUE(one.latency_ns.interval);
  }
}

TEST_F(Measure, BlocksOfAGivenLengthKeepIt) {
  Limits limits;
  limits.time_s = 2;
  limits.width = 0;
  Simulated a(world, 'a', noisy(1e6, 0.3));
  SubjectInfo info;
  info.levels = "model";
  info.block_iterations = 7;
  Subject* subject = &a;
  const auto series =
      measure({&subject, 1}, {&info, 1}, limits, 1, world.environment(), listener, stop);
  ASSERT_GT(series[0].blocks.size(), 10u);
  for (const MeasuredBlock& block : series[0].blocks) EXPECT_EQ(block.iterations, 7);
}

TEST_F(Measure, EqualBlocksGiveEqualSubjectsTheAdvantageOfARestEqually) {
  // Both take 10 ms for the first 40 ms after a rest, then 25 ms, as beside a busy program. In its
  // warm-up, b is unlucky.
  const auto beside_load = [this](int unlucky) {
    return [this, unlucky, begin_ns = int64_t{0}, end_ns = int64_t{0}](int iteration) mutable {
      if (world.now_ns != end_ns) begin_ns = world.now_ns;
      const bool is_slow =
          iteration < unlucky ? iteration % 6 != 0 : world.now_ns - begin_ns >= 40'000'000;
      end_ns = world.now_ns + (is_slow ? 25'000'000 : 10'000'000);
      return static_cast<double>(end_ns - world.now_ns);
    };
  };
  Simulated a(world, 'a', beside_load(0)), b(world, 'b', beside_load(20));
  Limits limits;
  limits.width = 0;
  limits.time_s = 10;
  limits.equal_blocks = true;
  const auto series = run({&a, &b}, limits);
  EXPECT_EQ(series[0].blocks[0].iterations, series[1].blocks[0].iterations);
  EXPECT_NEAR(series[1].latency_ns.mean / series[0].latency_ns.mean, 1, 0.05);
}

TEST_F(Measure, EqualBlocksOfDifferentSubjectsTakeEquallyLong) {
  Simulated a(world, 'a', noisy(2e6, 0.02)), b(world, 'b', noisy(20e6, 0.02));
  Limits limits;
  limits.width = 0;
  limits.time_s = 10;
  limits.equal_blocks = true;
  const auto series = run({&a, &b}, limits);
  EXPECT_NEAR(series[0].blocks[0].iterations, 10 * series[1].blocks[0].iterations, 10);
}

TEST_F(Measure, BlocksOfARoundBeginOnTheSameProcessorsWhichVary) {
  Simulated a(world, 'a', noisy(10e6, 0.02)), b(world, 'b', noisy(10e6, 0.02));
  Limits limits;
  limits.width = 0;
  limits.time_s = 10;
  run({&a, &b}, limits);
  EXPECT_TRUE(a.places.empty());
  limits.equal_blocks = true;
  const auto series = run({&a, &b}, limits);
  EXPECT_EQ(a.places.size(), series[0].blocks.size());
  EXPECT_EQ(a.places, b.places);
  EXPECT_GT(std::set(a.places.begin(), a.places.end()).size(), a.places.size() / 2);
}

TEST_F(Measure, TheIterationBoundHolds) {
  Simulated a(world, 'a', noisy(1e5, 0.5));
  Limits limits;
  limits.width = 0;
  const Series series = run({&a}, limits)[0];
  EXPECT_EQ(series.stopped_by, "iterations");
  EXPECT_GE(series.latencies_ns.size(), 5000u);
  EXPECT_LE(series.latencies_ns.size(), 5500u);
}

TEST_F(Measure, ASubjectIsNeverRunMoreOftenThanItCan) {
  for (const int most : {1, 2, 7, 40, 333}) {
    Simulated a(world, 'a', noisy(10e6, 0.5));
    Subject* subject = &a;
    const SubjectInfo info{"", {}, 0, most};
    const Series series =
        measure({&subject, 1}, {&info, 1}, Limits{}, 1, world.environment(), listener, stop)[0];
    EXPECT_LE(series.warmup_iterations + static_cast<int>(series.latencies_ns.size()), most);
    EXPECT_EQ(series.stopped_by, "iterations") << most;
    EXPECT_GE(static_cast<int>(series.latencies_ns.size()), most / 3);
  }
}

TEST_F(Measure, BlocksAreInterleavedInAnOrderThatVaries) {
  Simulated a(world, 'a', noisy(1e8, 0.2));
  Simulated b(world, 'b', noisy(1e8, 0.2));
  Limits limits;
  limits.width = 0;
  limits.time_s = 40;
  const auto series = run({&a, &b}, limits);
  EXPECT_EQ(series[0].blocks.size(), series[1].blocks.size());
  const std::string order(world.order.begin(), world.order.end());
  const std::string rounds = order.substr(order.size() - 2 * series[0].blocks.size());
  int a_first = 0;
  for (size_t i = 0; i < rounds.size(); i += 2) {
    EXPECT_NE(rounds[i], rounds[i + 1]);
    if (rounds[i] == 'a') ++a_first;
  }
  EXPECT_GT(a_first, 0);
  EXPECT_LT(a_first, static_cast<int>(series[0].blocks.size()));
}

TEST_F(Measure, SubjectsSettleBeforeAnotherOneRuns) {
  Simulated alone(world, 'x', noisy(10e6, 0.02));
  run({&alone}, Limits{});
  EXPECT_EQ(alone.settled, 0);  // there is no other subject to disturb
  Simulated a(world, 'a', noisy(10e6, 0.02));
  Simulated b(world, 'b', noisy(10e6, 0.02));
  const auto series = run({&a, &b}, Limits{});
  // Once after each block, and once after its warm-up.
  EXPECT_EQ(a.settled, static_cast<int>(series[0].blocks.size()) + 1);
  EXPECT_EQ(b.settled, static_cast<int>(series[1].blocks.size()) + 1);
}

TEST_F(Measure, DriftCancelsInTheDifference) {
  // The machine slows down by half during the experiment; b is 2 % slower than a throughout.
  const auto drifting = [this](double factor) {
    return [this, factor](int) {
      const double drift = 1 + 0.5 * static_cast<double>(world.now_ns) / 60e9;
      return 20e6 * factor * drift * std::exp(0.003 * std::normal_distribution<double>()(random));
    };
  };
  Simulated a(world, 'a', drifting(1.0));
  Simulated b(world, 'b', drifting(1.02));
  Limits limits;
  limits.width = 0;
  limits.time_s = 60;
  const auto series = run({&a, &b}, limits);
  const statistics::Difference result = difference(series[0], series[1]);
  EXPECT_GT(series[0].blocks.size(), 50u);
  ASSERT_TRUE(result.interval);
  const double relative = result.value / series[0].latency_ns.mean;
  EXPECT_NEAR(relative, 0.02, 0.004);
  EXPECT_GT(result.interval->low, 0);
}

TEST_F(Measure, WarmUpIsFoundAndLeftOut) {
  Simulated a(world, 'a', [this](int i) {
    return 5e6 * (1 + 3 * std::exp(-i / 10.0)) *
           std::exp(0.01 * std::normal_distribution<double>()(random));
  });
  Limits limits;
  const Series series = run({&a}, limits)[0];
  EXPECT_TRUE(series.warmup_settled);
  EXPECT_GE(series.warmup_iterations, 20);
  EXPECT_EQ(series.blocks[0].first_iteration, series.warmup_iterations);
  EXPECT_NEAR(series.latency_ns.mean, 5e6, 0.03 * 5e6);
}

TEST_F(Measure, AFirstInferenceThatCompilesTakesNothingOfTheTime) {
  // Compiling takes three seconds, and the limit is one second: as many rounds are measured as
  // without.
  const auto compiles = [&](int i) { return i == 0 ? 3e9 : 2e6; };
  Simulated a(world, 'a', compiles);
  Simulated b(world, 'b', compiles);
  Limits limits;
  limits.time_s = 1;
  limits.width = 0;
  for (const Series& series : run({&a, &b}, limits)) {
    EXPECT_GE(series.blocks.size(), 2u);
    EXPECT_GT(series.latencies_ns.size(), 100u);
    EXPECT_EQ(series.stopped_by, "time");
  }
}

TEST_F(Measure, ABlockThatWasGuessedTooShortGrowsAfterTheFirst) {
  // The warm-up ends while the subject is still slow.
  Simulated a(world, 'a', [&](int i) { return i < 2 ? 2e9 : 1e6; });
  Limits limits;
  limits.time_s = 5;
  limits.width = 0;
  const Series series = run({&a}, limits)[0];
  EXPECT_FALSE(series.warmup_settled);
  ASSERT_GE(series.blocks.size(), 6u);
  EXPECT_EQ(series.blocks[0].iterations, 1);
  EXPECT_EQ(series.blocks[5].iterations, 200);
}

TEST_F(Measure, AWarmUpThatNeverEndsIsBoundedAndSaidSo) {
  Simulated a(world, 'a', [](int i) { return 1e8 / (1 + 0.01 * i); });
  Limits limits;
  limits.time_s = 10;
  const Series series = run({&a}, limits)[0];
  EXPECT_FALSE(series.warmup_settled);
  EXPECT_FALSE(series.blocks.empty());
}

TEST_F(Measure, ASubjectThatDiesCostsItselfAlone) {
  Simulated a(world, 'a', noisy(10e6, 0.02));
  Simulated b(world, 'b', noisy(10e6, 0.02));
  b.dies_at = 70;
  const auto series = run({&a, &b}, Limits{});
  EXPECT_EQ(series[0].stopped_by, "interval");
  EXPECT_EQ(series[1].stopped_by, "failure");
  ASSERT_TRUE(series[1].failure);
  EXPECT_NE(series[1].failure->text.find("segmentation fault"), std::string::npos);
  EXPECT_GT(series[1].latencies_ns.size(), 0u);  // its measurements so far are kept
  EXPECT_EQ(listener.last.runs[1].state, RunProgress::State::kFailed);
}

TEST_F(Measure, AnInterruptKeepsWhatWasMeasured) {
  Simulated a(world, 'a', noisy(10e6, 0.3));
  Simulated b(world, 'b', noisy(10e6, 0.3));
  int blocks = 0;
  a.after_block = [&] {
    if (++blocks == 15) stop = 1;
  };
  const auto series = run({&a, &b}, Limits{});
  EXPECT_EQ(series[0].stopped_by, "interrupt");
  EXPECT_EQ(series[1].stopped_by, "interrupt");
  EXPECT_GT(series[0].latencies_ns.size(), 0u);
  EXPECT_LE(series[0].blocks.size(), 15u);
}

TEST_F(Measure, BlocksRecordWhenTheyRanAndTheMachinesState) {
  Simulated a(world, 'a', noisy(10e6, 0.01));
  const Series series = run({&a}, Limits{})[0];
  ASSERT_GE(series.blocks.size(), 6u);
  EXPECT_NEAR(static_cast<double>(series.blocks[0].duration_ns), 0.2e9, 0.03e9);
  EXPECT_EQ(series.blocks[0].start_ns + series.blocks[0].duration_ns, series.blocks[1].start_ns);
  EXPECT_TRUE(series.blocks[0].machine.load_1min);
  EXPECT_EQ(series.blocks[2].round, 2);
}

}  // namespace
}  // namespace xsp::experiment
