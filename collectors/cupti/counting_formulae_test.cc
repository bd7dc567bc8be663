#include "collectors/cupti/counting_formulae.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace xsp::cupti {
namespace {

using Names = std::vector<std::string>;

bool any(const std::string&) { return true; }

const CounterPlan::Counter* find(const CounterPlan& plan, const std::string& name) {
  const auto found = std::find_if(plan.counters.begin(), plan.counters.end(),
                                  [&](const auto& counter) { return counter.name == name; });
  return found == plan.counters.end() ? nullptr : &*found;
}

// Returns one counter's value when the metrics have the given values, and all others are zero.
double value_of(const CounterPlan& plan, const std::string& counter,
                const std::vector<std::pair<std::string, double>>& metrics) {
  std::vector<double> values(plan.metrics.size());
  for (const auto& [name, value] : metrics) {
    const auto at = std::find(plan.metrics.begin(), plan.metrics.end(), name);
    EXPECT_NE(at, plan.metrics.end()) << name;
    if (at != plan.metrics.end()) values[static_cast<size_t>(at - plan.metrics.begin())] = value;
  }
  const std::vector<double> counters = evaluate(plan, values);
  for (size_t i = 0; i < counters.size(); ++i) {
    if (plan.counters[i].name == counter) return counters[i];
  }
  ADD_FAILURE() << counter << " is not planned";
  return 0;
}

TEST(Formulae, RooflineHasEveryCounterOnce) {
  Names unknown;
  const CounterPlan plan = plan_counters({kRoofline}, any, &unknown);
  EXPECT_TRUE(unknown.empty());
  EXPECT_TRUE(plan.absent.empty());
  std::set<std::string> names;
  for (const auto& counter : plan.counters) {
    EXPECT_TRUE(names.insert(counter.name).second) << counter.name;
  }
  for (const char* name : {"flops",
                           "fp64_flops",
                           "fp32_flops",
                           "fp16_flops",
                           "tensor_fp16_flops",
                           "tensor_bf16_flops",
                           "tensor_tf32_flops",
                           "tensor_fp8_flops",
                           "tensor_fp64_flops",
                           "tensor_int8_ops",
                           "dram_read_bytes",
                           "dram_write_bytes",
                           "l2_read_bytes",
                           "l2_write_bytes",
                           "occupancy_pct",
                           "sm_throughput_pct",
                           "dram_throughput_pct",
                           "l2_throughput_pct",
                           "tensor_pipe_pct",
                           "replay_duration_ns"}) {
    EXPECT_EQ(names.count(name), 1u) << name;
  }
  std::set<std::string> metrics(plan.metrics.begin(), plan.metrics.end());
  EXPECT_EQ(metrics.size(), plan.metrics.size()) << "a metric is counted twice";
}

TEST(Formulae, AFusedMultiplyAddIsTwoOperationsAndHalvesComeInPairs) {
  Names unknown;
  const CounterPlan plan = plan_counters({kRoofline}, any, &unknown);
  const auto sass = [](const std::string& op) {
    return "smsp__sass_thread_inst_executed_op_" + op + "_pred_on.sum";
  };
  EXPECT_EQ(
      value_of(plan, "fp32_flops", {{sass("ffma"), 10}, {sass("fadd"), 3}, {sass("fmul"), 4}}), 27);
  EXPECT_EQ(
      value_of(plan, "fp64_flops", {{sass("dfma"), 10}, {sass("dadd"), 3}, {sass("dmul"), 4}}), 27);
  EXPECT_EQ(
      value_of(plan, "fp16_flops", {{sass("hfma"), 10}, {sass("hadd"), 3}, {sass("hmul"), 4}}), 54);
}

TEST(Formulae, FlopsAreThoseOfEveryPrecisionButNotOfIntegers) {
  Names unknown;
  const CounterPlan plan = plan_counters({kRoofline}, any, &unknown);
  EXPECT_EQ(value_of(plan, "flops",
                     {{"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 1},
                      {"smsp__sass_thread_inst_executed_op_dadd_pred_on.sum", 10},
                      {"sm__ops_path_tensor_src_bf16_dst_fp32.sum", 100},
                      {"sm__ops_path_tensor_src_fp8.sum", 1000},
                      {"sm__ops_path_tensor_src_int8.sum", 10000}}),
            1112);
}

TEST(Formulae, SectorsOfTheL2CacheAre32Bytes) {
  Names unknown;
  const CounterPlan plan = plan_counters({"l2_read_bytes"}, any, &unknown);
  EXPECT_EQ(value_of(plan, "l2_read_bytes", {{"lts__t_sectors_srcunit_tex_op_read.sum", 3}}), 96);
}

TEST(Formulae, TheFirstFormulaThatTheChipHasIsTaken) {
  // Ampere's names of metrics include the type of the result, and it has no 8-bit floats.
  const auto ampere = [](const std::string& metric) {
    return metric.find("src_fp16.sum") == metric.npos && metric.find("fp8") == metric.npos &&
           metric.find("_bf16_tf32_") == metric.npos;
  };
  Names unknown;
  const CounterPlan plan = plan_counters({kRoofline}, ampere, &unknown);
  EXPECT_EQ(plan.absent, (Names{"tensor_half_flops", "tensor_fp8_flops"}));
  EXPECT_EQ(find(plan, "tensor_fp8_flops"), nullptr);
  EXPECT_EQ(value_of(plan, "tensor_fp16_flops",
                     {{"sm__ops_path_tensor_src_fp16_dst_fp16.sum", 1},
                      {"sm__ops_path_tensor_src_fp16_dst_fp32.sum", 2}}),
            3);
  EXPECT_EQ(value_of(plan, "flops", {{"sm__ops_path_tensor_src_fp16_dst_fp32.sum", 2}}), 2);
}

TEST(Formulae, AMetricOfTheChipIsACounterOfItsOwnName) {
  const auto has = [](const std::string& metric) { return metric == "sm__cycles_active.avg"; };
  Names unknown;
  const CounterPlan plan =
      plan_counters({"sm__cycles_active.avg", "sm__cycles_activ.avg", "fp32_flops"}, has, &unknown);
  EXPECT_EQ(unknown, Names{"sm__cycles_activ.avg"});
  EXPECT_EQ(plan.absent, Names{"fp32_flops"});
  ASSERT_EQ(plan.counters.size(), 1u);
  EXPECT_EQ(value_of(plan, "sm__cycles_active.avg", {{"sm__cycles_active.avg", 5}}), 5);
}

TEST(Formulae, ACounterAskedForTwiceIsCountedOnce) {
  Names unknown;
  const CounterPlan plan =
      plan_counters({"dram_read_bytes", kRoofline, "dram_read_bytes"}, any, &unknown);
  EXPECT_EQ(std::count_if(plan.counters.begin(), plan.counters.end(),
                          [](const auto& c) { return c.name == "dram_read_bytes"; }),
            1);
}

}  // namespace
}  // namespace xsp::cupti
