#include "desk/scenario/loadgen_log.h"

#include <gtest/gtest.h>

namespace xsp::scenario {
namespace {

TEST(LoadgenLog, AVerdictHasItsReasonsAndItsAdvice) {
  const LoadgenSummary summary = parse_loadgen_summary(
      "================================================\n"
      "MLPerf Results Summary\n"
      "================================================\n"
      "Scenario : Server\n"
      "Result is : INVALID\n"
      "  Performance constraints satisfied : NO\n"
      "  Min duration satisfied : Yes\n"
      "  Early stopping satisfied: NO\n"
      "Recommendations:\n"
      " * Reduce target QPS to improve latency.\n"
      "Early Stopping Result:\n"
      " * Run unsuccessful.\n"
      " * Would need more queries,\n with none too slow.\n"
      "\n"
      "================================================\n"
      "Additional Stats\n"
      "================================================\n"
      "Min latency (ns)                : 12\n"
      "99.00 percentile latency (ns)   : 34\n"
      "99.90 percentile latency (ns)   : 56\n"
      "90.0th percentile latency (ns) : 78\n");
  EXPECT_FALSE(summary.is_valid);
  EXPECT_EQ(verdict_of(summary),
            "LoadGen: INVALID: not satisfied: performance constraints, early stopping; "
            "reduce target QPS to improve latency; run unsuccessful; would need more queries, with "
            "none too slow");
  EXPECT_EQ(summary.latencies,
            (std::map<std::string, double>{{"min", 12}, {"p99", 34}, {"p99.90", 56}}));
}

TEST(LoadgenLog, WithoutAResultThereIsNoVerdict) {
  EXPECT_EQ(verdict_of(parse_loadgen_summary("")), "");
  EXPECT_EQ(verdict_of(parse_loadgen_summary("Result is : VALID\n")), "LoadGen: VALID");
}

}  // namespace
}  // namespace xsp::scenario
