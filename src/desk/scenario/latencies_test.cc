#include "desk/scenario/latencies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "desk/scenario/max_rate.h"
#include "desk/scenario/scenario.h"

namespace xsp::scenario {
namespace {

// Latencies of a queue with a fixed time of service 1, at this load (Lindley's recursion).
std::vector<double> queue_latencies(double load, size_t count, std::mt19937_64& random) {
  std::exponential_distribution<double> gap(load);
  std::vector<double> latencies;
  double wait = 0;
  constexpr size_t kSettling = 2000;
  for (size_t i = 0; i < count + kSettling; ++i) {
    if (i >= kSettling) latencies.push_back(wait + 1);
    wait = std::max(0.0, wait + 1 - gap(random));
  }
  return latencies;
}

// The share of simulated 95 % intervals that hold the true percentile; `binomial` takes the error
// of independent requests.
double coverage(double load, double share, bool binomial) {
  constexpr size_t kCount = 5000;
  constexpr int kTrials = 200;
  std::mt19937_64 random(11);
  const double truth = percentile_of(queue_latencies(load, 2'000'000, random), share).value;
  int held = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const std::vector<double> values = queue_latencies(load, kCount, random);
    statistics::Interval interval;
    if (binomial) {
      const double half = 1.96 * std::sqrt(share * (1 - share) / kCount);
      interval = {percentile_of(values, share - half).value,
                  percentile_of(values, share + half).value};
    } else if (const auto found = percentile_of(values, share).interval) {
      interval = *found;
    }
    held += interval.low <= truth && truth <= interval.high;
  }
  return static_cast<double>(held) / kTrials;
}

TEST(Latencies, IntervalsOfPercentilesHoldTheTruthThoughRequestsWaitForEachOther) {
  EXPECT_GT(coverage(0.8, 0.5, false), 0.88);
  EXPECT_GT(coverage(0.8, 0.9, false), 0.88);
  EXPECT_LT(coverage(0.8, 0.5, true), 0.75) << "then parts of consecutive requests are not needed";
}

TEST(Latencies, PercentileIsAValueThatWasMeasured) {
  std::vector<double> values(10);
  std::iota(values.begin(), values.end(), 1.0);
  EXPECT_EQ(percentile_of(values, 0.5).value, 5);
  EXPECT_EQ(percentile_of(values, 0.9).value, 9);
  EXPECT_EQ(percentile_of(values, 0.99).value, 10);
  EXPECT_FALSE(percentile_of(values, 0.5).interval.has_value());
  EXPECT_EQ(mean_of(values).value, 5.5);
}

TEST(MaxRate, FindsTheBorderToOnePercentAndSaysWhenThereIsNone) {
  const auto at = [](double border) {
    return [border](double rate, uint64_t) -> Result<Probe> {
      return Probe{rate, rate <= border, rate};
    };
  };
  const auto found = find_max_rate(1000, 1, at(700));
  ASSERT_TRUE(found.ok());
  EXPECT_LE(found->rate, 700);
  EXPECT_GE(found->rate, 700 / 1.011);
  ASSERT_TRUE(found->interval.has_value());
  EXPECT_LE(found->interval->low, 700);
  EXPECT_GE(found->interval->high, 700 / 1.011);
  EXPECT_FALSE(find_max_rate(1000, 1, at(0)).ok());
}

TEST(MaxRate, AnInterruptedSearchKeepsWhatItFound) {
  int loads = 0;
  const auto until = [&loads](int last) {
    loads = 0;
    return [&loads, last](double rate, uint64_t) -> Result<Probe> {
      if (++loads > last) return Error{Code::kInterrupted, "interrupted"};
      return Probe{rate, rate <= 700, rate};
    };
  };
  const auto early = find_max_rate(1000, 1, until(3));
  ASSERT_TRUE(early.ok());
  ASSERT_TRUE(early->interrupted.has_value());
  EXPECT_EQ(early->probes.size(), 3u);
  EXPECT_EQ(early->searches, 0);
  EXPECT_EQ(early->rate, 500);  // half of the capacity keeps the bound, and is tried first
  EXPECT_FALSE(early->interval.has_value());
  const auto late = find_max_rate(1000, 1, until(30));
  ASSERT_TRUE(late.ok() && late->interrupted.has_value());
  EXPECT_GT(late->searches, 1);
  EXPECT_LT(late->searches, 6);
  EXPECT_NEAR(late->rate, 700, 7);
  const auto nothing = find_max_rate(1000, 1, until(0));
  ASSERT_TRUE(nothing.ok());
  EXPECT_EQ(nothing->rate, 0);
  EXPECT_TRUE(nothing->probes.empty());
}

TEST(Latencies, AnIntervalOfTimesIsNotBelowZero) {
  std::vector<double> waits(100, 0);
  waits[7] = 1e6;
  const Percentile mean = mean_of(waits);
  ASSERT_TRUE(mean.interval.has_value());
  EXPECT_EQ(mean.value, 1e4);
  EXPECT_EQ(mean.interval->low, 0);
  EXPECT_GT(mean.interval->high, mean.value);
}

TEST(Options, BoundsAndDurationsAreReadOrRefused) {
  const auto bound = parse_bound("p99.9=10ms");
  ASSERT_TRUE(bound.ok());
  EXPECT_NEAR(bound->share, 0.999, 1e-12);
  EXPECT_EQ(bound->ns, 1e7);
  EXPECT_EQ(*parse_duration("--max-wait", "250us"), 250'000);
  for (const char* text : {"", "99=1ms", "p0=1ms", "p100=1ms", "p99", "p99=", "p99=1", "p99=0ms"}) {
    EXPECT_FALSE(parse_bound(text).ok()) << text;
  }
  EXPECT_FALSE(parse_duration("--max-wait", "-1ms").ok());
}

TEST(Options, AScenarioThatLacksSomethingIsRefused) {
  Scenario scenario;
  for (const char* name : {"server", "replay", "max-rate", "none"}) {
    scenario.name = name;
    const Status status = check(scenario);
    ASSERT_FALSE(status.ok()) << name;
    EXPECT_EQ(status.error().code, Code::kUsage);
  }
  scenario.name = "single";
  EXPECT_TRUE(check(scenario).ok());
  scenario.max_wait_ns = 1;
  EXPECT_FALSE(check(scenario).ok());
}

TEST(Options, AnOptionThatTheScenarioDoesNotUseIsRefused) {
  const auto error_of = [](const char* name, auto set) -> std::string {
    Scenario scenario;
    scenario.name = name;
    set(&scenario);
    const Status status = check(scenario);
    return status.ok() ? "" : status.error().text;
  };
  EXPECT_EQ(error_of("single", [](Scenario* s) { s->rate = 5; }),
            "--rate: the scenario 'single' does not use it: leave it out, or choose --scenario "
            "server");
  EXPECT_EQ(error_of("offline", [](Scenario* s) { s->clients = 7; }),
            "--clients: the scenario 'offline' does not use it: leave it out, or choose "
            "--scenario closed or multi or generation");
  EXPECT_NE(error_of("closed", [](Scenario* s) { s->arrivals = "a.csv"; }), "");
  EXPECT_NE(error_of("closed", [](Scenario* s) { s->lengths = "a.tsv"; }), "");
  EXPECT_NE(error_of("closed", [](Scenario* s) { s->prompt_tokens = "1..2"; }), "");
  EXPECT_EQ(error_of("closed", [](Scenario* s) { s->clients = 7; }), "");
  EXPECT_EQ(error_of("server", [](Scenario* s) { s->rate = 7; }), "");
}

}  // namespace
}  // namespace xsp::scenario
