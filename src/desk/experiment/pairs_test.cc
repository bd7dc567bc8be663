#include "desk/experiment/pairs.h"

#include <gtest/gtest.h>

#include <random>

#include "xsp/xsp.h"

namespace xsp::experiment {
namespace {

PlannedRun planned(int run_id, uint32_t levels, int batch) {
  PlannedRun run;
  run.run_id = run_id;
  run.levels = levels;
  run.batch = batch;
  return run;
}

TEST(PlanOfPairs, KeepsTheModelAloneAtEachBatchSize) {
  const uint32_t model = XSP_LEVEL_BIT(XSP_LEVEL_MODEL);
  Plan plan;
  plan.runs = {planned(1, model, 1), planned(2, model | XSP_LEVEL_BIT(XSP_LEVEL_LAYER), 1),
               planned(3, model, 1), planned(4, model, 8)};
  plan.runs[2].counters = {"energy"};
  const Plan pairs = plan_of_pairs(plan);
  ASSERT_EQ(pairs.runs.size(), 2u);
  EXPECT_EQ(pairs.runs[0].run_id, 1);
  EXPECT_EQ(pairs.runs[0].batch, 1);
  EXPECT_EQ(pairs.runs[1].run_id, 2);
  EXPECT_EQ(pairs.runs[1].batch, 8);
}

// Returns the series of a process that warmed up for `warmup` iterations and then measured these
// values in turns of two.
Series process_of(int warmup, const std::vector<double>& latencies, int64_t start_ns) {
  Series series;
  series.warmup_iterations = warmup;
  series.warmup_settled = true;
  series.latencies_ns = latencies;
  for (size_t i = 0; i < latencies.size(); i += 2) {
    MeasuredBlock block;
    block.first_iteration = warmup + static_cast<int>(i);
    block.iterations = 2;
    block.start_ns = start_ns + static_cast<int64_t>(i) * 100;
    block.duration_ns = 50;
    block.machine.load_1min = static_cast<double>(i);
    series.blocks.push_back(block);
  }
  return series;
}

TEST(AddProcess, OneProcessIsOneBlockWithTheNumberOfItsPair) {
  Series run;
  add_process(process_of(3, {10, 11, 12, 13}, 1000), 0, &run);
  add_process(process_of(5, {20, 21}, 5000), 2, &run);
  EXPECT_EQ(run.warmup_iterations, 8);
  EXPECT_EQ(run.latencies_ns, (std::vector<double>{10, 11, 12, 13, 20, 21}));
  ASSERT_EQ(run.blocks.size(), 2u);
  EXPECT_EQ(run.blocks[0].round, 0);
  EXPECT_EQ(run.blocks[0].first_iteration, 0);
  EXPECT_EQ(run.blocks[0].iterations, 4);
  EXPECT_EQ(run.blocks[0].start_ns, 1000);
  EXPECT_EQ(run.blocks[0].duration_ns, 250);  // to the end of its last turn
  EXPECT_EQ(run.blocks[0].machine.load_1min, 2);
  EXPECT_EQ(run.blocks[1].round, 2);
  EXPECT_EQ(run.blocks[1].first_iteration, 4);
  ASSERT_EQ(run.latency_ns.residuals.size(), 2u);
  EXPECT_EQ(run.latency_ns.residuals[1].round, 2);
}

TEST(AddProcess, OneThatHadNotSettledIsRemembered) {
  Series run, late = process_of(3, {10, 11}, 0);
  late.warmup_settled = false;
  add_process(process_of(3, {10, 11}, 0), 0, &run);
  EXPECT_TRUE(run.warmup_settled);
  add_process(late, 1, &run);
  add_process(process_of(3, {10, 11}, 0), 2, &run);
  EXPECT_FALSE(run.warmup_settled);
}

// Returns the latency of processes that differ by `spread`, while each process itself shows little
// of that spread.
statistics::Estimate simulated(int processes, double latency, double spread, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Series run;
  for (int round = 0; round < processes; ++round) {
    const double of_process = latency * (1 + spread * normal(random));
    std::vector<double> latencies;
    for (int i = 0; i < 40; ++i) latencies.push_back(of_process * (1 + 0.01 * normal(random)));
    add_process(process_of(1, latencies, 0), round, &run);
  }
  return run.latency_ns;
}

TEST(IsSettled, AsksForTheRatiosInterval) {
  const auto narrow = [](int processes, double spread) {
    return is_settled(simulated(processes, 1e6, spread, 1), simulated(processes, 1e6, spread, 2),
                      0.02);
  };
  EXPECT_TRUE(narrow(8, 0));
  EXPECT_FALSE(narrow(5, 0));  // too few for any interval
  EXPECT_FALSE(narrow(8, 0.1));
  EXPECT_TRUE(narrow(400, 0.1));
  const auto a = simulated(8, 1e6, 0, 1);
  EXPECT_FALSE(is_settled(a, a, 0));
}

TEST(Pairs, TheIntervalHoldsTheSpreadBetweenProcesses) {
  constexpr int kTrials = 400;
  int covered = 0, covered_by_one_process = 0;
  for (uint64_t trial = 0; trial < kTrials; ++trial) {
    const auto a = simulated(8, 1e6, 0.05, 2 * trial);
    const auto b = simulated(8, 1.1e6, 0.05, 2 * trial + 1);
    const auto ratio = statistics::paired_ratio(a, b);
    ASSERT_TRUE(ratio && ratio->interval);
    covered += ratio->interval->low <= 1.1 && 1.1 <= ratio->interval->high;
    // The same values as one process that was cut into blocks.
    const auto one = [&](double latency, uint64_t seed) {
      std::mt19937_64 random(seed);
      std::normal_distribution<double> normal;
      const double of_process = latency * (1 + 0.05 * normal(random));
      std::vector<double> values;
      for (int i = 0; i < 320; ++i) values.push_back(of_process * (1 + 0.01 * normal(random)));
      return statistics::estimate(values, {});
    };
    const auto single =
        statistics::unpaired_ratio(one(1e6, 2 * trial), one(1.1e6, 2 * trial + 1), 0);
    covered_by_one_process += single->interval->low <= 1.1 && 1.1 <= single->interval->high;
  }
  EXPECT_GE(covered, 0.92 * kTrials);
  EXPECT_LE(covered, 0.98 * kTrials);
  EXPECT_LE(covered_by_one_process, 0.3 * kTrials);
}

}  // namespace
}  // namespace xsp::experiment
