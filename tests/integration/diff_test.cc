// Tests xsp diff, on models whose difference is known.
#include <signal.h>

#include <nlohmann/json.hpp>

#include "tests/integration/run_xsp.h"
#include "tests/turns.h"

namespace xsp::integration {
namespace {

class DiffTest : public XspTest {
 protected:
  // Profiles three layers that sleep for `us` microseconds, in runs of many blocks.
  void profile(const std::string& file, int us, const std::string& max_time = "6") {
    const Finished finished =
        run({"profile", "fake:layers=3,us=" + std::to_string(us) + ",wait=sleep", "--max-time",
             max_time, "--no-peaks", "-o", file});
    ASSERT_EQ(finished.status, 0) << finished.err;
  }
};

// The models differ by a factor of four, because on a busy machine the allowance for the spread
// between processes may be large.
TEST_F(DiffTest, ARegressionTripsTheGateAndAnImprovementDoesNot) {
  in_turns([&] {
    profile("a.xsp", 1000);
    profile("b.xsp", 4000);
    const Finished slower = run({"diff", "a.xsp", "b.xsp", "--fail-on-regression", "20"});
    EXPECT_EQ(slower.status, 3) << slower.out << slower.err;
    EXPECT_NE(slower.out.find("regression by more than 20 %: batch 1: B takes "), std::string::npos)
        << slower.out;
    EXPECT_NE(slower.out.find("slower"), std::string::npos);
    EXPECT_EQ(run({"diff", "b.xsp", "a.xsp", "--fail-on-regression", "20"}).status, 0);
    EXPECT_EQ(run({"diff", "a.xsp", "a.xsp", "--fail-on-regression", "0"}).status, 0);
    EXPECT_EQ(run({"diff", "a.xsp", "b.xsp"}).status, 0);
    // The difference is smaller than the allowance.
    EXPECT_EQ(run({"diff", "a.xsp", "b.xsp", "--fail-on-regression", "900"}).status, 0);
  });
}

TEST_F(DiffTest, EveryFormatHasTheSameNumbers) {
  nlohmann::json printed;
  in_turns([&] {
    profile("a.xsp", 1000);
    profile("b.xsp", 4000);
    const Finished finished =
        run({"diff", "a.xsp", "b.xsp", "--format", "json", "--fail-on-regression", "20"});
    EXPECT_EQ(finished.status, 3);
    printed = nlohmann::json::parse(finished.out, nullptr, false);
    ASSERT_TRUE(printed.is_object()) << finished.out;
    ASSERT_EQ(printed["model"].size(), 1u);
    const double ratio = printed["model"][0]["ratio_b"];
    EXPECT_GT(ratio, 3);
    EXPECT_LT(ratio, 5);
    EXPECT_EQ(printed["model"][0]["verdict_b"], "slower");
  });
  EXPECT_EQ(printed["evaluations"], nlohmann::json({"a.xsp", "b.xsp"}));
  ASSERT_EQ(printed["layers"].size(), 3u);
  double differences = 0;
  double sums = 0;
  for (const auto& row : printed["layers"]) {
    EXPECT_EQ(row["matched_b"], "name");
    EXPECT_GT(row["difference_b_ns"], 0);
    differences += row["difference_b_ns"].get<double>();
    sums += row["latency_b_ns"].get<double>() - row["latency_a_ns"].get<double>();
  }
  EXPECT_NEAR(differences, sums, 1e-3);
  EXPECT_EQ(printed["not_measured"]["kernels"],
            "not measured: A: no GPU: the runs were on the CPU");
  EXPECT_EQ(printed["regression"]["tripped"], true);
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
  EXPECT_NE(finished.err.find("too few blocks"), std::string::npos) << finished.err;
  // The numbers are shown nevertheless.
  EXPECT_NE(finished.out.find("too few blocks"), std::string::npos) << finished.out;
  // Without the gate the numbers are shown, with the reason why there is no verdict.
  const Finished shown = run({"diff", "a.xsp", "few.xsp"});
  EXPECT_EQ(shown.status, 0);
  EXPECT_NE(shown.out.find("too few"), std::string::npos) << shown.out;
}

TEST_F(DiffTest, WhereBFailedTheGateTripsAndWhereItWasNotTriedItIsNotJudged) {
  in_turns([&] {
    const auto sweep = [&](const std::string& file, const std::string& more,
                           const std::string& batches) {
      return run({"profile", "fake:layers=3,us=500,wait=sleep" + more, "--batch", batches,
                  "--max-time", "6", "--levels", "model", "--no-peaks", "-o", file})
          .status;
    };
    ASSERT_EQ(sweep("a.xsp", "", "1,8"), 0);
    ASSERT_EQ(sweep("b.xsp", ",fault=memory@0,above=4", "1,8"), 1);
    ASSERT_EQ(sweep("c.xsp", "", "1"), 0);
    const Finished failed = run({"diff", "a.xsp", "b.xsp", "--fail-on-regression", "50"});
    EXPECT_EQ(failed.status, 3) << failed.out << failed.err;
    EXPECT_NE(failed.out.find("regression by more than 50 %: batch 8: B failed: "),
              std::string::npos)
        << failed.out;
    const Finished untried = run({"diff", "a.xsp", "c.xsp", "--fail-on-regression", "50"});
    EXPECT_EQ(untried.status, 4) << untried.out << untried.err;
    EXPECT_NE(untried.err.find("batch 8: not measured: not tried"), std::string::npos)
        << untried.err;
    for (const char* file : {"b.xsp", "c.xsp"}) {
      EXPECT_EQ(run({"diff", "a.xsp", file, "--batch", "1", "--fail-on-regression", "50"}).status,
                0);
      // A batch size that only B has is no regression.
      EXPECT_EQ(run({"diff", file, "a.xsp", "--fail-on-regression", "50"}).status, 0);
    }
  });
}

TEST_F(DiffTest, WithoutAnythingToCompareItFailsInEveryFormat) {
  ASSERT_EQ(
      run({"profile", "fake:layers=1", "--max-time", "1", "--no-peaks", "-o", "a.xsp"}).status, 0);
  const std::string why =
      "not measured: level model at batch 3: no evaluation has it: profile with --batch 3";
  const Finished text = run({"diff", "a.xsp", "a.xsp", "--batch", "3"});
  EXPECT_EQ(text.status, 4) << text.out << text.err;
  EXPECT_EQ(text.err, "error: " + why + "\n");
  const Finished printed = run({"diff", "a.xsp", "a.xsp", "--batch", "3", "--format", "json"});
  EXPECT_EQ(printed.status, 4) << printed.out << printed.err;
  const auto answer = nlohmann::json::parse(printed.out, nullptr, false);
  EXPECT_EQ(answer["not_measured"]["model"], why);
  // One table is enough, and the facts are one if nothing else is asked for.
  EXPECT_EQ(run({"diff", "a.xsp", "a.xsp", "--batch", "1"}).status, 0);
  EXPECT_EQ(run({"diff", "a.xsp", "a.xsp", "--table", "facts"}).status, 0);
}

// Both are measured, in turns.
class DiffRunTest : public DiffTest {
 protected:
  Finished run_pairs(const std::string& a, const std::string& b,
                     const std::vector<std::string>& more = {}, const RunOptions& how = {}) {
    std::vector<std::string> words = {"diff", "--run", a, b, "--pairs", "6", "--max-time", "3"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words, how);
  }
  const std::string fast_ = "fake:layers=3,us=500,wait=sleep";
  const std::string slow_ = "fake:layers=3,us=1000,wait=sleep";
};

TEST_F(DiffRunTest, ASlowerModelTripsTheGateAndTheSameDoesNot) {
  in_turns([&] {
    const Finished slower = run_pairs(fast_, slow_, {"--fail-on-regression", "20"});
    EXPECT_EQ(slower.status, 3) << slower.out << slower.err;
    EXPECT_NE(slower.out.find("A  " + fast_ + "\nB  " + slow_ + "\n"), std::string::npos)
        << slower.out;
    EXPECT_NE(slower.out.find("batch 1: B takes "), std::string::npos) << slower.out;
    // Each has enough processes, so there is no allowance.
    EXPECT_EQ(slower.out.find("recorded separately"), std::string::npos) << slower.out;
    const Finished same = run_pairs(fast_, fast_, {"--fail-on-regression", "20"});
    EXPECT_EQ(same.status, 0) << same.out << same.err;
    EXPECT_EQ(files(), std::vector<std::string>{"tmp"});
    EXPECT_TRUE(std::filesystem::is_empty(folder / "tmp"));
  });
}

TEST_F(DiffRunTest, TheFilesAgreeWithWhatWasPrinted) {
  const Finished printed =
      run_pairs(fast_, slow_, {"-o", "kept", "--format", "json", "--batch", "1,2"});
  ASSERT_EQ(printed.status, 0) << printed.err;
  const Finished read = run({"diff", "kept/a.xsp", "kept/b.xsp", "--format", "json"});
  ASSERT_EQ(read.status, 0) << read.err;
  const auto first = nlohmann::json::parse(printed.out, nullptr, false);
  const auto second = nlohmann::json::parse(read.out, nullptr, false);
  ASSERT_EQ(first["model"].size(), 2u) << printed.out;
  EXPECT_TRUE(equal_but_for_round_off(first["model"], second["model"]));
  EXPECT_EQ(first["evaluations"], nlohmann::json({"kept/a.xsp", "kept/b.xsp"}));
  for (const auto& row : first["model"]) {
    EXPECT_EQ(row["ratio_b"].get<double>(),
              row["latency_b_ns"].get<double>() / row["latency_a_ns"].get<double>());
  }
  const std::string id = "SELECT value FROM evaluation WHERE key = 'experiment.id'";
  EXPECT_EQ(scalar("kept/a.xsp", id), scalar("kept/b.xsp", id));
  for (const std::string file : {"kept/a.xsp", "kept/b.xsp"}) {
    // A process is a block, with the same pairs on both sides; every measured inference is there
    // once.
    EXPECT_EQ(query(file, "SELECT block FROM block WHERE run_id = 1 ORDER BY block"),
              query("kept/a.xsp", "SELECT block FROM block WHERE run_id = 1 ORDER BY block"));
    EXPECT_EQ(scalar(file,
                     "SELECT bool_and(processes = blocks AND blocks >= 6 AND spans = iterations "
                     "AND each = iterations) FROM (SELECT run_id, count(DISTINCT process) AS "
                     "processes, count(*) AS spans, count(DISTINCT iteration) AS each FROM span "
                     "WHERE level = 2 AND iteration >= 0 GROUP BY run_id) JOIN run USING (run_id) "
                     "JOIN (SELECT run_id, count(*) AS blocks FROM block GROUP BY run_id) "
                     "USING (run_id)"),
              true);
  }
  const Finished audit = run({"analyze", "audit", "kept/a.xsp", "--format", "json"});
  EXPECT_EQ(audit.status, 0) << audit.err;
}

TEST_F(DiffRunTest, WhereBFailsTheGateTrips) {
  const std::string failing = fast_ + ",fault=memory@0,above=4";
  const Finished gated =
      run_pairs(fast_, failing, {"--batch", "1,8", "--fail-on-regression", "90"});
  EXPECT_EQ(gated.status, 3) << gated.out << gated.err;
  EXPECT_NE(gated.out.find("batch 8: B failed: "), std::string::npos) << gated.out;
  // Without the gate it is a failed run, as in xsp profile.
  const Finished plain = run_pairs(fast_, failing, {"--batch", "1,8"});
  EXPECT_EQ(plain.status, 1) << plain.out << plain.err;
  EXPECT_EQ(error_lines(plain), 1);
  EXPECT_NE(plain.err.find("error: B, model, batch 8: failed: "), std::string::npos) << plain.err;
  // B fails at once, at every batch size, so it has no numbers: that is a regression, too.
  const Finished all = run_pairs(fast_, fast_ + ",fault=crash@1", {"--fail-on-regression", "90"});
  EXPECT_EQ(all.status, 3) << all.out << all.err;
  // If A fails, B cannot be judged.
  const Finished a = run_pairs(fast_ + ",fault=crash@1", fast_, {"--fail-on-regression", "90"});
  EXPECT_EQ(a.status, 4) << a.out << a.err;
}

TEST_F(DiffRunTest, AModelThatIsNoGoodIsRefused) {
  const Finished refused = run_pairs(fast_, "fake:layers=many");
  EXPECT_EQ(refused.status, 1) << refused.out << refused.err;
  EXPECT_EQ(error_lines(refused), 1);
  EXPECT_NE(refused.err.find("error: B: "), std::string::npos) << refused.err;
  EXPECT_EQ(files(), std::vector<std::string>{"tmp"});
}

TEST_F(DiffRunTest, CtrlCKeepsWhatWasMeasured) {
  RunOptions how;
  how.watch = [](const std::string& err, int pid) {
    if (err.find("opening pair 4 ") == std::string::npos) return false;
    ::kill(pid, SIGINT);
    return true;
  };
  const Finished finished = run({"diff", "--run", fast_, fast_, "--pairs", "50", "--max-time", "60",
                                 "-o", "kept", "--fail-on-regression", "5"},
                                how);
  EXPECT_EQ(finished.status, 1) << finished.out << finished.err;
  EXPECT_EQ(error_lines(finished), 1);
  EXPECT_NE(finished.err.find("error: interrupted: what was measured is in kept"),
            std::string::npos)
      << finished.err;
  EXPECT_NE(finished.out.find("too few blocks"), std::string::npos) << finished.out;
  for (const std::string file : {"kept/a.xsp", "kept/b.xsp"}) {
    EXPECT_EQ(scalar(file, "SELECT status FROM run"), "interrupted");
    EXPECT_GE(scalar(file, "SELECT count(*) FROM block"), 3);
  }
}

TEST_F(DiffRunTest, MisuseIsOneLine) {
  EXPECT_EQ(run({"diff", "a.xsp", "b.xsp", "--pairs", "8"}).status, 2);
  EXPECT_EQ(run({"diff", "--run", fast_, fast_, "--pairs", "5"}).status, 2);
  EXPECT_EQ(run({"diff", "--run", fast_}).status, 2);
  EXPECT_EQ(run({"diff", "--run", fast_, fast_, "--batch", "1,1"}).status, 2);
  const Finished missing = run({"diff", "--run", fast_, "none.onnx"});
  EXPECT_EQ(missing.status, 1);
  EXPECT_EQ(error_lines(missing), 1);
  // The adapter fake has no options: the side that is given one is refused.
  const Finished option = run_pairs(fast_, fast_, {"--option-b", "x=1"});
  EXPECT_EQ(option.status, 1);
  EXPECT_NE(option.err.find("error: B, model: failed: option x: "), std::string::npos)
      << option.err;
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
  EXPECT_EQ(run({"diff", "a.xsp", "a.xsp", "--batch", "1,2"}).status, 2);
  const Finished help = run({"diff", "--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_NE(help.out.find("--fail-on-regression"), std::string::npos);
}

}  // namespace
}  // namespace xsp::integration
