// Compares constructed evaluations, whose differences are known.
#include "desk/compare/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "desk/compare/testing.h"
#include "desk/statistics/typical.h"
#include "tests/places.h"

namespace xsp::compare {
namespace {

namespace fs = std::filesystem;

using store::Database;

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

TEST(Compare, InputsOfAnotherSizeAreOtherWork) {
  Database a = make({});
  const auto other_inputs = [&a](const std::string& input) {
    Database b = make({});
    must(b, "UPDATE evaluation SET value = '" + input + "' WHERE key = 'input.x'");
    return Compared("model", {&a, &b}).all().other_inputs;
  };
  EXPECT_EQ(other_inputs("float32[1,8]"), "");
  EXPECT_EQ(other_inputs("float16[4,8]"), "");  // half as wide, exported at another batch size
  EXPECT_EQ(other_inputs("float32[1,16]"), "A has float32[1,8], B float32[1,16]");
  EXPECT_EQ(other_inputs("float32[1,8,8]"), "A has float32[1,8], B float32[1,8,8]");
}

TEST(Compare, BatchesOfUnknownSizeAreNotToldAsOne) {
  Database a = make({});
  Database b = make({});
  must(b, "INSERT INTO evaluation VALUES ('not_measured.batch', 'the first dimension is fixed')");
  // The shapes of a profile's inputs are known, whatever of them is the batch.
  const Compared profile("model", {&a, &b});
  EXPECT_EQ(text(profile.at(0, "batch")), "-");
  EXPECT_EQ(profile.all().unknown_batches, "");
  must(b, "INSERT INTO evaluation VALUES ('scenario.max_batch', '4')");
  EXPECT_EQ(Compared("model", {&a, &b}).all().unknown_batches, "B: the first dimension is fixed");
}

TEST(Compare, LayersThatHaveNothingInCommonAreSaid) {
  Database a = make({});
  Made made;
  made.layers = {{"jit/7", "fusion", 300, ""}, {"jit/8", "fusion", 400, ""}};
  Database b = make(made);
  const Compared layers("layers", {&a, &b});
  ASSERT_EQ(layers.all().warnings.size(), 1u);
  EXPECT_EQ(layers.all().warnings[0].rfind("no layer of one is a layer of another", 0), 0u);
  for (size_t row = 0; row < layers.size(); ++row) {
    EXPECT_NE(text(layers.at(row, "matched_b")), "name");
  }
}

TEST(Compare, TheCausesAddUpToTheDifference) {
  Database a = make({});
  Made made;
  made.factor = 1.25;
  Database b = make(made);
  const Compared causes("causes", {&a, &b});
  const Compared model("model", {&a, &b});
  ASSERT_GT(causes.size(), 1u);
  double difference = 0, share = 0;
  for (size_t row = 0; row + 1 < causes.size(); ++row) {
    difference += causes.number(row, "difference_b_ns");
    share += causes.number(row, "share_b_pct");
  }
  const size_t last = causes.size() - 1;
  EXPECT_EQ(text(causes.at(last, "cause")), "together");
  EXPECT_NEAR(difference, causes.number(last, "difference_b_ns"), 1);
  EXPECT_NEAR(share, 100, 1e-6);
  EXPECT_NEAR(causes.number(last, "latency_a_ns"), model.number(0, "latency_a_ns"), 1);
  EXPECT_NEAR(causes.number(last, "latency_b_ns"), model.number(0, "latency_b_ns"), 1);
}

// Returns the latency of the model-only run, from its inferences in order, cut into blocks.
statistics::Estimate estimate_of(Database& database, int block_inferences) {
  std::vector<double> values;
  const auto table = database.query(
      "SELECT CAST(duration_ns AS DOUBLE) FROM span WHERE run_id = 1 AND level = 2 "
      "ORDER BY iteration");
  EXPECT_TRUE(table.ok());
  for (const auto& row : table->rows) values.push_back(std::get<double>(row[0]));
  std::vector<statistics::Block> blocks;
  for (size_t i = 0; i * static_cast<size_t>(block_inferences) < values.size(); ++i) {
    blocks.push_back({static_cast<int>(i), static_cast<size_t>(block_inferences)});
  }
  return statistics::estimate(values, blocks);
}

TEST(Compare, AKnownFactorIsFoundAndSigned) {
  Database a = make({});
  Made made;
  made.factor = 1.25;
  Database b = make(made);
  const Compared slower("model", {&a, &b});
  EXPECT_NEAR(slower.number(0, "ratio_b"), 1.25, 1e-6);
  EXPECT_LT(slower.number(0, "ratio_low_b"), 1.25);
  EXPECT_GT(slower.number(0, "ratio_high_b"), 1.25);
  EXPECT_EQ(text(slower.at(0, "verdict_b")), "slower");
  EXPECT_EQ(text(slower.at(0, "blocks_b")), "8");
  const Compared faster("model", {&b, &a});
  EXPECT_NEAR(faster.number(0, "ratio_b"), 0.8, 1e-6);
  EXPECT_EQ(text(faster.at(0, "verdict_b")), "faster");
}

TEST(Compare, TheRatioIsThatOfTheLatenciesShownAndSaysWhatItAllowsFor) {
  Database a = make({});
  Made made;
  made.factor = 1.07;
  Database b = make(made);
  const auto of_a = estimate_of(a, made.block_inferences);
  const auto of_b = estimate_of(b, made.block_inferences);
  const Compared model("model", {&a, &b});
  EXPECT_NEAR(model.number(0, "latency_a_ns"), of_a.mean, 1e-6);
  EXPECT_NEAR(model.number(0, "low_a_ns"), of_a.interval->low, 1e-3);
  EXPECT_NEAR(model.number(0, "high_b_ns"), of_b.interval->high, 1e-3);
  EXPECT_EQ(model.number(0, "ratio_b"),
            model.number(0, "latency_b_ns") / model.number(0, "latency_a_ns"));
  const auto ratio = statistics::unpaired_ratio(of_a, of_b, kQuietSpread);
  EXPECT_NEAR(model.number(0, "ratio_low_b"), ratio->interval->low, 1e-9);
  EXPECT_NEAR(model.number(0, "ratio_high_b"), ratio->interval->high, 1e-9);
  ASSERT_EQ(model.all().warnings.size(), 1u);
  EXPECT_NE(model.all().warnings[0].find("A and B were recorded separately, by one process each"),
            std::string::npos);
}

// Adds a run in which one kernel takes `busy` of each inference on a GPU; empty: nothing recorded
// kernels there.
Database on_gpu(double factor, std::optional<double> busy) {
  Made made;
  made.factor = factor;
  Database database = make(made);
  must(database, "UPDATE run SET device = 'cuda:0'");
  if (!busy) return database;
  must(database,
       "INSERT INTO run BY NAME SELECT * REPLACE (3 AS run_id, 'model,api,kernel' AS levels) "
       "FROM run WHERE run_id = 1");
  must(database, "INSERT INTO block BY NAME SELECT * REPLACE (3 AS run_id) FROM block");
  must(database,
       "INSERT INTO span BY NAME SELECT * REPLACE (3 AS run_id, span_id AS model_id) FROM span "
       "WHERE run_id = 1");
  must(database,
       "INSERT INTO span BY NAME SELECT * REPLACE (span_id + 1 AS span_id, span_id AS parent_id, "
       "6 AS level, 'k' AS name, 'kernel' AS type, CAST(duration_ns * " +
           std::to_string(*busy) +
           " AS BIGINT) AS duration_ns, 0 AS device, 0 AS stream, 9 AS site_id) FROM span "
           "WHERE run_id = 3 AND level = 2");
  return database;
}

std::string verdict(Database a, Database b) {
  return text(Compared("model", {&a, &b}).at(0, "verdict_b"));
}

TEST(Compare, OneProcessEachCannotTellAHostFromAnotherWhileKernelsAreReproducible) {
  // The kernels fill the time, so a regression of a fifth is one.
  EXPECT_EQ(verdict(on_gpu(1, 1), on_gpu(1.2, 1)), "slower");
  EXPECT_EQ(verdict(on_gpu(1.2, 1), on_gpu(1, 1)), "faster");
  // The GPU waits for the host for half of the time, and hosts differ by more.
  const std::string waits =
      ", but one process each cannot show it: the GPU waits for the host, whose speed differs from "
      "process to process";
  EXPECT_EQ(verdict(on_gpu(1, 0.5), on_gpu(1.2, 0.5)), "slower" + waits);
  EXPECT_EQ(verdict(on_gpu(1.2, 0.5), on_gpu(1, 0.5)), "faster" + waits);
  EXPECT_EQ(verdict(on_gpu(1, 0.5), on_gpu(1.01, 0.5)), "no significant difference");
  EXPECT_EQ(verdict(on_gpu(1, 0.5), on_gpu(2, 0.5)), "slower");
  // A side that recorded no kernels has the share of the other side.
  EXPECT_EQ(verdict(on_gpu(1, {}), on_gpu(1.2, 1)), "slower");
  EXPECT_EQ(verdict(on_gpu(1, 0.5), on_gpu(1.2, {})), "slower" + waits);
  EXPECT_EQ(verdict(on_gpu(1, {}), on_gpu(1.2, {})),
            "slower, but one process each cannot show it: no kernels were recorded, so the GPU may "
            "have waited for the host");
  // The interval has the allowance of each side's own share.
  Database a = on_gpu(1, 0.91), b = on_gpu(1, 0.5);
  const Compared model("model", {&a, &b});
  const double of_a = std::hypot(0.02, 0.09 / 2), of_b = std::hypot(0.02, 0.18);
  const auto ratio = statistics::unpaired_ratio(estimate_of(a, 3), estimate_of(b, 3),
                                                std::hypot(of_a, of_b) / std::sqrt(2.0));
  EXPECT_NEAR(model.number(0, "ratio_low_b"), ratio->interval->low, 1e-3);
  EXPECT_NE(model.all().warnings[0].find("a standard deviation of 4.9 % of A and 18.1 % of B"),
            std::string::npos)
      << model.all().warnings[0];
}

TEST(Compare, TheAllowanceGrowsWithWhatOthersUsed) {
  Database a = make({});
  Database b = make({});
  must(b, "INSERT INTO evaluation VALUES ('machine.other_load_pct', '50')");
  const Compared model("model", {&a, &b});
  const double spread = std::sqrt((0.02 * 0.02 + 0.1 * 0.1) / 2);
  const auto ratio = statistics::unpaired_ratio(estimate_of(a, 3), estimate_of(b, 3), spread);
  EXPECT_NEAR(model.number(0, "ratio_low_b"), ratio->interval->low, 1e-9);
  EXPECT_NEAR(model.number(0, "ratio_high_b"), ratio->interval->high, 1e-9);
  ASSERT_EQ(model.all().warnings.size(), 1u);
  EXPECT_NE(model.all().warnings[0].find("a standard deviation of 2.0 % of A and 10.0 % of B"),
            std::string::npos)
      << model.all().warnings[0];
}

TEST(Compare, WhatWasDisturbedIsNotSlowerForCertain) {
  Database a = make({});
  Made made;
  made.factor = 1.6;
  Database b = make(made);
  must(b, "INSERT INTO evaluation VALUES ('machine.other_load_pct', '25')");
  const Compared model("model", {&a, &b});
  EXPECT_GT(model.number(0, "ratio_low_b"), 1);
  EXPECT_EQ(text(model.at(0, "verdict_b")), "slower, but B was disturbed");
  EXPECT_EQ(text(model.at(0, "significant_b")), "-") << "it is not known";
  must(a, "INSERT INTO evaluation VALUES ('machine.other_load_pct', '25')");
  EXPECT_EQ(text(Compared("model", {&a, &b}).at(0, "verdict_b")),
            "slower, but A and B were disturbed");
  // Other programs do not slow a model by a factor of four.
  made.factor = 4;
  Database c = make(made);
  EXPECT_EQ(text(Compared("model", {&a, &c}).at(0, "verdict_b")), "slower");
}

TEST(Compare, WhereEachBlockIsAProcessNothingIsAllowedFor) {
  Database a = make({});
  Database b = make({});
  for (Database* one : {&a, &b}) must(*one, "UPDATE span SET process = 7 + iteration // 3");
  const Compared model("model", {&a, &b});
  const auto ratio = statistics::unpaired_ratio(estimate_of(a, 3), estimate_of(b, 3));
  EXPECT_NEAR(model.number(0, "ratio_low_b"), ratio->interval->low, 1e-9);
  EXPECT_TRUE(model.all().warnings.empty());
  // There are as many processes as blocks, but one block has two of them.
  for (Database* one : {&a, &b}) must(*one, "UPDATE span SET process = 7 + iteration % 8");
  EXPECT_LT(Compared("model", {&a, &b}).number(0, "ratio_low_b"), ratio->interval->low);
}

TEST(Compare, FilesOfOneExperimentAreComparedRoundByRound) {
  Database a = make({});
  Made made;
  made.factor = 1.1;
  Database b = make(made);
  for (Database* one : {&a, &b}) {
    must(*one, "INSERT INTO evaluation VALUES ('experiment.id', 'abc')");
    // The machine becomes slower and slower, for both alike.
    must(*one, "UPDATE span SET duration_ns = duration_ns * (1 + 0.05 * (iteration // 3))");
  }
  const Compared paired("model", {&a, &b});
  const auto ratio = statistics::paired_ratio(estimate_of(a, 3), estimate_of(b, 3));
  EXPECT_NEAR(paired.number(0, "ratio_low_b"), ratio->interval->low, 1e-9);
  EXPECT_GT(paired.number(0, "ratio_low_b"), 1.09);
  EXPECT_TRUE(paired.all().warnings.empty());
  for (Database* one : {&a, &b}) {
    must(*one, "INSERT INTO evaluation VALUES ('experiment.width_pct', '0.00001')");
    must(*one, "UPDATE run SET stopped_by = 'time'");
  }
  const Compared wide("model", {&a, &b});
  ASSERT_EQ(wide.all().warnings.size(), 1u);
  EXPECT_EQ(wide.all().warnings[0].substr(0, 58),
            "B, batch 1: not settled: the ratio to A is known to within");
  must(b, "UPDATE evaluation SET value = 'abd' WHERE key = 'experiment.id'");
  EXPECT_LT(Compared("model", {&a, &b}).number(0, "ratio_low_b"), 1);
}

TEST(Compare, FewBlocksAreNoEvidence) {
  Database a = make({});
  Made made;
  made.factor = 2;
  made.blocks = 5;
  made.block_inferences = 20;
  Database b = make(made);
  const Compared few("model", {&a, &b});
  EXPECT_EQ(few.number(0, "ratio_b"),
            few.number(0, "latency_b_ns") / few.number(0, "latency_a_ns"));
  EXPECT_EQ(text(few.at(0, "ratio_low_b")), "-");
  EXPECT_EQ(text(few.at(0, "significant_b")), "-");
  EXPECT_EQ(text(few.at(0, "verdict_b")),
            "too few blocks: B has 100 inferences in 5 blocks: an interval needs 6");
  // Inferences that were not measured in blocks are cut into parts.
  must(b, "DELETE FROM block");
  EXPECT_EQ(text(Compared("model", {&a, &b}).at(0, "verdict_b")), "slower");
}

TEST(Compare, WhatFailedIsToldFromWhatWasNotTried) {
  Database a = make({});
  Made made;
  made.batch = 2;
  Database b = make(made);
  const auto state = [&] {
    return Compared("model", {&a, &b}).rows({"batch", "state_a", "state_b", "verdict_b"});
  };
  EXPECT_EQ(state(),
            "1,measured,not tried,not measured: not tried at this batch size; "
            "2,not tried,measured,no reference: A: not measured: not tried at this batch size");
  // A run that failed has earlier numbers, which do not count.
  must(b,
       "INSERT INTO run BY NAME SELECT 7 AS run_id, 'model' AS levels, 1 AS batch, "
       "9 AS iterations, 'failed' AS status, 'out of memory' AS reason");
  EXPECT_EQ(state().substr(0, 43), "1,measured,failed,failed: out of memory; 2,");
  must(b, "UPDATE run SET status = 'interrupted', iterations = 0 WHERE run_id = 7");
  EXPECT_EQ(state().substr(0, 58), "1,measured,interrupted,not measured: out of memory; 2,not ");
  // This run failed before the model's batch size was known.
  must(b, "UPDATE run SET status = 'failed', batch = NULL WHERE run_id = 7");
  EXPECT_EQ(state().substr(0, 43), "1,measured,failed,failed: out of memory; 2,");
  // Runs of other levels or with counters do not count for the model's latency.
  must(b, "UPDATE run SET batch = 1, counters = 'instructions' WHERE run_id = 7");
  EXPECT_EQ(state().substr(0, 22), "1,measured,not tried,n");
}

TEST(Compare, ALatencyThatIsNotSettledIsCalledSo) {
  Database a = make({});
  must(a, "UPDATE run SET stopped_by = 'time' WHERE run_id = 1");
  const Compared model("model", {&a, &a, &a});
  ASSERT_EQ(model.all().warnings.size(), 4u);
  EXPECT_EQ(model.all().warnings[0].substr(0, 46), "A, batch 1: not settled: stopped by time at ±");
  must(a, "UPDATE run SET stopped_by = 'interval' WHERE run_id = 1");
  EXPECT_EQ(Compared("model", {&a, &a}).all().warnings.size(), 1u);
}

TEST(Compare, EveryBatchSizeHasARowAndSaysWhoLacksIt) {
  Database a = make({});
  Made made;
  made.batch = 2;
  Database b = make(made);
  const Compared model("model", {&a, &b});
  EXPECT_EQ(model.rows({"batch", "iterations_a", "iterations_b", "verdict_b"}),
            "1,24,-,not measured: not tried at this batch size; "
            "2,-,24,no reference: A: not measured: not tried at this batch size");
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
  ASSERT_EQ(model.all().warnings.size(), 2u);
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
  ASSERT_EQ(model.all().warnings.size(), 3u);
  EXPECT_EQ(model.all().warnings[0], "B was measured with a warning: others were busy");
  EXPECT_EQ(model.all().warnings[1], "B was measured with a warning: hot");
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
  return Database::open(places::build("tests/data/h200_resnet50.xsp"));
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
  // Layers by the time of their kernels; the sum is the same.
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
  std::ifstream file(places::source("tests/data/gpu.sql"));
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
}  // namespace xsp::compare
