// Tests xsp analyze, xsp findings and xsp query as a user meets them: from arguments to text and
// exit status.
#include "desk/cli/verbs.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "desk/store/database.h"
#include "shared/base/guard.h"
#include "tests/places.h"

namespace xsp::cli {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  int exit_status = 0;
  std::string out;
  std::string error;
};

Outcome run_verb(const std::vector<std::string>& words) {
  CLI::App app("xsp", "xsp");
  app.require_subcommand(1);
  Outcome outcome;
  add_analyze(app, outcome.exit_status);
  add_findings(app, outcome.exit_status);
  add_query(app, outcome.exit_status);
  std::vector<const char*> arguments = {"xsp"};
  for (const std::string& word : words) arguments.push_back(word.c_str());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const bool is_refused =
      guard([&] { app.parse(static_cast<int>(arguments.size()), arguments.data()); }).has_value();
  if (is_refused) outcome.exit_status = 2;
  outcome.out = testing::internal::GetCapturedStdout();
  outcome.error = testing::internal::GetCapturedStderr();
  return outcome;
}

class Verbs : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string name = (fs::temp_directory_path() / "xsp-verbs-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    auto database = store::Database::create(file());
    ASSERT_TRUE(database.ok()) << database.error().text;
    std::ifstream fixture(places::source("tests/data/small.sql"));
    std::ostringstream sql;
    sql << fixture.rdbuf();
    const Status filled = database->execute(sql.str());
    ASSERT_TRUE(filled.ok()) << filled.error().text;
    const Status finished = database->finish();
    ASSERT_TRUE(finished.ok()) << finished.error().text;
  }
  static void TearDownTestSuite() { fs::remove_all(folder_); }
  static std::string file() { return (folder_ / "small.xsp").string(); }

 private:
  static inline fs::path folder_;
};

TEST_F(Verbs, AnalyzePrintsATable) {
  const Outcome outcome = run_verb({"analyze", "a6", file()});
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.out.substr(0, 30), "Latency by layer type, batch 1");
}

TEST_F(Verbs, AnalyzePrintsEveryFormatOfOneResult) {
  const Outcome json = run_verb({"analyze", "a6", file(), "--format", "json"});
  const auto rows = nlohmann::json::parse(json.out);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0]["type"], "Conv");
  EXPECT_EQ(rows[0]["latency_ns"], 700000.0);
  const Outcome csv = run_verb({"analyze", "a6", file(), "--format", "csv"});
  EXPECT_EQ(csv.out.substr(0, csv.out.find('\n')),
            "batch,type,layers,latency_ns,device_ns,span_ns,layers_share_pct,time_of");
  const Outcome markdown = run_verb({"analyze", "a6", file(), "--format", "markdown"});
  EXPECT_NE(markdown.out.find("| Conv | 2 | 700.0 |"), std::string::npos) << markdown.out;
}

TEST_F(Verbs, AnalyzeTakesParameters) {
  const Outcome outcome =
      run_verb({"analyze", "latency-by-layer-type", file(), "--param", "batch=2"});
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_NE(outcome.out.find("batch 2"), std::string::npos);
}

TEST_F(Verbs, AnalyzeListsTheCatalogue) {
  const Outcome outcome = run_verb({"analyze", "--list", "--format", "json"});
  const auto list = nlohmann::json::parse(outcome.out);
  ASSERT_GT(list.size(), 10u);
  for (const auto& one : list) {
    EXPECT_FALSE(one["name"].get<std::string>().empty());
    EXPECT_FALSE(one["id"].get<std::string>().empty());
    EXPECT_FALSE(one["title"].get<std::string>().empty());
  }
  EXPECT_EQ(list[0]["id"], "a1");
}

TEST_F(Verbs, AnalyzeExplainsOne) {
  const Outcome outcome = run_verb({"analyze", "--list", "a1"});
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_NE(outcome.out.find("max_latency_ms=double"), std::string::npos);
  EXPECT_NE(outcome.out.find("throughput_per_s"), std::string::npos);
}

TEST_F(Verbs, WhatWasNotMeasuredExitsWith4) {
  const Outcome kernels = run_verb({"analyze", "a15", file()});
  EXPECT_EQ(kernels.exit_status, 4);
  EXPECT_EQ(kernels.out, "");
  EXPECT_EQ(kernels.error, "error: not measured: no GPU: the runs were on the CPU\n");
  EXPECT_EQ(run_verb({"analyze", "a6", file(), "--param", "batch=64"}).exit_status, 4);
}

TEST_F(Verbs, MisuseExitsWith2InOneLine) {
  const std::vector<std::vector<std::string>> cases = {
      {"analyze", "a99", file()},
      {"analyze"},
      {"analyze", "a1"},
      {"analyze", "a1", file(), "--param", "batch"},
      {"analyze", "a6", file(), "--param", "batch=1.5"},
      {"analyze", "a6", file(), "--param", "batch=1", "--param", "batch=2"},
      {"analyze", "a6", file(), "--param", "batch=1", "--batch", "2"},
      {"analyze", "a6", file(), "--param", "colour=red"},
      {"query", file(), "SELECT nothing_such"},
      {"query", file(), ""},
  };
  for (const auto& words : cases) {
    const Outcome outcome = run_verb(words);
    EXPECT_EQ(outcome.exit_status, 2) << words.back();
    EXPECT_EQ(outcome.out, "") << words.back();
    EXPECT_EQ(outcome.error.find("error: "), 0u) << words.back();
    EXPECT_EQ(outcome.error.find('\n'), outcome.error.size() - 1) << outcome.error;
  }
  EXPECT_EQ(run_verb({"analyze", "a1", file(), "--format", "xml"}).exit_status, 2);
}

TEST_F(Verbs, AMissingFileExitsWith1) {
  const Outcome outcome = run_verb({"analyze", "a1", file() + ".gone"});
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_NE(outcome.error.find("No such file"), std::string::npos) << outcome.error;
}

TEST_F(Verbs, FindingsAreNumberedSentencesWithTheirBound) {
  const Outcome outcome = run_verb({"findings", file()});
  EXPECT_EQ(outcome.exit_status, 0) << outcome.error;
  EXPECT_EQ(outcome.out.find("Findings in " + file() + ", batch 1\n\n 1. "), 0u) << outcome.out;
  std::string text = outcome.out;
  for (char& c : text) c = c == '\n' ? ' ' : c;
  for (size_t at; (at = text.find("  ")) != std::string::npos;) text.erase(at, 1);
  EXPECT_NE(
      text.find("Conv takes 62.2 % of the inference (2 layers) and runs at 0.219 % of what "
                "arithmetic and memory allow (about 62 % of an inference). Look at those farthest"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("(xsp analyze layer_roofline " + file() + ")"), std::string::npos) << text;
  EXPECT_NE(text.find("(about 8.9 % of an inference)"), std::string::npos) << text;
  EXPECT_LT(text.find(" 5. "), text.find("Some rules could not be asked: no GPU"));
  // The name of the temporary file is one word, so its line may be longer.
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(file()) != std::string::npos) continue;
    EXPECT_LE(line.size(), 100u) << line;
  }
}

TEST_F(Verbs, FindingsHaveTheRowsOfTheAnalysis) {
  const Outcome json = run_verb({"findings", file(), "--format", "json", "--batch", "2"});
  EXPECT_EQ(
      json.out,
      run_verb({"analyze", "findings", file(), "--param", "batch=2", "--format", "json"}).out);
  EXPECT_EQ(json.out,
            run_verb({"analyze", "findings", file(), "--batch", "2", "--format", "json"}).out);
  const auto rows = nlohmann::json::parse(json.out);
  ASSERT_GT(rows.size(), 2u);
  EXPECT_EQ(rows[0]["rule"], "type_below_roof");
  EXPECT_EQ(rows[0]["batch"], 2);
  const Outcome two = run_verb({"findings", file(), file(), "--format", "csv"});
  EXPECT_EQ(two.out.substr(0, 16), "file,batch,rank,");
  const Outcome texts = run_verb({"findings", file(), file()});
  EXPECT_NE(texts.out.find("\n\nFindings in "), std::string::npos) << texts.out;
}

TEST_F(Verbs, FindingsOfNothingAreOneSentence) {
  const std::string nothing = file() + ".nothing.xsp";
  auto database = store::Database::create(nothing);
  ASSERT_TRUE(database.ok()) << database.error().text;
  ASSERT_TRUE(
      database
          ->execute("INSERT INTO run BY NAME SELECT 1 AS run_id, 'model' AS levels, 1 AS "
                    "batch, 'fake' AS framework, 'cpu' AS device, 2 AS iterations, "
                    "'ok' AS status;"
                    "INSERT INTO span BY NAME SELECT 1 AS run_id, i AS span_id, 2 AS level, "
                    "'m' AS name, i AS iteration, 0 AS ordinal, 100 * i AS start_ns, "
                    "90 AS duration_ns, i AS model_id, 1 AS site_id, 0 AS depth, "
                    "90 AS self_ns, false AS is_open FROM range(2) t(i)")
          .ok());
  ASSERT_TRUE(database->finish().ok());
  const Outcome outcome = run_verb({"findings", nothing});
  EXPECT_EQ(outcome.exit_status, 0) << outcome.error;
  EXPECT_NE(outcome.out.find("No rule found anything that would gain 1 % of an inference or more."),
            std::string::npos)
      << outcome.out;
  EXPECT_EQ(outcome.out.find(" 1. "), std::string::npos) << outcome.out;
}

TEST_F(Verbs, FindingsSayWhatIsWrongInOneLine) {
  EXPECT_EQ(run_verb({"findings"}).exit_status, 2);
  EXPECT_EQ(run_verb({"findings", file(), "--format", "table"}).exit_status, 2);
  EXPECT_EQ(run_verb({"findings", file(), "--batch", "0"}).exit_status, 2);
  const Outcome batch = run_verb({"findings", file(), "--batch", "64"});
  EXPECT_EQ(batch.exit_status, 4);
  EXPECT_EQ(batch.error.find("error: not measured: batch 64"), 0u) << batch.error;
  EXPECT_EQ(run_verb({"findings", file() + ".gone"}).exit_status, 1);
}

TEST_F(Verbs, QueryPrintsRowsAndKnowsTheMacros) {
  const Outcome outcome =
      run_verb({"query", file(), "SELECT name, latency_ns FROM layers(1) WHERE type = 'Gemm'",
                "--format", "csv"});
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_EQ(outcome.out, "name,latency_ns\nclassify,150000\n");
}

// A simple query gives the right numbers: without warm-up, from the level's own run, of its typical
// inferences.
TEST_F(Verbs, QueryHasViewsOfWhatTheAnalysesCount) {
  const auto csv = [&](const std::string& sql) {
    return run_verb({"query", file(), sql, "--format", "csv"}).out;
  };
  EXPECT_EQ(csv("SELECT batch, avg(duration_ns) AS ns FROM inference GROUP BY ALL ORDER BY 1"),
            "batch,ns\n1,1025000\n2,1625000\n");
  EXPECT_EQ(csv("SELECT batch, name, avg(duration_ns) AS ns FROM layer WHERE type = 'Gemm' "
                "GROUP BY ALL ORDER BY 1"),
            "batch,name,ns\n1,classify,150000\n2,classify,225000\n");
  EXPECT_EQ(csv("SELECT count(*) AS kernels FROM kernel"), "kernels\n0\n");
}

TEST_F(Verbs, QueryLeavesTheFileAsItIs) {
  EXPECT_NE(run_verb({"query", file(), "DELETE FROM span"}).exit_status, 0);
  EXPECT_EQ(run_verb({"query", file(), "SELECT count(*) AS n FROM span", "--format", "csv"}).out,
            "n\n84\n");
}

}  // namespace
}  // namespace xsp::cli
