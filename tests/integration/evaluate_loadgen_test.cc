// Tests xsp evaluate with MLPerf LoadGen's requests, and that LoadGen measures what the requests'
// spans say.
#include <signal.h>

#include <fstream>
#include <set>
#include <sstream>

#include "tests/integration/run_xsp.h"
#include "tests/turns.h"

namespace xsp::integration {
namespace {

class LoadgenTest : public XspTest {
 protected:
  Finished evaluate(const std::string& model, std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"evaluate", model, "--generator", "loadgen"});
    arguments.insert(arguments.end(), {"-o", "a.xsp"});
    return run(arguments);
  }
  std::string text_of(const std::string& file) const {
    std::ostringstream text;
    text << std::ifstream(folder / file).rdbuf();
    return text.str();
  }
  // Compares LoadGen's latencies with those of the spans. LoadGen takes the value of rank n p
  // (counted from 0), and reads its clock when it is told the answer, which is right after the
  // request's end. So its latencies are a little longer: half a microsecond in the mean on a quiet
  // machine. The bounds allow for a machine that does other things meanwhile.
  void expect_equal_latencies() const {
    const auto rows = query(
        "a.xsp",
        "WITH l AS (SELECT duration_ns AS ns, row_number() OVER (ORDER BY duration_ns) - 1 AS rank,"
        " count(*) OVER () AS n FROM span WHERE run_id = 1 AND type = 'request') "
        "SELECT metric, value AS theirs, (SELECT ns FROM l WHERE rank = "
        "floor(n * substr(metric, 18)::DOUBLE / 100 + 1e-9)) AS ours "
        "FROM result WHERE metric IN ('loadgen.latency.p50', 'loadgen.latency.p90', "
        "'loadgen.latency.p95', 'loadgen.latency.p97', 'loadgen.latency.p99')");
    ASSERT_EQ(rows.size(), 5u);
    for (const auto& row : rows) {
      const double more_ns = row.at("theirs").get<double>() - row.at("ours").get<double>();
      EXPECT_GT(more_ns, -20e3) << row;
      // Half of the requests are never interrupted between the two readings.
      EXPECT_LT(more_ns, row.at("metric") == "loadgen.latency.p50" ? 50e3 : 300e3) << row;
    }
    const double more_ns = scalar("a.xsp",
                                  "SELECT (SELECT value FROM result WHERE metric = "
                                  "'loadgen.latency.mean') - (SELECT avg(duration_ns) FROM span "
                                  "WHERE run_id = 1 AND type = 'request')")
                               .get<double>();
    EXPECT_GT(more_ns, -10e3);
    EXPECT_LT(more_ns, 300e3);
  }
};

TEST_F(LoadgenTest, ItsLatenciesAreThoseOfTheSpans) {
  in_turns([&] {
    const Finished server = evaluate("fake:layers=1,us=300,wait=sleep",
                                     {"--scenario", "server", "--rate", "800", "--requests", "1500",
                                      "--bound", "p90=20s", "--max-batch", "4"});
    ASSERT_EQ(server.status, 0) << server.err;
    EXPECT_NE(server.out.find("1500 answered, 0 abandoned"), std::string::npos) << server.out;
    EXPECT_NE(server.out.find("LoadGen: VALID"), std::string::npos) << server.out;
    expect_equal_latencies();
    const Finished single =
        evaluate("fake:layers=1,us=100,wait=sleep", {"--scenario", "single", "--requests", "500"});
    ASSERT_EQ(single.status, 0) << single.err;
    expect_equal_latencies();
  });
}

// The schedule of the server goes on for half a minute, and LoadGen cannot be ended before.
TEST_F(LoadgenTest, AnInterruptedLoadKeepsWhatWasAnswered) {
  RunOptions options;
  options.watch = [](const std::string& err, int pid) {
    if (err.find(" requests answered in ") == std::string::npos) return false;
    ::kill(pid, SIGINT);
    return true;
  };
  const Finished finished =
      run({"evaluate", "fake:layers=1,us=300,wait=sleep", "--generator", "loadgen", "--scenario",
           "server", "--rate", "5", "--requests", "200", "--bound", "p90=20s", "-o", "a.xsp"},
          options);
  EXPECT_EQ(finished.status, 1) << finished.err;
  EXPECT_NE(finished.err.find("error: interrupted: what was measured is in a.xsp"),
            std::string::npos)
      << finished.err;
  EXPECT_NE(finished.out.find("incomplete: interrupted after "), std::string::npos) << finished.out;
  EXPECT_GT(scalar("a.xsp", "SELECT value FROM result WHERE metric = 'answered'"), 0);
}

TEST_F(LoadgenTest, TenThousandRequestsAtTheHighestRateAreAnsweredOnceEach) {
  in_turns([&] {
    const Finished finished = evaluate(
        "fake:layers=1,us=1", {"--scenario", "offline", "--requests", "10000", "--max-batch", "3"});
    ASSERT_EQ(finished.status, 0) << finished.err;
    EXPECT_NE(finished.out.find("10000 answered, 0 abandoned"), std::string::npos) << finished.out;
    for (const char* run_id : {"1", "2"}) {
      EXPECT_EQ(scalar("a.xsp", std::string("SELECT [count(*), count(DISTINCT value), "
                                            "min(value::INT), max(value::INT)]::VARCHAR FROM span "
                                            "JOIN attribute USING (run_id, span_id) WHERE "
                                            "type = 'request' AND key = 'request' AND run_id = ") +
                                    run_id),
                "[10000, 10000, 0, 9999]");
    }
    expect_equal_latencies();
    EXPECT_NE(text_of("a.loadgen/mlperf_log_detail.txt")
                  .find("\"generated_samples_per_query\", "
                        "\"value\": 10000"),
              std::string::npos);
  });
}

TEST_F(LoadgenTest, AQueryOfSeveralRequestsIsAnsweredAsOneAndTheVerdictSaysWhatIsMissing) {
  const Finished finished =
      evaluate("fake:layers=1,us=100",
               {"--scenario", "multi", "--clients", "4", "--requests", "40", "--max-batch", "4"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_NE(finished.out.find("batches: 10 of 4"), std::string::npos) << finished.out;
  EXPECT_NE(finished.out.find("LoadGen: INVALID: not satisfied: early stopping; only processed 10"),
            std::string::npos)
      << finished.out;
}

TEST_F(LoadgenTest, WhatIsAbandonedEndsTheTest) {
  const Finished finished = evaluate(
      "fake:layers=1,us=20000,wait=sleep",
      {"--scenario", "offline", "--requests", "1000", "--max-time", "0.5", "--bound", "p99=100s"});
  EXPECT_EQ(finished.status, 3) << finished.err;
  EXPECT_EQ(scalar("a.xsp",
                   "SELECT sum(value)::INT FROM result WHERE metric IN ('answered', 'abandoned')"),
            1000);
}

TEST_F(LoadgenTest, AccuracyModeLogsTheAnswerToEachItemOnce) {
  write_file("model.fake", "fake:layers=1,us=10");
  write_file("bytes.yaml",
             "name: bytes\n"
             "version: 1.0.0\n"
             "task: classification\n"
             "framework: {name: fake}\n"
             "model: {path: model.fake}\n"
             "inputs:\n"
             "  - name: x\n"
             "    dtype: float32\n"
             "    dimensions: [N, 8]\n"
             "    from: bytes\n"
             "    steps: [byte_window: {begin: 8}, cast: {to: float32}]\n"
             "outputs:\n"
             "  - name: y\n"
             "    labels: [zero, one, two, three, four, five, six, seven]\n"
             "    steps: [top: {count: 2}]\n");
  std::string list;
  for (size_t i = 0; i < 7; ++i) {
    std::string text(8, 'a');
    text[i] = 'z';
    const std::string name = "item" + std::to_string(i);
    write_file(name, text);
    list += name + "\t" +
            (i < 6 ? std::vector<std::string>{"zero", "one", "two", "three", "four", "five"}[i]
                   : "zero") +
            "\n";
  }
  write_file("list.tsv", list);
  const Finished finished =
      evaluate("bytes.yaml", {"--accuracy", "--data", "list.tsv", "--max-batch", "2"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_NEAR(scalar("a.xsp", "SELECT value FROM result WHERE metric = 'top1'").get<double>(),
              6. / 7, 1e-9);
  const auto log =
      nlohmann::json::parse(text_of("a.loadgen/mlperf_log_accuracy.json"), nullptr, false);
  ASSERT_TRUE(log.is_array()) << text_of("a.loadgen/mlperf_log_accuracy.json");
  ASSERT_EQ(log.size(), 7u);
  std::set<int> items;
  for (const auto& entry : log) {
    const std::string hex = entry.at("data");
    std::string line;
    for (size_t i = 0; i < hex.size(); i += 2) {
      line += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    }
    const int item = entry.at("qsl_idx");
    items.insert(item);
    const std::string number = std::to_string(item);
    EXPECT_EQ(line.rfind("answer\t" + number + "\t0\tranking\t" + number + "\t61", 0), 0u) << line;
  }
  EXPECT_EQ(items.size(), 7u);
}

TEST_F(LoadgenTest, SettingsThatNeverEndAreRefusedBeforeItRuns) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--scenario", "closed"}, "error: --generator loadgen: it has no scenario 'closed'"},
      {{"--scenario", "max-rate", "--bound", "p99=1s"}, "error: --generator loadgen: "},
      {{"--scenario", "server", "--rate", "10"}, "error: --bound: missing: "},
      {{"--scenario", "server", "--rate", "1", "--requests", "100", "--bound", "p99=1s"},
       "error: --max-time: the requests come in about 100 s"},
      {{"--scenario", "multi", "--clients", "3", "--requests", "10"},
       "error: --requests 10: LoadGen's queries all have 3 requests"}};
  for (const auto& [arguments, error] : cases) {
    const Finished finished = evaluate("fake:layers=1,us=10", arguments);
    EXPECT_EQ(finished.status, 2) << error;
    EXPECT_EQ(error_lines(finished), 1) << finished.err;
    EXPECT_NE(finished.err.find(error), std::string::npos) << finished.err;
    EXPECT_FALSE(std::filesystem::exists(folder / "a.xsp")) << error;
  }
}

}  // namespace
}  // namespace xsp::integration
