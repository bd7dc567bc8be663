// The macros of analyses/prelude.sql against the plain computation that they stand for.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <regex>

#include "analyze/catalogue.h"
#include "analyze/embedded.h"
#include "analyze/run.h"

namespace xsp::analyze {
namespace {

using store::Database;
using store::Table;

Database with_prelude() {
  Result<Database> database = Database::in_memory();
  EXPECT_TRUE(database.ok()) << database.error().text;
  const Status loaded = load_prelude(*database);
  EXPECT_TRUE(loaded.ok()) << loaded.error().text;
  return std::move(database).value();
}

Table query(Database& database, const std::string& sql) {
  Result<Table> table = database.query(sql);
  EXPECT_TRUE(table.ok()) << table.error().text;
  return table.ok() ? std::move(table).value() : Table();
}

double number(const store::Value& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nan("");
}

// The largest rank r with P(Binomial(n, 1/2) < r) <= 2.5 %; 0: none.
int exact_rank(int n) {
  double probability = std::pow(0.5, n), below = 0;
  int rank = 0;
  for (int k = 0; k < n; ++k) {
    below += probability;  // P(Binomial < k + 1)
    if (below > 0.025) break;
    rank = k + 1;
    probability *= static_cast<double>(n - k) / (k + 1);
  }
  return rank;
}

TEST(Prelude, RanksOfTheIntervalAreThoseOfTheBinomial) {
  Database database = with_prelude();
  const Table table =
      query(database, "SELECT interval_rank(n) FROM range(1, 1001) t(n) ORDER BY n");
  ASSERT_EQ(table.rows.size(), 1000u);
  for (int n = 1; n <= 1000; ++n) {
    const double rank = number(table.rows[static_cast<size_t>(n - 1)][0]);
    EXPECT_EQ(std::isnan(rank) ? 0 : static_cast<int>(rank), exact_rank(n)) << n;
  }
}

// The published table (NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2), to three
// places.
TEST(Prelude, StudentsFactorsAreThoseOfThePublishedTable) {
  Database database = with_prelude();
  const std::map<int, double> published = {
      {1, 12.706}, {2, 4.303},  {3, 3.182},  {4, 2.776},  {5, 2.571},  {6, 2.447},  {7, 2.365},
      {8, 2.306},  {9, 2.262},  {10, 2.228}, {11, 2.201}, {12, 2.179}, {13, 2.160}, {14, 2.145},
      {15, 2.131}, {16, 2.120}, {17, 2.110}, {18, 2.101}, {19, 2.093}, {20, 2.086}, {21, 2.080},
      {22, 2.074}, {23, 2.069}, {24, 2.064}, {25, 2.060}, {26, 2.056}, {27, 2.052}, {28, 2.048},
      {29, 2.045}, {30, 2.042}, {31, 2.040}, {32, 2.037}, {35, 2.030}, {40, 2.021}, {50, 2.009},
      {60, 2.000}, {80, 1.990}, {99, 1.984}, {100, 1.984}};
  for (const auto& [df, factor] : published) {
    const Table table = query(database, "SELECT student_t(" + std::to_string(df) + ")");
    EXPECT_NEAR(number(table.rows[0][0]), factor, 0.00051) << df;
  }
}

// Student's distribution itself, integrated by Simpson's rule.
double probability_within(double t, int df) {
  const double angle = std::atan(t / std::sqrt(df));
  const int steps = 4000;
  double sum = 0;
  for (int i = 0; i <= steps; ++i) {
    const double weight = i == 0 || i == steps ? 1 : i % 2 == 1 ? 4 : 2;
    sum += weight * std::pow(std::cos(angle * i / steps), df - 1);
  }
  const double density = std::exp(std::lgamma((df + 1) / 2.0) - std::lgamma(df / 2.0));
  return 2 * density / std::sqrt(std::acos(-1.0)) * sum * angle / steps / 3;
}

TEST(Prelude, StudentsFactorsLeaveAFortiethAtEachSide) {
  Database database = with_prelude();
  const Table table = query(database,
                            "SELECT df, student_t(df) FROM (FROM range(1, 201) UNION ALL "
                            "SELECT 10000) t(df) ORDER BY df");
  ASSERT_EQ(table.rows.size(), 201u);
  for (const auto& row : table.rows) {
    const int df = static_cast<int>(number(row[0]));
    EXPECT_LE(probability_within(number(row[1]) - 1e-5, df), 0.95) << df;
    EXPECT_GE(probability_within(number(row[1]) + 1e-5, df), 0.95) << df;
  }
}

TEST(Prelude, StudentsFactorNeedsADegreeOfFreedomAndRoundsDown) {
  Database database = with_prelude();
  const Table table = query(database,
                            "SELECT student_t(0), student_t(-1), student_t(NULL), "
                            "student_t(2.9) = student_t(2), student_t(30.5) = student_t(30)");
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(number(table.rows[0][i]))) << i;
  EXPECT_TRUE(std::get<bool>(table.rows[0][3]));
  EXPECT_TRUE(std::get<bool>(table.rows[0][4]));
}

TEST(Prelude, QuantilesInterpolate) {
  Database database = with_prelude();
  const Table table = query(database,
                            "SELECT quantile_of([1, 2, 3, 4], 0.5), quantile_of([1, 2, 4], 0.75), "
                            "quantile_of([7], 0.99), quantile_of([1, 2, 3, 4, 5], 0.9)");
  EXPECT_DOUBLE_EQ(number(table.rows[0][0]), 2.5);
  EXPECT_DOUBLE_EQ(number(table.rows[0][1]), 3);
  EXPECT_DOUBLE_EQ(number(table.rows[0][2]), 7);
  EXPECT_DOUBLE_EQ(number(table.rows[0][3]), 4.6);
}

TEST(Prelude, LevelsAreNumbersThatGrow) {
  Database database = with_prelude();
  const Table table = query(database,
                            "SELECT deepest_level('model'), deepest_level('model, layer,kernel'), "
                            "deepest_level('layer,model'), level_name(level_number('api'))");
  EXPECT_EQ(number(table.rows[0][0]), 2);
  EXPECT_EQ(number(table.rows[0][1]), 6);
  EXPECT_EQ(number(table.rows[0][2]), 3);
  EXPECT_EQ(std::get<std::string>(table.rows[0][3]), "api");
}

double trimmed_mean(std::vector<int64_t> values) {
  std::sort(values.begin(), values.end());
  const auto drop = static_cast<std::ptrdiff_t>(values.size() / 5);
  const double sum =
      static_cast<double>(std::accumulate(values.begin() + drop, values.end() - drop, int64_t{0}));
  return sum / static_cast<double>(values.size() - 2 * static_cast<size_t>(drop));
}

double median(std::vector<int64_t> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  const auto at = [&](size_t i) { return static_cast<double>(values[i]); };
  return values.size() % 2 == 1 ? at(half) : (at(half - 1) + at(half)) / 2;
}

// layers() finds the trimmed mean in two passes without sorting: every length and many ties.
TEST(Prelude, LayersHaveTheTrimmedMeanOfTheirExecutions) {
  Database database = with_prelude();
  std::mt19937 random(1);
  std::vector<std::vector<int64_t>> sites;
  std::string sql =
      "INSERT INTO run BY NAME SELECT 1 AS run_id, 'model,layer' AS levels, 1 AS iterations, "
      "'ok' AS status; INSERT INTO span(run_id, span_id, level, name, iteration, ordinal, "
      "start_ns, duration_ns, site_id, depth, self_ns, is_open) VALUES "
      "(1, 0, 2, 'model', 0, 0, 0, 1000, 0, 0, 0, false)";
  int64_t span_id = 0;
  for (size_t n = 1; n <= 60; ++n) {
    const int64_t range = n % 3 == 0 ? 3 : n % 3 == 1 ? 20 : 1000000;
    std::vector<int64_t> values(n);
    for (int64_t& value : values) value = static_cast<int64_t>(random()) % range;
    for (const int64_t value : values) {
      const std::string duration = std::to_string(value);
      sql += ",(1," + std::to_string(++span_id) + ",3,'layer',0," + std::to_string(n) + ",0," +
             duration + "," + std::to_string(n) + ",0," + duration + ",false)";
    }
    sites.push_back(std::move(values));
  }
  const Status filled = database.execute(sql);
  ASSERT_TRUE(filled.ok()) << filled.error().text;
  ASSERT_TRUE(load_prelude(database).ok());  // its table of runs is of what is there
  const Table table = query(database,
                            "SELECT latency_ns / per_inference, median_ns / per_inference, min_ns, "
                            "max_ns, executions FROM layers(NULL) ORDER BY ordinal");
  ASSERT_EQ(table.rows.size(), sites.size());
  for (size_t i = 0; i < sites.size(); ++i) {
    const auto [least, most] = std::minmax_element(sites[i].begin(), sites[i].end());
    EXPECT_NEAR(number(table.rows[i][0]), trimmed_mean(sites[i]), 1e-6) << sites[i].size();
    EXPECT_NEAR(number(table.rows[i][1]), median(sites[i]), 1e-6) << sites[i].size();
    EXPECT_EQ(number(table.rows[i][2]), static_cast<double>(*least));
    EXPECT_EQ(number(table.rows[i][3]), static_cast<double>(*most));
    EXPECT_EQ(number(table.rows[i][4]), static_cast<double>(sites[i].size()));
  }
}

// They share one namespace: the second of a name would silently replace the first.
TEST(Prelude, NoNameIsGivenTwice) {
  static const std::regex kCreated(R"(CREATE OR REPLACE TEMP (?:MACRO|VIEW|TABLE) (\w+))");
  std::map<std::string, int> names;
  for (const EmbeddedSql& file : embedded_sql()) {
    if (!is_prelude(file.name)) continue;
    const std::string text(file.text);
    for (std::sregex_iterator it(text.begin(), text.end(), kCreated), end; it != end; ++it) {
      EXPECT_EQ(++names[it->str(1)], 1) << it->str(1) << " again in " << file.name;
    }
  }
  EXPECT_TRUE(names.contains("layers"));
}

TEST(Prelude, IsKnownOnceLoaded) {
  Database database = with_prelude();
  const Status again = load_prelude(database);
  EXPECT_TRUE(again.ok());
}

}  // namespace
}  // namespace xsp::analyze
