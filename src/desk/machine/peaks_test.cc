#include "desk/machine/peaks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "desk/machine/peak_kernels.h"

namespace xsp::machine {
namespace {

TEST(Peaks, EveryRateIsMeasuredOnce) {
  const PeakReport report = measure_peaks(2);
  std::map<std::string, double> rates;
  for (const Peak& peak : report.peaks) {
    EXPECT_EQ(peak.device, "cpu");
    EXPECT_TRUE(rates.emplace(peak.name, peak.value).second) << peak.name;
    EXPECT_TRUE(std::isfinite(peak.value) && peak.value > 0) << peak.name;
  }
  for (const char* name :
       {"fp32_flops_per_s", "fp32_1_thread_flops_per_s", "fp64_flops_per_s", "memory_bytes_per_s",
        "memory_read_bytes_per_s", "memory_triad_bytes_per_s", "memory_1_thread_bytes_per_s"}) {
    EXPECT_EQ(rates.count(name), 1u) << name;
  }
  EXPECT_GE(rates["memory_bytes_per_s"], rates["memory_read_bytes_per_s"]);
  EXPECT_EQ(report.threads, 2);
  EXPECT_FALSE(report.instruction_set.empty());
}

TEST(Peaks, OneThreadIsSaidOnce) {
  for (const Peak& peak : measure_peaks(1).peaks) {
    EXPECT_EQ(peak.name.find("_1_thread"), std::string::npos) << peak.name;
  }
}

// Each of the twelve chains is x = x * 0.5 + 1 from 1, so it is 1.75 after two rounds.
TEST(PeakLoops, ComputeWhatTheyAreSaidTo) {
  std::set<std::string> names;
  for (const ArithmeticLoop& loop : arithmetic_loops()) {
    if (!loop.is_supported()) continue;
    const std::string name = loop.name;
    names.insert(name);
    if (name.rfind("fp", 0) == 0) {
      EXPECT_DOUBLE_EQ(loop.run(0), 12.0) << name << " " << loop.instruction_set;
      EXPECT_DOUBLE_EQ(loop.run(2), 12 * 1.75) << name << " " << loop.instruction_set;
      EXPECT_DOUBLE_EQ(loop.run(200), 24.0) << name << " " << loop.instruction_set;
    }
  }
  EXPECT_EQ(names.count("fp32_flops_per_s"), 1u);
  EXPECT_EQ(names.count("fp64_flops_per_s"), 1u);
}

TEST(PeakLoops, StreamsReachEveryElement) {
  const size_t count = 160;
  alignas(64) static double a[count], b[count], c[count];
  std::iota(b, b + count, 0.0);
  std::fill(c, c + count, 2.0);
  EXPECT_DOUBLE_EQ(read_stream(b, count), count * (count - 1) / 2.0);
  triad_stream(a, b, c, 3.0, count);
  for (size_t i = 0; i < count; ++i) EXPECT_DOUBLE_EQ(a[i], static_cast<double>(i) + 6) << i;
}

}  // namespace
}  // namespace xsp::machine
