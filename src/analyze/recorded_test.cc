// Every analysis on an evaluation that was recorded on an H200: tests/data/gpu/README.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "analyze/catalogue.h"
#include "analyze/run.h"
#include "store/database.h"

namespace xsp::analyze {
namespace {

namespace fs = std::filesystem;

Result<store::Database> recorded() {
  return store::Database::open(fs::path(XSP_BIN_DIR) / "../tests/data/h200_resnet50.xsp");
}

double number(const store::Value& value) {
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* whole = std::get_if<int64_t>(&value)) return static_cast<double>(*whole);
  return std::nan("");
}

// The sum of a column of an analysis's rows, those of batch 1.
double sum_of(store::Database& database, const char* name, const std::string& column) {
  const Result<const Analysis*> analysis = find(name);
  if (!analysis.ok()) return std::nan("");
  const Result<store::Table> table = run(database, **analysis);
  if (!table.ok()) return std::nan("");
  double sum = 0;
  for (size_t i = 0; i < table->columns.size(); ++i) {
    if (table->columns[i].name != column) continue;
    for (const auto& row : table->rows) {
      if (!std::isnan(number(row[i]))) sum += number(row[i]);
    }
  }
  return sum;
}

class Recorded : public ::testing::TestWithParam<std::string> {};

TEST_P(Recorded, IsAnswered) {
  Result<store::Database> database = recorded();
  ASSERT_TRUE(database.ok()) << database.error().text;
  const Result<const Analysis*> analysis = find(GetParam());
  ASSERT_TRUE(analysis.ok()) << analysis.error().text;
  const Result<store::Table> table = run(*database, **analysis);
  ASSERT_TRUE(table.ok()) << table.error().text;
  EXPECT_FALSE(table->rows.empty());
}

std::vector<std::string> names() {
  std::vector<std::string> names;
  if (!catalogue().ok()) return names;
  // What a program alone has that `xsp run` watches.
  const std::set<std::string> watched = {"training", "library_calls"};
  for (const Analysis& analysis : *catalogue()) {
    const bool is_watched = std::any_of(analysis.needs.begin(), analysis.needs.end(),
                                        [&](const auto& need) { return watched.count(need) != 0; });
    if (!is_watched) names.push_back(analysis.name);
  }
  return names;
}
INSTANTIATE_TEST_SUITE_P(H200, Recorded, ::testing::ValuesIn(names()),
                         [](const auto& one) { return one.param; });

TEST(RecordedSums, AgreeBetweenAnalyses) {
  Result<store::Database> database = recorded();
  ASSERT_TRUE(database.ok()) << database.error().text;
  const double by_kernel = sum_of(*database, "kernel_information", "latency_ns");
  const double by_name = sum_of(*database, "kernels_by_name", "latency_ns");
  const double by_layer = sum_of(*database, "kernels_by_layer", "kernel_latency_ns");
  ASSERT_GT(by_kernel, 0);
  EXPECT_NEAR(by_name / by_kernel, 1, 1e-3);
  EXPECT_NEAR(by_layer / by_kernel, 1, 1e-3);
  const double flops = sum_of(*database, "kernel_information", "flops");
  ASSERT_GT(flops, 0);
  EXPECT_NEAR(sum_of(*database, "kernels_by_name", "flops") / flops, 1, 1e-6);
  EXPECT_NEAR(sum_of(*database, "counters_by_layer", "flops") / flops, 1, 1e-6);
}

TEST(RecordedInvariants, Hold) {
  Result<store::Database> database = recorded();
  ASSERT_TRUE(database.ok()) << database.error().text;
  std::ifstream file(fs::path(XSP_SOURCE_DIR) / "tests/gpu/invariants.sql");
  std::ostringstream text;
  text << file.rdbuf();
  const Result<store::Table> table = database->query(text.str());
  ASSERT_TRUE(table.ok()) << table.error().text;
  EXPECT_GT(table->rows.size(), 10u);
  for (const auto& row : table->rows) {
    EXPECT_EQ(number(row[1]), 0) << std::get<std::string>(row[0]);
  }
}

}  // namespace
}  // namespace xsp::analyze
