// Tests the definition of the typical inferences in SQL (analyses/prelude_1_runs.sql) against the
// one in C++ (statistics/typical.h), and both against the plain computation, on random data.
#include "desk/statistics/typical.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "desk/analyze/prelude.h"
#include "desk/analyze/run.h"
#include "desk/store/database.h"
#include "desk/store/testing.h"

namespace xsp::analyze {
namespace {

using statistics::Block;
using statistics::Estimate;
using store::Database;
using store::number;
using store::Table;

// One run of made-up inferences.
struct MadeRun {
  int run_id = 0;
  std::string levels;
  std::vector<Block> blocks;
  std::vector<double> latencies_ns;
  std::vector<std::vector<double>> layers_ns;  // by layer: its sum in each inference
};

class Maker {
 public:
  explicit Maker(unsigned seed) : random_(seed) {
    Result<Database> database = Database::in_memory();
    EXPECT_TRUE(database.ok());
    database_.emplace(std::move(database).value());
  }

  // Ties are frequent in every third run.
  MadeRun run(int run_id, const std::string& levels, int blocks, bool has_blocks = true) {
    MadeRun made{run_id, levels, {}, {}, {}};
    const double grain = run_id % 3 == 0 ? 1e5 : 1;
    for (int b = 0; b < blocks; ++b) {
      const size_t size = 1 + random_() % 7;
      const double level = std::exp(0.1 * normal_(random_));
      for (size_t i = 0; i < size; ++i) {
        const double slow = random_() % 10 == 0 ? 3 : 1;
        const double latency = 1e6 * level * slow * std::exp(0.02 * normal_(random_));
        made.latencies_ns.push_back(grain * std::floor(latency / grain));
      }
      made.blocks.push_back({2 * b, size});
    }
    write(made, has_blocks);
    if (!has_blocks) made.blocks.clear();
    return made;
  }

  // Loads the prelude again, because its tables depend on the data.
  Table query(const std::string& sql) {
    EXPECT_TRUE(load_prelude(*database_).ok());
    Result<Table> table = database_->query(sql);
    EXPECT_TRUE(table.ok()) << table.error().text;
    return table.ok() ? std::move(table).value() : Table();
  }

 private:
  void write(MadeRun& made, bool has_blocks) {
    const std::string id = std::to_string(made.run_id);
    std::string sql = "INSERT INTO run(run_id, levels, batch, iterations, status) VALUES (" + id +
                      ", '" + made.levels + "', 1, " + std::to_string(made.latencies_ns.size()) +
                      ", 'ok');";
    size_t first = 0;
    for (const Block& block : made.blocks) {
      if (!has_blocks) break;
      sql +=
          "INSERT INTO block(run_id, block, first_iteration, iterations, start_ns, duration_ns) "
          "VALUES (" +
          id + "," + std::to_string(block.round) + "," + std::to_string(first) + "," +
          std::to_string(block.count) + ",0,0);";
      first += block.count;
    }
    // Warm-up, a nested model and an open span do not count.
    add(&sql, made, 2, "m", -1, 9e9, 0, 1);
    add(&sql, made, 2, "nested", 0, 5e8, 1, 1);
    made.layers_ns.assign(kLayers, {});
    for (size_t i = 0; i < made.latencies_ns.size(); ++i) {
      add(&sql, made, 2, "m", static_cast<int>(i), made.latencies_ns[i], 0, 1);
      if (made.levels == "model") continue;
      for (int layer = 0; layer < kLayers; ++layer) {
        double sum = 0;
        for (int time = 0; time <= layer; ++time) {
          const double part = std::floor(0.05 * (time + 1) * made.latencies_ns[i]);
          add(&sql, made, 3, "layer", static_cast<int>(i), part, 0, 10 + layer);
          sum += part;
        }
        made.layers_ns[static_cast<size_t>(layer)].push_back(sum);
      }
    }
    const Status status = database_->execute(sql);
    ASSERT_TRUE(status.ok()) << status.error().text;
  }

  void add(std::string* sql, const MadeRun& made, int level, const char* name, int iteration,
           double duration_ns, int depth, int site) {
    const std::string duration = std::to_string(static_cast<int64_t>(duration_ns));
    ++span_id_;
    *sql +=
        "INSERT INTO span(run_id, span_id, level, name, iteration, ordinal, start_ns, "
        "duration_ns, process, site_id, depth, self_ns, is_open) VALUES (" +
        std::to_string(made.run_id) + "," + std::to_string(span_id_) + "," + std::to_string(level) +
        ",'" + name + "'," + std::to_string(iteration) + "," + std::to_string(site) + "," +
        std::to_string(span_id_) + "," + duration + ",7," + std::to_string(site) + "," +
        std::to_string(depth) + "," + duration + ",false);";
  }

  static constexpr int kLayers = 3;
  std::optional<Database> database_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  int64_t span_id_ = 0;
};

Estimate estimate_of(const MadeRun& made) {
  return statistics::estimate(made.latencies_ns, made.blocks);
}

void expect_interval(const store::Value& low, const store::Value& high,
                     const std::optional<statistics::Interval>& interval) {
  EXPECT_EQ(std::isnan(number(low)), !interval.has_value());
  if (!interval) return;
  EXPECT_NEAR(number(low), interval->low, 1e-6 * std::abs(interval->low));
  EXPECT_NEAR(number(high), interval->high, 1e-6 * std::abs(interval->high));
}

TEST(TypicalInSql, LatencyAndIntervalAreThoseOfTheStopRule) {
  Maker maker(1);
  std::vector<MadeRun> made;
  for (int run_id = 1; run_id <= 40; ++run_id) {
    made.push_back(maker.run(run_id, "model", 1 + run_id % 13, run_id % 5 != 0));
  }
  const Table table = maker.query(
      "SELECT run_id, inferences, typical, latency_ns, low_ns, high_ns, low_fence_ns, "
      "high_fence_ns, blocks FROM run_latency ORDER BY run_id");
  ASSERT_EQ(table.rows.size(), made.size());
  for (size_t i = 0; i < made.size(); ++i) {
    const auto& row = table.rows[i];
    const Estimate expected = estimate_of(made[i]);
    EXPECT_EQ(number(row[1]), static_cast<double>(expected.count));
    EXPECT_EQ(number(row[2]), static_cast<double>(expected.typical));
    EXPECT_NEAR(number(row[3]), expected.mean, 1e-6 * expected.mean);
    EXPECT_EQ(number(row[6]), expected.least);
    EXPECT_EQ(number(row[7]), expected.greatest);
    EXPECT_EQ(number(row[8]), static_cast<double>(expected.residuals.size()));
    expect_interval(row[4], row[5], expected.interval);
  }
}

TEST(TypicalInSql, DifferencesAreThoseOfTheStopRule) {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    Maker maker(seed);
    const int blocks = 4 + static_cast<int>(seed);
    const MadeRun without = maker.run(1, "model", blocks);
    // Some rounds are missing on one side.
    const MadeRun with = maker.run(2, "model,layer", blocks - static_cast<int>(seed % 3));
    const Table table = maker.query(
        "SELECT effect_ns, effect_ns - half_ns, effect_ns + half_ns FROM recording_effect");
    ASSERT_EQ(table.rows.size(), 1u);
    const auto expected = statistics::paired_difference(estimate_of(without), estimate_of(with));
    EXPECT_NEAR(number(table.rows[0][0]), expected.value, 1e-3);
    expect_interval(table.rows[0][1], table.rows[0][2], expected.interval);
  }
}

TEST(TypicalInSql, ASeriesWithoutBlocksIsCutIntoParts) {
  Maker maker(5);
  std::mt19937_64 random(9);
  for (const size_t count : {1u, 5u, 6u, 19u, 20u, 21u, 47u, 333u}) {
    const auto all = static_cast<double>(count);
    std::vector<double> values;
    std::string list;
    for (size_t i = 0; i < count; ++i) {
      values.push_back(static_cast<double>(random() % 1000));
      list += (i == 0 ? "" : ",") + std::to_string(static_cast<int>(values.back()));
    }
    const Table table = maker.query("SELECT mean_half_width([" + list + "])");
    const size_t parts = std::min<size_t>(20, count);
    ASSERT_EQ(std::isnan(number(table.rows[0][0])), parts < 6) << count;
    if (parts < 6) continue;
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / all;
    std::vector<double> residuals(parts, 0);
    for (size_t i = 0; i < count; ++i) residuals[i * parts / count] += (values[i] - mean) / all;
    double squares = 0;
    for (const double one : residuals) squares += one * one;
    const double half =
        statistics::student_t(parts - 1) *
        std::sqrt(static_cast<double>(parts) / static_cast<double>(parts - 1) * squares);
    EXPECT_NEAR(number(table.rows[0][0]), half, 1e-6) << count;
  }
}

// Returns the inferences that remain, by their ranks. Ties are in the order of measurement.
std::vector<size_t> typical_of(const std::vector<double>& latencies) {
  std::vector<size_t> order(latencies.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return latencies[a] < latencies[b]; });
  const size_t drop = statistics::trimmed_count(order.size());
  return {order.begin() + static_cast<ptrdiff_t>(drop), order.end() - static_cast<ptrdiff_t>(drop)};
}

// A layer that runs several times in an inference counts with its sum.
TEST(TypicalInSql, LayersAreMeansOfTheirSumsOverTypicalInferences) {
  Maker maker(11);
  const MadeRun made = maker.run(3, "model,layer", 9);
  const Table table = maker.query(
      "SELECT latency_ns, self_ns, per_inference, half_ns FROM layers(1) "
      "JOIN layer_half_widths(1) USING (site_id) ORDER BY ordinal");
  ASSERT_EQ(table.rows.size(), made.layers_ns.size());
  const std::vector<size_t> kept = typical_of(made.latencies_ns);
  for (size_t layer = 0; layer < made.layers_ns.size(); ++layer) {
    const std::vector<double>& sums = made.layers_ns[layer];
    double mean = 0;
    for (const size_t i : kept) mean += sums[i] / static_cast<double>(kept.size());
    EXPECT_NEAR(number(table.rows[layer][0]), mean, 1e-6 * mean);
    EXPECT_NEAR(number(table.rows[layer][1]), mean, 1e-6 * mean);
    EXPECT_EQ(number(table.rows[layer][2]), static_cast<double>(layer + 1));

    // Its interval replaces dropped inferences by the layer's mean time next to the same fence.
    const auto next_to = std::max<size_t>(3, kept.size() / 10);
    double low = 0, high = 0;
    for (size_t i = 0; i < next_to; ++i) {
      low += sums[kept[i]] / static_cast<double>(next_to);
      high += sums[kept[kept.size() - 1 - i]] / static_cast<double>(next_to);
    }
    std::vector<double> winsorised(sums.size(), low);
    const double fence = made.latencies_ns[kept.back()];
    for (size_t i = 0; i < sums.size(); ++i) {
      if (made.latencies_ns[i] >= fence) winsorised[i] = high;
    }
    for (const size_t i : kept) winsorised[i] = sums[i];
    const double middle = std::accumulate(winsorised.begin(), winsorised.end(), 0.0) /
                          static_cast<double>(winsorised.size());
    double squares = 0;
    size_t at = 0;
    for (const Block& block : made.blocks) {
      double residual = 0;
      for (size_t i = 0; i < block.count; ++i) residual += winsorised[at++] - middle;
      squares += std::pow(residual / static_cast<double>(kept.size()), 2);
    }
    const double blocks = static_cast<double>(made.blocks.size());
    const double half =
        statistics::student_t(made.blocks.size() - 1) * std::sqrt(blocks / (blocks - 1) * squares);
    EXPECT_NEAR(number(table.rows[layer][3]), half, 1e-6 * half);
  }
}

}  // namespace
}  // namespace xsp::analyze
