#include "evaluate/plan.h"

#include <gtest/gtest.h>

#include "xsp/xsp.h"

namespace xsp::evaluate {
namespace {

const Capabilities kNoGpu = {
    {{"application", "alone"}, {"library", "no GPU"}, {"api", "no GPU"}, {"kernel", "no GPU"}},
    {"cpu_time_ns", "page_faults"},
    "cycles: no hardware counters in this virtual machine"};

TEST(Plan, LevelsAreParsedInAnyOrderAndWrittenOutermostFirst) {
  EXPECT_EQ(levels_text(parse_levels("layer,model").value()), "model,layer");
  EXPECT_EQ(parse_levels("all").value(), XSP_LEVELS_ALL);
  for (const char* bad : {"", "layers", "model,", ",model", "model,,layer", "model layer", "All"}) {
    const auto levels = parse_levels(bad);
    ASSERT_FALSE(levels.ok()) << bad;
    EXPECT_EQ(levels.error().code, Code::kUsage) << bad;
  }
}

TEST(Plan, BatchesArePositiveAndDistinct) {
  EXPECT_EQ(parse_batches("1,16,4").value(), (std::vector<int>{1, 16, 4}));
  for (const char* bad : {"", "0", "-1", "1,1", "1,", "a", "1.5", "1e3", "99999999999", " 1"}) {
    const auto batches = parse_batches(bad);
    ASSERT_FALSE(batches.ok()) << bad;
    EXPECT_EQ(batches.error().code, Code::kUsage) << bad;
  }
}

TEST(Plan, EachLevelAddsARunThatIncludesTheShallowerOnes) {
  const Plan plan = make_plan(parse_levels("model,layer").value(), {1, 8}, {}, kNoGpu).value();
  ASSERT_EQ(plan.runs.size(), 4u);
  EXPECT_EQ(levels_text(plan.runs[0].levels), "model");
  EXPECT_EQ(levels_text(plan.runs[1].levels), "model,layer");
  EXPECT_EQ(plan.runs[1].batch, 1);
  EXPECT_EQ(plan.runs[2].batch, 8);
  EXPECT_EQ(plan.runs[3].run_id, 4);
  EXPECT_TRUE(plan.not_measured.empty());
  const Plan with_gpu =
      make_plan(XSP_LEVELS_ALL, {}, {}, {{{"application", "alone"}}, {}, ""}).value();
  ASSERT_EQ(with_gpu.runs.size(), 5u);
  EXPECT_EQ(levels_text(with_gpu.runs[4].levels), "model,layer,library,api,kernel");
  EXPECT_FALSE(with_gpu.runs[0].batch);
}

TEST(Plan, WhatCannotBeMeasuredIsPlannedAsSuch) {
  const Plan plan = make_plan(XSP_LEVELS_ALL, {}, {"roofline", "cycles"}, kNoGpu).value();
  EXPECT_EQ(plan.runs.size(), 2u);
  auto expected = kNoGpu.no_levels;
  expected["roofline"] = "no GPU";
  expected["cycles"] = kNoGpu.no_counters;
  EXPECT_EQ(plan.not_measured, expected);
}

TEST(Plan, CountersHaveARunOfTheirOwn) {
  const Plan plan =
      make_plan(parse_levels("model,layer").value(), {1, 2}, {"cpu_time_ns"}, kNoGpu).value();
  ASSERT_EQ(plan.runs.size(), 6u);
  EXPECT_TRUE(plan.runs[0].counters.empty());
  EXPECT_EQ(levels_text(plan.runs[2].levels), "model");
  EXPECT_EQ(plan.runs[2].counters, std::vector<std::string>{"cpu_time_ns"});
  EXPECT_EQ(plan.runs[5].batch, 2);
}

TEST(Plan, ACounterThatNobodyKnowsIsAMistake) {
  const auto plan = make_plan(XSP_LEVELS_ALL, {}, {"cpu_time"}, kNoGpu);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, Code::kUsage);
  EXPECT_NE(plan.error().text.find("cpu_time_ns"), std::string::npos) << plan.error().text;
}

TEST(Plan, AskingOnlyForTheImpossibleIsAnError) {
  const auto plan = make_plan(parse_levels("api,kernel").value(), {}, {}, kNoGpu);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, Code::kNotAvailable);
  EXPECT_NE(plan.error().text.find("not measured: no GPU"), std::string::npos);
}

TEST(Plan, ADeepLevelBringsTheModelLevelItIsComparedWith) {
  const Plan plan = make_plan(parse_levels("layer").value(), {}, {}, kNoGpu).value();
  ASSERT_EQ(plan.runs.size(), 2u);
  EXPECT_EQ(levels_text(plan.runs[0].levels), "model");
}

}  // namespace
}  // namespace xsp::evaluate
