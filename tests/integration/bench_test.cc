// Tests that the figures of bench_trace are labelled, and that tools can read them.
#include "tests/integration/run_xsp.h"
#include "tests/places.h"

namespace xsp::integration {
namespace {

using BenchTest = XspTest;

TEST_F(BenchTest, TheCostOfASpanIsThatOfRecordedSpansAndJson) {
  RunOptions options;
  options.program = places::bin("bench_trace");
  const Finished finished =
      run({"--benchmark_format=json", "--benchmark_min_time=0.02", "--benchmark_repetitions=2"},
          options);
  ASSERT_EQ(finished.status, 0) << finished.err;
  const auto document = nlohmann::json::parse(finished.out, nullptr, false);
  ASSERT_FALSE(document.is_discarded()) << finished.out;
  std::map<std::string, int> runs;
  for (const auto& one : document["benchmarks"]) {
    if (one["run_type"] != "iteration") continue;
    const std::string name = one["name"];
    ++runs[name.substr(0, name.find('/'))];
    if (name.rfind("span_drained", 0) != 0) continue;
    EXPECT_EQ(one["recorded_pct"], 100.0) << one;
  }
  const std::map<std::string, int> wanted = {
      {"floor", 4}, {"span_hot", 4}, {"span_drained", 4}, {"span_off", 4}};
  EXPECT_EQ(runs, wanted);
  // The table for people has the figure, the budget and the ratio.
  for (const char* text : {"budget    ratio", "\nspan_hot ", "\nspan_drained ", "\nspan_off "}) {
    EXPECT_NE(finished.err.find(text), std::string::npos) << text << "\n" << finished.err;
  }
  EXPECT_NE(finished.err.find("lost while draining: 0 of "), std::string::npos) << finished.err;
}

}  // namespace
}  // namespace xsp::integration
