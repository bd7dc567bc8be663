// Helpers of the comparison's tests: constructed evaluations, and a comparison's cells by name.
#ifndef XSP_DESK_COMPARE_TESTING_H_
#define XSP_DESK_COMPARE_TESTING_H_

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "desk/compare/compare.h"

namespace xsp::compare {

struct Layer {
  std::string name;
  std::string type;
  int64_t latency_us;
  std::string stands_for;  // a JSON array; empty: none
};
struct Made {
  std::string model = "made";
  std::vector<Layer> layers = {
      {"conv", "Conv", 400, ""}, {"relu", "Relu", 100, ""}, {"fc", "Gemm", 200, ""}};
  double factor = 1;  // multiplies the model's latency
  int blocks = 8;
  int block_inferences = 3;
  int batch = 1;
};

inline void must(store::Database& database, const std::string& sql) {
  const Status status = database.execute(sql);
  ASSERT_TRUE(status.ok()) << status.error().text;
}

// Makes run 1 of the model alone, of 1 ms times the factor and up to 3 % more by block and
// inference, and run 2 with the layers, of the given latencies.
inline store::Database make(const Made& made) {
  Result<store::Database> opened = store::Database::in_memory();
  EXPECT_TRUE(opened.ok());
  store::Database database = std::move(opened).value();
  const std::string batch = std::to_string(made.batch);
  must(database, "INSERT INTO evaluation VALUES ('model', '" + made.model +
                     "'), ('framework', 'fake'), ('device', 'cpu'), ('input.x', 'float32[1,8]')");
  for (int run = 1; run <= 2; ++run) {
    must(database, "INSERT INTO run BY NAME SELECT " + std::to_string(run) + " AS run_id, '" +
                       (run == 1 ? "model" : "model,layer") + "' AS levels, " + batch +
                       " AS batch, 'cpu' AS device, " +
                       std::to_string(made.blocks * made.block_inferences) +
                       " AS iterations, 'ok' AS status");
  }
  const std::string inferences = "range(" + std::to_string(made.blocks) + ") b(block), range(" +
                                 std::to_string(made.block_inferences) + ") i(inference)";
  const std::string iteration = "block * " + std::to_string(made.block_inferences) + " + inference";
  must(database, "INSERT INTO block BY NAME SELECT 1 AS run_id, block, block * " +
                     std::to_string(made.block_inferences) + " AS first_iteration, " +
                     std::to_string(made.block_inferences) +
                     " AS iterations, 0 AS start_ns, 0 AS duration_ns FROM range(" +
                     std::to_string(made.blocks) + ") b(block)");
  const std::string rest =
      ", 1 AS process, 1 AS thread, 0 AS depth, false AS is_open, 0 AS correlation_id FROM ";
  for (int run = 1; run <= 2; ++run) {
    must(
        database,
        "INSERT INTO span BY NAME SELECT " + std::to_string(run) + " AS run_id, 100 * (" +
            iteration + ") + 100 AS span_id, 2 AS level, 'm' AS name, " + iteration +
            " AS iteration, 0 AS ordinal, 10000000 * (" + iteration + ") AS start_ns, CAST(1e6 * " +
            std::to_string(made.factor) +
            " * (1 + 0.02 * (block * 7 % 5) / 5 + 0.01 * inference / 3) AS BIGINT) AS duration_ns, "
            "1 AS site_id, 0 AS self_ns" +
            rest + inferences);
  }
  for (size_t k = 0; k < made.layers.size(); ++k) {
    const Layer& one = made.layers[k];
    const std::string ns = std::to_string(one.latency_us * 1000);
    const std::string number = std::to_string(k);
    must(database, "INSERT INTO span BY NAME SELECT 2 AS run_id, 100 * (" + iteration +
                       ") + 101 + " + number + " AS span_id, 100 * (" + iteration +
                       ") + 100 AS parent_id, 3 AS level, '" + one.name + "' AS name, '" +
                       one.type + "' AS type, " + iteration + " AS iteration, " + number +
                       " AS ordinal, 10000000 * (" + iteration + ") + 1000000 * " + number +
                       " AS start_ns, " + ns + " AS duration_ns, " + ns + " AS self_ns, " +
                       std::to_string(k + 2) + " AS site_id" + rest + inferences);
    if (!one.stands_for.empty()) {
      must(database, "INSERT INTO site_attribute VALUES (2, " + std::to_string(k + 2) +
                         ", 'source_layers', '" + one.stands_for + "')");
    }
  }
  return database;
}

inline std::string text(const store::Value& value) {
  if (const auto* one = std::get_if<std::string>(&value)) return *one;
  if (const auto* one = std::get_if<bool>(&value)) return *one ? "true" : "false";
  if (const auto* one = std::get_if<int64_t>(&value)) return std::to_string(*one);
  if (const auto* one = std::get_if<double>(&value)) {
    std::ostringstream stream;
    stream << *one;
    return stream.str();
  }
  return "-";
}

// A comparison that finds its cells by column.
class Compared {
 public:
  Compared(const std::string& table, std::vector<store::Database*> evaluations,
           const CompareOptions& options = {})
      : result_(compare(table, evaluations, options)) {
    EXPECT_TRUE(result_.ok()) << result_.error().text;
  }
  size_t size() const { return result_->table.rows.size(); }
  const Comparison& all() const { return *result_; }
  const store::Value& at(size_t row, const std::string& column) const {
    for (size_t i = 0; i < result_->columns.size(); ++i) {
      if (result_->columns[i].name == column) return result_->table.rows.at(row).at(i);
    }
    ADD_FAILURE() << "no column " << column;
    static const store::Value none;
    return none;
  }
  double number(size_t row, const std::string& column) const {
    const auto* one = std::get_if<double>(&at(row, column));
    return one == nullptr ? std::nan("") : *one;
  }
  // Sums the numbers that are not NULL.
  double sum(const std::string& column) const {
    double sum = 0;
    for (size_t row = 0; row < size(); ++row) {
      const double one = number(row, column);
      sum += std::isnan(one) ? 0 : one;
    }
    return sum;
  }
  // Returns some columns of all rows: "conv,name,5; ...".
  std::string rows(const std::vector<std::string>& columns) const {
    std::string all;
    for (size_t row = 0; row < size(); ++row) {
      all += row == 0 ? "" : "; ";
      for (size_t i = 0; i < columns.size(); ++i) {
        all += (i == 0 ? "" : ",") + text(at(row, columns[i]));
      }
    }
    return all;
  }

 private:
  Result<Comparison> result_;
};

}  // namespace xsp::compare

#endif  // XSP_DESK_COMPARE_TESTING_H_
