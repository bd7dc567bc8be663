// Tests xsp condense on an evaluation that was recorded on an H200, and on files that it refuses.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "desk/store/database.h"
#include "tests/integration/run_xsp.h"
#include "tests/places.h"

namespace xsp::integration {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class CondenseTest : public XspTest {
 protected:
  void take_recorded() const {
    fs::copy_file(places::build("tests/data/h200_resnet50.xsp"), folder / "a.xsp");
  }
  void condense() const {
    const Finished finished = run({"condense", "a.xsp", "-o", "b.xsp"});
    ASSERT_EQ(finished.status, 0) << finished.err;
    EXPECT_EQ(finished.out, "");
  }
  void make(const std::string& name, const std::string& sql) const {
    auto database = store::Database::create(folder / name);
    ASSERT_TRUE(database.ok()) << database.error().text;
    const Status made = database->execute(sql);
    ASSERT_TRUE(made.ok()) << made.error().text;
    ASSERT_TRUE(database->finish().ok());
  }
  void expect_refused(const std::string& file, const std::string& part) const {
    const auto before = files();
    const Finished finished = run({"condense", file, "-o", "c.xsp"});
    EXPECT_NE(finished.status, 0);
    EXPECT_EQ(error_lines(finished), 1) << finished.err;
    EXPECT_NE(finished.err.find(part), std::string::npos) << finished.err;
    EXPECT_EQ(files(), before);
  }
  std::vector<std::string> analyses() const {
    const Finished listed = run({"analyze", "--list", "--format", "json"});
    EXPECT_EQ(listed.status, 0) << listed.err;
    std::vector<std::string> names;
    for (const json& one : json::parse(listed.out)) names.push_back(one["name"]);
    return names;
  }
  Finished analyze(const std::string& name, const std::string& file) const {
    return run({"analyze", name, file, "--format", "json"});
  }
  std::string audit(const std::string& file) const {
    return run({"analyze", "audit", file, "--format", "csv"}).out;
  }
};

// Sums of floating-point numbers differ in their last digits if their order does.
bool is_same(const std::string& a, const std::string& b) {
  if (a == b) return true;
  char* end_a = nullptr;
  char* end_b = nullptr;
  const double x = std::strtod(a.c_str(), &end_a);
  const double y = std::strtod(b.c_str(), &end_b);
  if (a.empty() || b.empty() || *end_a != 0 || *end_b != 0) return false;
  return std::abs(x - y) <= 1e-9 * std::max(std::abs(x), std::abs(y));
}

// These ask for single inferences: the first says how many spans are left out, the next counts
// inferences, and the last places one on the timeline.
const std::set<std::string> kOwnAnswers = {"audit", "kernel_sequence", "critical_path"};
const std::set<std::string> kRefused = {"hotspots", "steps"};

TEST_F(CondenseTest, EveryAnalysisAnswersTheSame) {
  take_recorded();
  condense();
  EXPECT_LT(scalar("b.xsp", "SELECT count(*) FROM span"),
            scalar("a.xsp", "SELECT count(*) FROM span"));
  const std::vector<std::string> names = analyses();
  EXPECT_GT(names.size(), 40u);
  for (const std::string& name : names) {
    if (kOwnAnswers.count(name) > 0) continue;
    const Finished copy = analyze(name, "b.xsp");
    if (kRefused.count(name) > 0) {
      EXPECT_EQ(copy.status, 4) << name;
      EXPECT_NE(copy.err.find("xsp condense left out"), std::string::npos) << copy.err;
      continue;
    }
    const Finished whole = analyze(name, "a.xsp");
    EXPECT_EQ(copy.status, whole.status) << name;
    if (whole.status != 0) continue;
    const json expected = json::parse(whole.out);
    const json found = json::parse(copy.out);
    ASSERT_EQ(found.size(), expected.size()) << name;
    for (size_t row = 0; row < expected.size(); ++row) {
      for (const auto& [key, value] : expected[row].items()) {
        EXPECT_PRED2(is_same, found[row][key].dump(), value.dump()) << name << " " << key;
      }
    }
  }
}

TEST_F(CondenseTest, TheAuditAddsUp) {
  take_recorded();
  condense();
  const int64_t before = scalar("a.xsp", "SELECT count(*) FROM span").get<int64_t>();
  const int64_t after = scalar("b.xsp", "SELECT count(*) FROM span").get<int64_t>();
  const std::string text = audit("b.xsp");
  EXPECT_NE(text.find("xsp condense left out " + std::to_string(before - after)), std::string::npos)
      << text;
  const auto bad = [](const std::string& lines) {
    size_t count = 0;
    for (size_t at = 0; (at = lines.find(",not ok,", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  EXPECT_EQ(bad(text), bad(audit("a.xsp"))) << text;
}

// A run that recorded more than the level model becomes one of a shorter measurement, in which the
// same inferences are typical, and whose means differ little.
// A run that recorded more than the level model becomes one of a shorter measurement, in which the
// same inferences are typical, and whose means differ little.
TEST_F(CondenseTest, ItKeepsSoManyInferencesOfARun) {
  take_recorded();
  condense();
  const auto deep = [this](const std::string& file, const std::string& what) {
    return scalar(file, "SELECT max(" + what +
                            ") FROM (SELECT run_id, any_value(has_counters(counters)) AS counts,"
                            " count(*) AS n, count(*) FILTER (is_typical) AS typical,"
                            " avg(duration_ns) FILTER (is_typical) AS mean_ns"
                            " FROM measured_inference JOIN run USING (run_id)"
                            " WHERE contains(levels, ',') GROUP BY run_id)")
        .get<double>();
  };
  const std::string bare =
      "SELECT count(*) FROM measured_inference i JOIN run USING (run_id)"
      " WHERE contains(levels, ',') AND is_typical AND NOT EXISTS (FROM span s"
      " WHERE s.run_id = i.run_id AND s.iteration = i.iteration AND s.level = 3)";
  const std::string latency =
      "SELECT sum(duration_ns) FROM measured_inference JOIN run USING (run_id)"
      " WHERE levels = 'model'";
  const auto read_bytes = [this](const std::string& file) {
    return json::parse(analyze("kernels_in_model", file).out)[0]["dram_read_bytes"].get<double>();
  };
  // It counted twice, and took fifteen inferences each time.
  EXPECT_EQ(scalar("a.xsp", "SELECT count(*) FROM measured_inference WHERE run_id = 5"), 30);
  EXPECT_EQ(deep("a.xsp", "CASE WHEN NOT counts THEN n END"), 6);
  for (const std::string file : {"a.xsp", "b.xsp"}) {  // a copy may be condensed further
    const Finished finished = run({"condense", file, "-o", "c.xsp", "--inferences=5", "--force"});
    ASSERT_EQ(finished.status, 0) << finished.err;
    EXPECT_EQ(scalar("c.xsp", "SELECT count(*) FROM measured_inference WHERE run_id = 5"), 2);
    EXPECT_NEAR(read_bytes("c.xsp") / read_bytes("a.xsp"), 1, 0.001) << file;
    EXPECT_EQ(deep("c.xsp", "CASE WHEN NOT counts THEN n END"), 5) << file;
    EXPECT_EQ(deep("c.xsp", "CASE WHEN NOT counts THEN typical END"), 3) << file;
    const std::string mean = "CASE WHEN NOT counts THEN mean_ns END";
    EXPECT_NEAR(deep("c.xsp", mean) / deep("a.xsp", mean), 1, 0.02) << file;
    EXPECT_EQ(scalar("c.xsp", bare), 0) << file;
    EXPECT_EQ(scalar("c.xsp", latency), scalar("a.xsp", latency)) << file;
    const std::string text = audit("c.xsp");
    EXPECT_NE(text.find("inferences recorded,ok,0,"), std::string::npos) << text;
  }
  EXPECT_EQ(run({"condense", "a.xsp", "-o", "d.xsp", "--inferences", "4"}).status, 2);
}

// A copy that keeps too few inferences for an interval says that the measurement had more.
TEST_F(CondenseTest, FewInferencesAreTheCopysAndNotTheMeasurements) {
  std::ifstream file(places::source("tests/data/small.sql"));
  std::ostringstream sql;
  sql << file.rdbuf() << "DELETE FROM span WHERE iteration > 4;";
  make("c.xsp", sql.str() + "UPDATE run SET stopped_by = 'iterations';");
  const std::string doubts =
      "SELECT min(doubt) FROM level_doubt WHERE kind = 'unsettled' AND level = 3";
  const std::string measured = scalar("c.xsp", doubts);
  EXPECT_NE(measured.find(" of the 6 blocks that an interval takes"), std::string::npos);
  make("c.xsp", sql.str() +
                    "INSERT INTO audit_fact BY NAME SELECT run_id, 'condensed_inferences' AS name, "
                    "60 AS value FROM run; UPDATE run SET stopped_by = 'iterations', iterations = "
                    "65;");
  EXPECT_EQ(scalar("c.xsp", doubts), measured + "; this copy keeps 5 of 65 inferences");
}

TEST_F(CondenseTest, WhatCannotBeCondensedIsSaid) {
  take_recorded();
  condense();
  expect_refused("b.xsp", "is condensed already");
  expect_refused("nosuch.xsp", "cannot be opened");
  make("watched.xsp", "INSERT INTO evaluation VALUES ('recorded_by', 'xsp run')");
  expect_refused("watched.xsp", "is of a watched program");
  make("empty.xsp", "SELECT 1");
  expect_refused("empty.xsp", "has no inferences");
  const Finished same = run({"condense", "a.xsp", "-o", "a.xsp"});
  EXPECT_NE(same.status, 0);
  EXPECT_EQ(error_lines(same), 1) << same.err;
}

}  // namespace
}  // namespace xsp::integration
