// Comparisons of evaluations that are constructed: what differs is known.
#include "analyze/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

namespace xsp::analyze {
namespace {

namespace fs = std::filesystem;

using store::Database;

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
  double factor = 1;  // of the model's latency
  int blocks = 8;
  int block_inferences = 3;
  int batch = 1;
};

void must(Database& database, const std::string& sql) {
  const Status status = database.execute(sql);
  ASSERT_TRUE(status.ok()) << status.error().text;
}

// Run 1 of the model alone: 1 ms times the factor, up to 3 % more by block and inference. Run 2
// with the layers, each as long as it is said to be.
Database make(const Made& made) {
  Result<Database> opened = Database::in_memory();
  EXPECT_TRUE(opened.ok());
  Database database = std::move(opened).value();
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

std::string text(const store::Value& value) {
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

// A comparison whose cells are found by column.
class Compared {
 public:
  Compared(const std::string& table, std::vector<Database*> evaluations,
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
  // Of the numbers that are there.
  double sum(const std::string& column) const {
    double sum = 0;
    for (size_t row = 0; row < size(); ++row) {
      const double one = number(row, column);
      sum += std::isnan(one) ? 0 : one;
    }
    return sum;
  }
  // Some columns of all rows: "conv,name,5; ...".
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

const std::vector<std::string> kLayerColumns = {"layer", "matched_b", "layer_b", "difference_b_ns"};

TEST(Compare, AnEvaluationDoesNotDifferFromItself) {
  Database a = make({});
  const Compared model("model", {&a, &a});
  ASSERT_EQ(model.size(), 1u);
  EXPECT_EQ(model.number(0, "ratio_b"), 1);
  EXPECT_EQ(text(model.at(0, "significant_b")), "false");
  EXPECT_EQ(text(model.at(0, "verdict_b")), "no significant difference");
  EXPECT_EQ(model.number(0, "latency_a_ns"), model.number(0, "latency_b_ns"));
  const Compared layers("layers", {&a, &a});
  EXPECT_EQ(layers.rows(kLayerColumns), "conv,name,conv,0; fc,name,fc,0; relu,name,relu,0");
  EXPECT_TRUE(layers.all().warnings.empty());
  const Compared facts("facts", {&a, &a});
  for (size_t row = 0; row < facts.size(); ++row) EXPECT_NE(text(facts.at(row, "differs")), "true");
}

TEST(Compare, AKnownFactorIsFoundAndSigned) {
  Database a = make({});
  Made made;
  made.factor = 1.25;
  Database b = make(made);
  const Compared slower("model", {&a, &b});
  EXPECT_NEAR(slower.number(0, "ratio_b"), 1.25, 1e-6);
  EXPECT_LT(slower.number(0, "ratio_low_b"), 1.25);
  EXPECT_GT(slower.number(0, "ratio_low_b"), 1.2);
  EXPECT_GT(slower.number(0, "ratio_high_b"), 1.25);
  EXPECT_EQ(text(slower.at(0, "verdict_b")), "slower");
  EXPECT_EQ(text(slower.at(0, "blocks_b")), "8");
  const Compared faster("model", {&b, &a});
  EXPECT_NEAR(faster.number(0, "ratio_b"), 0.8, 1e-6);
  EXPECT_EQ(text(faster.at(0, "verdict_b")), "faster");
}

TEST(Compare, FewInferencesAreNoEvidence) {
  Database a = make({});
  Made made;
  made.factor = 2;
  made.blocks = 1;
  made.block_inferences = 19;
  Database b = make(made);
  const Compared few("model", {&a, &b});
  EXPECT_EQ(text(few.at(0, "significant_b")), "-");
  EXPECT_EQ(text(few.at(0, "verdict_b")),
            "too few: B has 19 inferences in 1 block: it takes 4 blocks, or 20 inferences");
  made.block_inferences = 20;  // cut into four parts
  Database c = make(made);
  EXPECT_EQ(text(Compared("model", {&a, &c}).at(0, "verdict_b")), "slower");
}

TEST(Compare, EveryBatchSizeHasARowAndSaysWhoLacksIt) {
  Database a = make({});
  Made made;
  made.batch = 2;
  Database b = make(made);
  const Compared model("model", {&a, &b});
  EXPECT_EQ(model.rows({"batch", "iterations_a", "iterations_b", "verdict_b"}),
            "1,24,-,not measured: not at this batch size; "
            "2,-,24,not measured: A: not at this batch size");
  const Result<Comparison> layers = compare("layers", std::vector<Database*>{&a, &b});
  ASSERT_FALSE(layers.ok());
  EXPECT_EQ(layers.error().code, Code::kNotAvailable);
  EXPECT_EQ(layers.error().text,
            "not measured: level layer at a batch size that all have: A: 1; B: 2");
}

TEST(Compare, DifferencesOfLayersAddUp) {
  Database a = make({});
  Made made;
  made.layers = {{"conv", "Conv", 300, ""}, {"extra", "Softmax", 50, ""}, {"fc", "Gemm", 260, ""}};
  Database b = make(made);
  const Compared layers("layers", {&a, &b});
  EXPECT_EQ(
      layers.rows(kLayerColumns),
      "conv,name,conv,-100000; relu,none,-,-100000; fc,name,fc,60000; extra,none,extra,50000");
  EXPECT_NEAR(layers.sum("difference_b_ns"),
              layers.sum("latency_b_ns") - layers.sum("latency_a_ns"), 1e-6);
  EXPECT_NEAR(layers.sum("share_b_pct"), 100, 1e-9);
  EXPECT_EQ(text(layers.at(3, "index")), "-");
}

TEST(Compare, WhatWasFusedIsAGroup) {
  Database a = make({});
  Made made;
  made.layers = {{"relu/out", "Conv", 450, R"(["conv","relu"])"}, {"fc", "Gemm", 200, R"(["fc"])"}};
  Database b = make(made);
  const Compared layers("layers", {&a, &b});
  EXPECT_EQ(layers.rows(kLayerColumns), "conv +relu,group,conv +relu,-50000; fc,name,fc,0");
  EXPECT_EQ(text(layers.at(0, "names_a")), R"(["conv","relu"])");
  EXPECT_EQ(text(layers.at(0, "names_b")), R"(["relu/out"])");
}

TEST(Compare, ThreeEvaluationsShareTheReferencesGroups) {
  Database a = make({});
  Made fused;
  fused.layers = {{"relu/out", "Conv", 450, R"(["conv","relu"])"},
                  {"fc", "Gemm", 200, R"(["fc"])"},
                  {"new", "Softmax", 10, ""}};
  Database b = make(fused);
  Made renamed;
  renamed.layers = {{"c", "aten::conv2d", 500, ""},
                    {"r", "aten::relu", 100, ""},
                    {"new", "Softmax", 20, ""},
                    {"fc", "aten::linear", 200, ""}};
  Database c = make(renamed);
  const Compared layers("layers", {&a, &b, &c});
  EXPECT_EQ(layers.rows({"layer", "matched_b", "matched_c", "difference_b_ns", "difference_c_ns"}),
            "conv +relu,group,group,-50000,100000; new,none,none,10000,20000; fc,name,name,0,0");
  for (const std::string e : {"b", "c"}) {
    EXPECT_NEAR(layers.sum("difference_" + e + "_ns"),
                layers.sum("latency_" + e + "_ns") - layers.sum("latency_a_ns"), 1e-6);
  }
}

TEST(Compare, OtherModelsAreWarnedOf) {
  Database a = make({});
  Made made;
  made.model = "other";
  Database b = make(made);
  const Compared model("model", {&a, &b});
  ASSERT_EQ(model.all().warnings.size(), 1u);
  EXPECT_EQ(model.all().warnings[0],
            "the models differ: A has made, B other: their layers are matched as far as they go");
  const Compared facts("facts", {&a, &b});
  std::map<std::string, std::string> differs;
  for (size_t row = 0; row < facts.size(); ++row) {
    differs[text(facts.at(row, "fact"))] = text(facts.at(row, "differs"));
  }
  EXPECT_EQ(differs["model"], "true");
  EXPECT_EQ(differs["framework"], "false");
}

TEST(Compare, WhatTheProfileWarnedOfIsPassedOn) {
  Database a = make({});
  Database b = make({});
  must(b, "INSERT INTO evaluation VALUES ('warning.1', 'others were busy'), ('warning.2', 'hot')");
  const Compared model("model", {&a, &b});
  ASSERT_EQ(model.all().warnings.size(), 1u);
  EXPECT_EQ(model.all().warnings[0],
            "B was measured with a warning: others were busy (and 1 more, in the facts)");
}

TEST(Compare, WhatWasNotMeasuredIsSaid) {
  Database a = make({});
  const Result<Comparison> kernels = compare("kernels", std::vector<Database*>{&a, &a});
  ASSERT_FALSE(kernels.ok());
  EXPECT_EQ(kernels.error().code, Code::kNotAvailable);
  EXPECT_EQ(kernels.error().text, "not measured: A: no GPU: the runs were on the CPU");
}

TEST(Compare, MisuseIsRefused) {
  Database a = make({});
  const std::vector<Database*> one = {&a};
  const std::vector<Database*> seven(7, &a);
  EXPECT_EQ(compare("model", one).error().code, Code::kUsage);
  EXPECT_EQ(compare("model", seven).error().code, Code::kUsage);
  const auto unknown = compare("layer", std::vector<Database*>{&a, &a});
  EXPECT_EQ(unknown.error().code, Code::kUsage);
  EXPECT_EQ(unknown.error().text, "comparison 'layer': unknown: did you mean 'layers'?");
}

Result<Database> recorded() {
  return Database::open(fs::path(XSP_BIN_DIR) / "../tests/data/h200_resnet50.xsp");
}

TEST(CompareRecorded, KernelsAddUpAndFindThemselves) {
  Result<Database> a = recorded();
  ASSERT_TRUE(a.ok()) << a.error().text;
  const Compared kernels("kernels", {&*a, &*a});
  ASSERT_GT(kernels.size(), 5u);
  for (size_t row = 0; row < kernels.size(); ++row) {
    EXPECT_EQ(text(kernels.at(row, "matched_b")), "name");
    EXPECT_EQ(kernels.number(row, "difference_b_ns"), 0);
    EXPECT_EQ(kernels.number(row, "count_a"), kernels.number(row, "count_b"));
  }
  // Layers by the time of their kernels: the same time in all.
  const Compared work("layers", {&*a, &*a});
  EXPECT_NEAR(work.sum("latency_a_ns") / kernels.sum("latency_a_ns"), 1, 1e-6);
  CompareOptions host;
  host.time = LayerTime::kHost;
  EXPECT_GT(Compared("layers", {&*a, &*a}, host).sum("latency_a_ns"), work.sum("latency_a_ns"));
}

TEST(CompareRecorded, KernelsAgainstAnotherGpuGoByTheirPlaceInTheLayer) {
  Result<Database> opened = Database::in_memory();
  ASSERT_TRUE(opened.ok());
  Database b = std::move(opened).value();
  std::ifstream file(fs::path(XSP_SOURCE_DIR) / "tests/data/gpu.sql");
  std::ostringstream sql;
  sql << file.rdbuf();
  must(b, sql.str());
  must(b, "UPDATE span SET name = 'gemm_c' WHERE name LIKE '%gemm_a%'");
  opened = Database::in_memory();
  ASSERT_TRUE(opened.ok());
  Database c = std::move(opened).value();
  must(c, sql.str());
  const Compared kernels("kernels", {&c, &b});
  std::map<std::string, std::string> matched;
  for (size_t row = 0; row < kernels.size(); ++row) {
    matched[text(kernels.at(row, "kernel"))] = text(kernels.at(row, "matched_b")) + "," +
                                               text(kernels.at(row, "kernel_b")) + "," +
                                               text(kernels.at(row, "difference_b_ns"));
  }
  EXPECT_EQ(matched["gemm_a"], "position,gemm_c,0");
  EXPECT_EQ(matched["relu_c"], "name,relu_c,0");
  EXPECT_EQ(matched["reorder_b"], "name,reorder_b,0");
  EXPECT_EQ(matched.size(), 3u);
}

}  // namespace
}  // namespace xsp::analyze
