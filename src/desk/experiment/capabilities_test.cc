#include "desk/experiment/capabilities.h"

#include <gtest/gtest.h>

#include "desk/experiment/experiment.h"
#include "shared/base/levels.h"
#include "xsp/plugin.h"

namespace xsp::experiment {
namespace {

const machine::Gpu kOneGpu = {1, "13.0", ""};
const machine::Gpu kNone = {0, "", "no GPU: the CUDA driver (libcuda.so.1) is not installed"};

Collector collector(const char* name, std::vector<std::string> levels,
                    std::vector<std::string> counters, int counting, std::string unavailable) {
  return {name, std::string(name) + ".so",
          CollectorProbe{name, std::move(levels), std::move(counters), "", "cuda", counting,
                         std::move(unavailable)}};
}

std::vector<Collector> collectors(const std::string& no_cupti) {
  return {collector("cupti", {"api", "kernel"}, {"roofline"}, XSP_COUNTS_SPANS, no_cupti),
          collector("nvml", {}, {"energy"}, XSP_COUNTS_TIME, "")};
}

TEST(Capabilities, TheGpuIsTheDefaultIfMachineAndFrameworkHaveIt) {
  const Probe both{"torch", "2", "", {"cpu", "cuda"}, {}}, cpu{"onnxruntime", "1", "", {"cpu"}, {}};
  EXPECT_EQ(default_device(both, kOneGpu, {}), "cuda:0");
  EXPECT_EQ(default_device(both, kNone, {}), "cpu");
  EXPECT_EQ(default_device(cpu, kOneGpu, {}), "cpu");
}

TEST(Capabilities, TheAdaptersOptionNamesADeviceThatItsFrameworkHas) {
  const Probe opencv{"opencv_dnn", "4", "", {"cpu", "opencl"}, {}};
  EXPECT_EQ(default_device(opencv, kNone, {{"fusion", "0"}, {"target", "opencl"}}), "opencl:0");
  EXPECT_EQ(default_device(opencv, kOneGpu, {{"target", "opencl"}}), "opencl:0");
  EXPECT_EQ(default_device(opencv, kNone, {{"target", "abacus"}}), "cpu");
}

TEST(Capabilities, ADeviceThatIsNotThereIsRefused) {
  EXPECT_TRUE(check_device("opencl:0", kNone).ok());
  EXPECT_TRUE(check_device("cpu", kNone).ok());
  EXPECT_TRUE(check_device("cuda:0", kOneGpu).ok());
  EXPECT_EQ(check_device("cuda:1", kOneGpu).error().code, Code::kNotAvailable);
  EXPECT_NE(check_device("cuda:0", kNone).error().text.find(kNone.reason), std::string::npos);
}

TEST(Capabilities, CollectorsSayWhichLevelsThereAre) {
  const Capabilities all = capabilities_of(collectors(""), "cuda:0", kOneGpu);
  EXPECT_EQ(all.no_levels.count("kernel"), 0u);
  EXPECT_EQ(all.no_levels.count("library"), 1u);
  ASSERT_EQ(all.offers.size(), 2u);
  EXPECT_EQ(levels_text(all.offers[0].levels), "api,kernel");
  EXPECT_EQ(all.offers[0].pace, Pace::kFew);
  EXPECT_EQ(all.offers[1].pace, Pace::kStretch);
  EXPECT_EQ(levels_text(all.default_levels), "model,layer,api,kernel");
  EXPECT_EQ(all.default_counters, std::vector<std::string>{"energy"});
}

TEST(Capabilities, ACollectorThatCannotSaysWhy) {
  const Capabilities some = capabilities_of(collectors("CUPTI: not found"), "cuda:0", kOneGpu);
  EXPECT_EQ(some.no_levels.at("kernel"), "CUPTI: not found");
  EXPECT_NE(some.no_counters.find("CUPTI: not found"), std::string::npos);
  EXPECT_EQ(some.offers.size(), 1u);
}

TEST(Capabilities, CollectorsOfOtherDevicesGiveNoReason) {
  std::vector<Collector> all = collectors("CUPTI: not found");
  all.push_back({"opencl", "opencl.so",
                 CollectorProbe{"opencl", {"api", "kernel"}, {}, "", "opencl", 0, "no driver"}});
  EXPECT_EQ(capabilities_of(all, "cuda:0", kOneGpu).no_levels.at("kernel"), "CUPTI: not found");
  EXPECT_EQ(capabilities_of(all, "opencl:0", kNone).no_levels.at("kernel"), "no driver");
  EXPECT_EQ(levels_text(capabilities_of(all, "opencl:0", kNone).default_levels),
            "model,layer,api,kernel");
}

TEST(Capabilities, ARunOnTheProcessorHasNothingOfTheGpu) {
  const auto others = collectors("it watches cuda, and the model runs on cpu");
  EXPECT_EQ(capabilities_of(others, "cpu", kNone).no_levels.at("kernel"), kNone.reason);
  const Capabilities beside = capabilities_of({others[0]}, "cpu", kOneGpu);
  EXPECT_EQ(beside.no_levels.at("kernel"), "no GPU: the model runs on the CPU");
  EXPECT_EQ(beside.no_counters, "");
  EXPECT_EQ(levels_text(beside.default_levels), "model,layer");
}

Series blocks(const std::vector<std::pair<double, const char*>>& states) {
  Series series;
  for (const auto& [mhz, reasons] : states) {
    MeasuredBlock block;
    block.machine.device.sm_clock_mhz = mhz;
    block.machine.device.throttle_reasons = reasons;
    series.blocks.push_back(block);
  }
  return series;
}

TEST(Judge, ASteadyClockIsNoDoubt) {
  EXPECT_TRUE(doubts_about_device({blocks({{1980, ""}, {1965, ""}}), Series{}}).empty());
  Series unknown;
  unknown.blocks.resize(3);
  EXPECT_TRUE(doubts_about_device({unknown}).empty());
}

TEST(Judge, AClockHeldDownOrMovedIsADoubtEach) {
  const auto doubts =
      doubts_about_device({blocks({{1980, ""}, {1980, "power cap"}}), blocks({{1500, ""}})});
  ASSERT_EQ(doubts.size(), 2u);
  EXPECT_NE(doubts[0].find("1 of 3 blocks (power cap)"), std::string::npos) << doubts[0];
  EXPECT_NE(doubts[1].find("between 1500 and 1980 MHz"), std::string::npos) << doubts[1];
}

TEST(Judge, ProcessorsThatOthersUsedAreADoubt) {
  const machine::CpuTimes before{100, 5, 4};  // four processors, ten seconds
  const auto doubts = [&before](const machine::CpuTimes& after, double ours_s) {
    return doubts_about_load(load_between(before, after, ours_s, 10).value());
  };
  EXPECT_TRUE(doubts(machine::CpuTimes{120, 5, 4}, 20).empty());
  const auto foreign = doubts(machine::CpuTimes{120, 5, 4}, 10);
  ASSERT_EQ(foreign.size(), 1u);
  EXPECT_NE(foreign[0].find("other programs used 25.0 %"), std::string::npos) << foreign[0];
  const auto stolen = doubts(machine::CpuTimes{100, 9, 4}, 0);
  ASSERT_EQ(stolen.size(), 1u);
  EXPECT_NE(stolen[0].find("10.0 %"), std::string::npos) << stolen[0];
  // The times are too coarse for a shorter duration, and some systems do not count them at all.
  EXPECT_FALSE(load_between(before, machine::CpuTimes{140, 5, 4}, 0, 0.5));
  EXPECT_FALSE(load_between(std::nullopt, before, 0, 10));
}

// Both clocks advance in steps, but the load must stay between zero and all processors.
TEST(Judge, OtherProgramsHaveAtMostAllProcessors) {
  const machine::CpuTimes before{100, 5, 2};
  EXPECT_EQ(load_between(before, machine::CpuTimes{120.4, 5, 2}, 0, 10)->other_share(), 1);
  EXPECT_EQ(load_between(before, machine::CpuTimes{110, 5, 2}, 10.2, 10)->other_share(), 0);
}

TEST(Judge, TheLoadOfAllThatWasMeasuredIsAFact) {
  EXPECT_TRUE(facts_about_load({}).empty());
  const auto facts = facts_about_load({{1, 0, 10}, {9, 1, 30}});
  EXPECT_EQ(facts.at("machine.other_load_pct"), "25.00");
  EXPECT_EQ(facts.at("machine.other_load_max_pct"), "30.00");
  EXPECT_EQ(facts.at("machine.stolen_pct"), "2.50");
}

TEST(Judge, WhatTookNoTurnsHasNoOverhead) {
  std::vector<experiment::Run> runs(3);
  for (size_t i = 0; i < runs.size(); ++i) {
    runs[i].planned.run_id = static_cast<int>(i) + 1;
    for (int round = 0; round < 6; ++round) {
      MeasuredBlock block;
      block.round = round;
      block.iterations = 1;
      runs[i].series.blocks.push_back(block);
      runs[i].series.latencies_ns.push_back(100.0 + static_cast<double>(i));
    }
    runs[i].series.latency_ns = latency_of(runs[i].series);
  }
  runs[2].planned.counters = {"energy"};
  runs[2].planned.pace = Pace::kStretch;
  const auto overheads = overheads_of(runs);
  ASSERT_EQ(overheads.size(), 1u);
  EXPECT_EQ(overheads[0].run_id, 2);
  EXPECT_EQ(overheads[0].latency_ns.value, 1);
}

}  // namespace
}  // namespace xsp::experiment
