// xsp diff, on models whose difference is known.
#include <nlohmann/json.hpp>

#include "tests/integration/run_xsp.h"

namespace xsp::integration {
namespace {

class DiffTest : public XspTest {
 protected:
  // Three layers that sleep for so long, in runs of many blocks.
  void profile(const std::string& file, int us, const std::string& max_time = "3") {
    const Finished finished =
        run({"profile", "fake:layers=3,us=" + std::to_string(us) + ",wait=sleep", "--max-time",
             max_time, "--no-peaks", "-o", file});
    ASSERT_EQ(finished.status, 0) << finished.err;
  }
};

TEST_F(DiffTest, ARegressionTripsTheGateAndAnImprovementDoesNot) {
  profile("a.xsp", 1000);
  profile("b.xsp", 2000);
  const Finished slower = run({"diff", "a.xsp", "b.xsp", "--fail-on-regression", "20"});
  EXPECT_EQ(slower.status, 3) << slower.out << slower.err;
  EXPECT_NE(slower.out.find("regression by more than 20 %: batch 1: B takes at least"),
            std::string::npos)
      << slower.out;
  EXPECT_NE(slower.out.find("slower"), std::string::npos);
  EXPECT_EQ(run({"diff", "b.xsp", "a.xsp", "--fail-on-regression", "20"}).status, 0);
  EXPECT_EQ(run({"diff", "a.xsp", "a.xsp", "--fail-on-regression", "0"}).status, 0);
  EXPECT_EQ(run({"diff", "a.xsp", "b.xsp"}).status, 0);
  // A difference that is less than what is allowed.
  EXPECT_EQ(run({"diff", "a.xsp", "b.xsp", "--fail-on-regression", "900"}).status, 0);
}

TEST_F(DiffTest, EveryFormatHasTheSameNumbers) {
  profile("a.xsp", 1000);
  profile("b.xsp", 2000);
  const Finished finished =
      run({"diff", "a.xsp", "b.xsp", "--format", "json", "--fail-on-regression", "20"});
  EXPECT_EQ(finished.status, 3);
  const auto json = nlohmann::json::parse(finished.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << finished.out;
  EXPECT_EQ(json["evaluations"], nlohmann::json({"a.xsp", "b.xsp"}));
  ASSERT_EQ(json["model"].size(), 1u);
  const double ratio = json["model"][0]["ratio_b"];
  EXPECT_GT(ratio, 1.5);
  EXPECT_LT(ratio, 2.5);
  EXPECT_EQ(json["model"][0]["verdict_b"], "slower");
  ASSERT_EQ(json["layers"].size(), 3u);
  double differences = 0;
  double sums = 0;
  for (const auto& row : json["layers"]) {
    EXPECT_EQ(row["matched_b"], "name");
    EXPECT_GT(row["difference_b_ns"], 0);
    differences += row["difference_b_ns"].get<double>();
    sums += row["latency_b_ns"].get<double>() - row["latency_a_ns"].get<double>();
  }
  EXPECT_NEAR(differences, sums, 1e-3);
  EXPECT_EQ(json["not_measured"]["kernels"], "not measured: A: no GPU: the runs were on the CPU");
  EXPECT_EQ(json["regression"]["tripped"], true);
  const Finished csv = run({"diff", "a.xsp", "b.xsp", "--table", "layers", "--format", "csv"});
  EXPECT_EQ(csv.out.substr(0, csv.out.find(',')), "index");
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), '\n'), 4);
  const Finished markdown = run({"diff", "a.xsp", "b.xsp", "--format", "markdown"});
  EXPECT_NE(markdown.out.find("| layer_0 |"), std::string::npos) << markdown.out;
}

TEST_F(DiffTest, WithoutEvidenceTheGateDoesNotPass) {
  profile("a.xsp", 1000);
  ASSERT_EQ(run({"profile", "fake:layers=3,us=400000,wait=sleep", "--max-time", "4", "--no-peaks",
                 "-o", "few.xsp"})
                .status,
            0);
  const Finished finished = run({"diff", "a.xsp", "few.xsp", "--fail-on-regression", "5"});
  EXPECT_EQ(finished.status, 4) << finished.out << finished.err;
  EXPECT_EQ(error_lines(finished), 1);
  EXPECT_NE(finished.err.find("too few"), std::string::npos) << finished.err;
  // Without the gate the numbers are shown, and why nothing is said of them.
  const Finished shown = run({"diff", "a.xsp", "few.xsp"});
  EXPECT_EQ(shown.status, 0);
  EXPECT_NE(shown.out.find("too few"), std::string::npos) << shown.out;
}

TEST_F(DiffTest, MisuseIsOneLine) {
  profile("a.xsp", 500);
  const Finished missing = run({"diff", "a.xsp", "none.xsp"});
  EXPECT_EQ(missing.status, 1);
  EXPECT_EQ(error_lines(missing), 1);
  EXPECT_EQ(run({"diff", "a.xsp"}).status, 2);
  EXPECT_EQ(run({"diff", "a.xsp", "a.xsp", "a.xsp"}).status, 2);
  EXPECT_EQ(run({"diff", "a.xsp", "a.xsp", "--table", "layer"}).status, 2);
  EXPECT_EQ(run({"diff", "a.xsp", "a.xsp", "--fail-on-regression", "-3"}).status, 2);
  EXPECT_EQ(run({"diff", "a.xsp", "a.xsp", "--fail-on-regression", "nan"}).status, 2);
  EXPECT_EQ(run({"diff", "a.xsp", "a.xsp", "--table", "kernels"}).status, 4);
  EXPECT_EQ(run({"diff", "a.xsp", "a.xsp", "--batch", "7", "--table", "layers"}).status, 4);
  const Finished help = run({"diff", "--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_NE(help.out.find("--fail-on-regression"), std::string::npos);
}

}  // namespace
}  // namespace xsp::integration
