#include "desk/experiment/plan.h"

#include <gtest/gtest.h>

#include "shared/base/levels.h"
#include "xsp/xsp.h"

namespace xsp::experiment {
namespace {

constexpr uint32_t kKernels = XSP_LEVEL_BIT(XSP_LEVEL_API) | XSP_LEVEL_BIT(XSP_LEVEL_KERNEL);
constexpr uint32_t kModelAndLayer = XSP_LEVEL_BIT(XSP_LEVEL_MODEL) | XSP_LEVEL_BIT(XSP_LEVEL_LAYER);

const Capabilities kNoGpu = {
    {{"application", "alone"}, {"library", "no GPU"}, {"api", "no GPU"}, {"kernel", "no GPU"}},
    {{"cpu.so", 0, {"cpu_time_ns", "page_faults"}, Pace::kInterleaved}},
    "cycles: no hardware counters in this virtual machine",
    kModelAndLayer,
    {}};

const Capabilities kGpu = {{{"application", "alone"}, {"library", "nobody records it"}},
                           {{"cpu.so", 0, {"cpu_time_ns"}, Pace::kInterleaved},
                            {"cupti.so", kKernels, {"roofline", "flops"}, Pace::kFew},
                            {"nvml.so", 0, {"energy"}, Pace::kStretch}},
                           "",
                           kModelAndLayer | kKernels,
                           {"energy"}};

Plan plan_of(const char* levels, std::vector<int> batches, std::vector<std::string> counters,
             const Capabilities& capabilities) {
  return make_plan({parse_levels(levels).value(), std::move(batches), std::move(counters)},
                   capabilities)
      .value();
}

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
  const Plan plan = plan_of("model,layer", {1, 8}, {}, kNoGpu);
  ASSERT_EQ(plan.runs.size(), 4u);
  EXPECT_EQ(levels_text(plan.runs[0].levels), "model");
  EXPECT_EQ(levels_text(plan.runs[1].levels), "model,layer");
  EXPECT_EQ(plan.runs[1].batch, 1);
  EXPECT_EQ(plan.runs[2].batch, 8);
  EXPECT_EQ(plan.runs[3].run_id, 4);
  EXPECT_TRUE(plan.not_measured.empty());
}

TEST(Plan, KernelsAreRecordedWithTheCallsThatLaunchThem) {
  const Plan all = plan_of("all", {}, {}, kGpu);
  ASSERT_EQ(all.runs.size(), 4u);
  EXPECT_FALSE(all.runs[0].batch);
  EXPECT_EQ(levels_text(all.runs[2].levels), "model,layer,api");
  EXPECT_EQ(levels_text(all.runs[3].levels), "model,layer,api,kernel");
  EXPECT_TRUE(all.runs[1].collectors.empty());
  EXPECT_EQ(all.runs[2].collectors, std::vector<std::filesystem::path>{"cupti.so"});
  EXPECT_EQ(all.not_measured.at("library"), "nobody records it");
  const Plan kernels = plan_of("kernel", {}, {}, kGpu);
  ASSERT_EQ(kernels.runs.size(), 2u);
  EXPECT_EQ(levels_text(kernels.runs[1].levels), "model,api,kernel");
}

TEST(Plan, TheDefaultIsWhatTheDeviceHas) {
  const Plan cpu = make_plan({}, kNoGpu).value();
  ASSERT_EQ(cpu.runs.size(), 2u);
  EXPECT_TRUE(cpu.not_measured.empty());
  const Plan gpu = make_plan({}, kGpu).value();
  ASSERT_EQ(gpu.runs.size(), 5u);
  EXPECT_TRUE(gpu.not_measured.empty());
  EXPECT_EQ(levels_text(gpu.runs[4].levels), "model");
  EXPECT_EQ(gpu.runs[4].counters, std::vector<std::string>{"energy"});
  Capabilities no_cupti = kGpu;
  no_cupti.offers.erase(no_cupti.offers.begin() + 1);
  no_cupti.no_levels["api"] = no_cupti.no_levels["kernel"] = "no libcupti";
  EXPECT_EQ(make_plan({}, no_cupti).value().not_measured.at("kernel"), "no libcupti");
}

TEST(Plan, CountersOfADeviceComeLastEachAtItsOwnPace) {
  const Plan plan = plan_of("model", {1, 2}, {"energy", "roofline", "cpu_time_ns", "flops"}, kGpu);
  ASSERT_EQ(plan.runs.size(), 8u);
  EXPECT_EQ(plan.runs[1].counters, std::vector<std::string>{"cpu_time_ns"});
  EXPECT_EQ(plan.runs[1].pace, Pace::kInterleaved);
  EXPECT_EQ(plan.runs[2].counters, (std::vector<std::string>{"roofline", "flops"}));
  EXPECT_EQ(plan.runs[2].pace, Pace::kFew);
  EXPECT_EQ(levels_text(plan.runs[2].levels), "model,layer,api,kernel");
  EXPECT_EQ(plan.runs[3].counters, std::vector<std::string>{"energy"});
  EXPECT_EQ(plan.runs[3].pace, Pace::kStretch);
  EXPECT_EQ(levels_text(plan.runs[3].levels), "model");
  EXPECT_EQ(plan.runs[3].collectors, std::vector<std::filesystem::path>{"nvml.so"});
  EXPECT_EQ(plan.runs[4].batch, 2);
}

TEST(Plan, DevicesHaveOneSpelling) {
  EXPECT_EQ(parse_device("cpu").value(), "cpu");
  EXPECT_EQ(parse_device("cuda").value(), "cuda:0");
  EXPECT_EQ(parse_device("cuda:12").value(), "cuda:12");
  EXPECT_EQ(parse_device("opencl").value(), "opencl:0");
  for (const char* bad : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1,2", "cuda:99999999999",
                          "opencl:", "opencl:1"}) {
    const auto device = parse_device(bad);
    ASSERT_FALSE(device.ok()) << bad;
    EXPECT_EQ(device.error().code, Code::kUsage) << bad;
  }
}

TEST(Plan, WhatCannotBeMeasuredIsPlannedAsSuch) {
  const Plan plan = plan_of("all", {}, {"roofline", "energy", "cycles"}, kNoGpu);
  EXPECT_EQ(plan.runs.size(), 2u);
  auto expected = kNoGpu.no_levels;
  expected["roofline"] = "no GPU";
  expected["energy"] = "no GPU";
  expected["cycles"] = kNoGpu.no_counters;
  EXPECT_EQ(plan.not_measured, expected);
}

TEST(Plan, CountersHaveARunOfTheirOwn) {
  const Plan plan = plan_of("model,layer", {1, 2}, {"cpu_time_ns"}, kNoGpu);
  ASSERT_EQ(plan.runs.size(), 6u);
  EXPECT_TRUE(plan.runs[0].counters.empty());
  EXPECT_EQ(levels_text(plan.runs[2].levels), "model");
  EXPECT_EQ(plan.runs[2].counters, std::vector<std::string>{"cpu_time_ns"});
  EXPECT_EQ(plan.runs[5].batch, 2);
}

TEST(Plan, ACounterThatNobodyKnowsIsAMistake) {
  const auto plan = make_plan({{}, {}, {{"cpu_time"}}}, kNoGpu);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, Code::kUsage);
  EXPECT_NE(plan.error().text.find("cpu_time_ns"), std::string::npos) << plan.error().text;
  EXPECT_EQ(unknown_counters({"cpu_time", "page_faults", "cycles", "roofline", "energy"}, kNoGpu),
            std::vector<std::string>{"cpu_time"});
}

TEST(Plan, AskingOnlyForTheImpossibleIsAnError) {
  const auto plan = make_plan({parse_levels("api,kernel").value(), {}, {}}, kNoGpu);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, Code::kNotAvailable);
  EXPECT_NE(plan.error().text.find("not measured: no GPU"), std::string::npos);
}

TEST(Plan, ADeepLevelBringsTheModelLevelItIsComparedWith) {
  const Plan plan = plan_of("layer", {}, {}, kNoGpu);
  ASSERT_EQ(plan.runs.size(), 2u);
  EXPECT_EQ(levels_text(plan.runs[0].levels), "model");
}

}  // namespace
}  // namespace xsp::experiment
