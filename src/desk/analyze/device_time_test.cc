// Tests the times on a device that come from some of many inferences, or steps, against the plain
// computation over all of them.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "desk/analyze/prelude.h"
#include "desk/store/database.h"

namespace xsp::analyze {
namespace {

using store::Database;
using store::Table;

constexpr int kInferences = 5000;

// Returns SQL that adds a span to each inference i of `inferences`. Its id is 10 i + place. `on`
// gives its device, stream and correlation id.
std::string span(int place, int parent, int level, const std::string& name,
                 const std::string& start_ns, const std::string& duration_ns, const std::string& on,
                 const std::string& inferences = "range(" + std::to_string(kInferences) + ")") {
  const std::string number = std::to_string(place);
  const std::string layer = level == 3   ? "10 * i + " + number
                            : level >= 5 ? "10 * i + " + std::to_string(parent % 2 == 0 ? 2 : 1)
                                         : "NULL";
  return "INSERT INTO span(run_id, span_id, parent_id, level, name, type, iteration, ordinal, "
         "start_ns, duration_ns, process, thread, device, stream, correlation_id, model_id, "
         "layer_id, site_id, depth, self_ns, is_open) SELECT 1, 10 * i + " +
         number + ", " + (level == 2 ? "NULL" : "10 * i + " + std::to_string(parent)) + ", " +
         std::to_string(level) + ", '" + name + "', '" + name + "', i, " + number +
         ", 1000000 * i + " + start_ns + ", " + duration_ns + ", 1, 1, " + on + ", 10 * i, " +
         layer + ", " + number + ", 0, " + duration_ns + ", false FROM " + inferences + " r(i);";
}

// A model of two layers, each with a kernel whose duration depends on the inference. The second
// kernel begins 1000 ns before the first one ends.
std::string many_inferences() {
  const std::string first_ns = "10000 + i * 31 % 997";
  return "INSERT INTO run(run_id, levels, batch, iterations, status, device) VALUES (1, "
         "'model,layer,library,api,kernel', 1, " +
         std::to_string(kInferences) + ", 'ok', 'cuda:0');" +
         span(0, 0, 2, "m", "0", "90000 + i * 7919 % 1000", "NULL, NULL, NULL") +
         span(1, 0, 3, "a", "10", "100", "NULL, NULL, NULL") +
         span(2, 0, 3, "b", "200", "100", "NULL, NULL, NULL") +
         span(3, 1, 5, "launch a", "20", "50", "NULL, NULL, 3 * i") +
         span(4, 2, 5, "launch b", "210", "50", "NULL, NULL, 3 * i + 1") +
         span(5, 3, 6, "k1", "5000", first_ns, "0, 7, 3 * i") +
         span(6, 4, 6, "k2", "4000 + " + first_ns, "20000 + i * 17 % 499", "0, 8, 3 * i + 1");
}

// Layer b launches a further kernel in one inference, which counts, but is none of those from which
// the times come.
std::string rare_kernel() {
  return span(7, 4, 6, "rare", "60000", "7000", "0, 8, 3 * i + 2",
              "(SELECT min(iteration) FROM measured_inference WHERE is_typical AND iteration NOT "
              "IN (SELECT iteration FROM seen_inference))");
}

class DeviceTimes : public testing::Test {
 protected:
  void SetUp() override {
    Result<Database> database = Database::in_memory();
    ASSERT_TRUE(database.ok());
    database_.emplace(std::move(database).value());
    for (const bool is_rare : {false, true}) {
      const Status status = database_->execute(is_rare ? rare_kernel() : many_inferences());
      ASSERT_TRUE(status.ok()) << status.error().text;
      ASSERT_TRUE(load_prelude(*database_).ok());
    }
  }

  double number(const std::string& sql) {
    Result<Table> table = database_->query("SELECT CAST((" + sql + ") AS DOUBLE)");
    EXPECT_TRUE(table.ok()) << table.error().text;
    if (!table.ok() || table->rows.size() != 1) return -1;
    const double* value = std::get_if<double>(&table->rows[0][0]);
    EXPECT_NE(value, nullptr) << sql;
    return value == nullptr ? -1 : *value;
  }

  // Returns the mean over all typical inferences.
  double mean_ns(const std::string& kernels) {
    return number(
        "SELECT sum(s.duration_ns) / 3000 FROM span s JOIN measured_inference i USING (run_id, "
        "iteration) "
        "WHERE is_typical AND s.level = 6 AND s.name IN (" +
        kernels + ")");
  }

  std::optional<Database> database_;
};

TEST_F(DeviceTimes, OfManyInferencesComeFromSome) {
  ASSERT_EQ(number("SELECT count(*) FROM measured_inference WHERE is_typical"), 3000);
  const double seen = number("SELECT count(*) FROM seen_inference");
  EXPECT_GT(seen, 800);
  EXPECT_LT(seen, 1200);
  EXPECT_EQ(number("SELECT count(*) FROM launched_operation WHERE name = 'rare'"), 1);
  EXPECT_EQ(number("SELECT count(*) FROM seen_operation WHERE site_id = 7"), 0);
}

TEST_F(DeviceTimes, AddUpToTheTimesOfAllKernels) {
  const auto own = [&](const std::string& of, const std::string& name) {
    return number("SELECT device_ns FROM layer_device_time WHERE of = '" + of +
                  "' AND name IS NOT DISTINCT FROM " + name);
  };
  const double first = mean_ns("'k1'");
  const double second = mean_ns("'k2', 'rare'");
  EXPECT_NEAR(own("own", "'a'"), first, 1e-6);
  EXPECT_NEAR(own("own", "'b'"), second, 1e-6);
  EXPECT_NEAR(own("layer", "'b'"), second, 1e-6);
  EXPECT_NEAR(own("type", "'a'"), first, 1e-6);
  // The kernels overlap for 1000 ns in each inference.
  EXPECT_NEAR(own("all layers", "NULL"), first + second - 1000, 10);
  EXPECT_NEAR(number("SELECT device_ns FROM model_device_time"), first + second - 1000, 10);
  EXPECT_NEAR(number("SELECT sum(part_ns) FROM divided_time WHERE kernel IS NOT NULL"),
              first + second, 1e-6);
}

TEST_F(DeviceTimes, SpansAreCloseToThoseOfAllInferences) {
  const double all = number(
      "SELECT avg(4000 + 10000 + iteration * 31 % 997 + 20000 + iteration * 17 % 499 - 210) "
      "FROM measured_inference WHERE is_typical");
  const double span =
      number("SELECT span_ns FROM layer_device_time WHERE of = 'own' AND name = 'b'");
  EXPECT_NEAR(span / all, 1, 0.01);
}

}  // namespace
}  // namespace xsp::analyze
