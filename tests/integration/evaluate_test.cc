// Tests xsp evaluate: requests under load, answered by the adapter `fake`, whose inferences take a
// known time.
#include <signal.h>

#include "tests/integration/run_xsp.h"

namespace xsp::integration {
namespace {

constexpr const char* kSleepingModel = "fake:layers=2,us=200,wait=sleep";

class EvaluateTest : public XspTest {
 protected:
  Finished evaluate(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"evaluate", kSleepingModel, "--framework", "fake"});
    arguments.insert(arguments.end(), {"-o", "a.xsp"});
    return run(arguments);
  }
};

TEST_F(EvaluateTest, EveryRequestIsAnsweredOnceAndItsPartsAddUp) {
  const Finished finished = evaluate({"--scenario", "server", "--rate", "200", "--requests", "300",
                                      "--max-batch", "4", "--max-wait", "2ms"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_NE(finished.out.find("300 answered, 0 abandoned"), std::string::npos) << finished.out;
  for (const char* run_id : {"1", "2"}) {
    const std::string of_run = std::string(" WHERE run_id = ") + run_id;
    EXPECT_EQ(scalar("a.xsp",
                     "SELECT count(DISTINCT value) FROM span JOIN attribute USING "
                     "(run_id, span_id)" +
                         of_run +
                         " AND type = 'request' "
                         "AND key = 'request'"),
              300);
    EXPECT_EQ(scalar("a.xsp", "SELECT count(*) FROM span" + of_run + " AND type = 'request'"), 300);
  }
  EXPECT_EQ(scalar("a.xsp",
                   "SELECT sum(value * substr(metric, 12)::INT)::INT FROM result "
                   "WHERE metric LIKE 'batches_of.%'"),
            300);
  // The parts' means add up to the latency's.
  EXPECT_LT(scalar("a.xsp",
                   "SELECT abs(sum(CASE metric WHEN 'latency.mean' THEN -value ELSE value "
                   "END)) FROM result WHERE metric LIKE '%.mean'")
                .get<double>(),
            1);
  EXPECT_LT(scalar("a.xsp",
                   "SELECT abs(sum(CASE metric WHEN 'tail.latency' THEN -value ELSE value END)) "
                   "FROM result WHERE metric LIKE 'tail.%'")
                .get<double>(),
            1);
  // A model span lies in the request that it answers, with the layers below it.
  EXPECT_GT(scalar("a.xsp",
                   "SELECT count(*) FROM span m JOIN span r ON r.run_id = m.run_id AND "
                   "r.span_id = m.parent_id WHERE m.level = 2 AND r.type = 'request' "
                   "AND m.start_ns >= r.start_ns"),
            0);
  EXPECT_EQ(scalar("a.xsp",
                   "SELECT count(*) FROM span c JOIN span p ON p.run_id = c.run_id AND "
                   "p.span_id = c.parent_id WHERE c.start_ns < p.start_ns OR "
                   "c.start_ns + c.duration_ns > p.start_ns + p.duration_ns"),
            0);
}

TEST_F(EvaluateTest, TheAnalysisOfSlowRequestsHasTheNumbersOfTheAnswer) {
  ASSERT_EQ(evaluate({"--scenario", "server", "--rate", "500", "--requests", "400"}).status, 0);
  const Finished told = run({"analyze", "slow_requests", "a.xsp", "--format", "json"});
  ASSERT_EQ(told.status, 0) << told.err;
  const auto rows = nlohmann::json::parse(told.out, nullptr, false);
  ASSERT_TRUE(rows.is_array()) << told.out;
  double parts_ns = 0, latency_ns = 0, queue_ns = 0;
  for (const auto& row : rows) {
    const std::string part = row.at("part");
    const double slow_ns = row.at("slow_ns");
    (part == "latency" ? latency_ns : parts_ns) += slow_ns;
    if (part.rfind("queue", 0) == 0) queue_ns += slow_ns;
  }
  EXPECT_NEAR(parts_ns, latency_ns, 1);
  const auto tail = [this](const std::string& name) {
    return scalar("a.xsp", "SELECT value FROM result WHERE metric = 'tail." + name + "'")
        .get<double>();
  };
  EXPECT_NEAR(latency_ns, tail("latency"), 1);
  EXPECT_NEAR(queue_ns, tail("queue"), 1);
}

TEST_F(EvaluateTest, BatchesOfOneSizeHaveItAndOthersHaveNone) {
  const auto load = [&](const std::string& clients, const std::string& most) {
    const Finished finished =
        run({"evaluate", kSleepingModel, "--framework", "fake", "--scenario", "closed", "--clients",
             clients, "--max-batch", most, "--requests", "202", "-o", most + ".xsp"});
    ASSERT_EQ(finished.status, 0) << finished.err;
  };
  const auto tell = [&](const std::string& file) {
    return nlohmann::json::parse(
        run({"analyze", "model_information", file, "--format", "json"}).out)[0];
  };
  load("1", "1");
  load("2", "2");
  load("4", "4");  // the last batch has two
  EXPECT_EQ(scalar("2.xsp", "SELECT string_agg(batch, ' ' ORDER BY run_id) FROM run"), "2 2");
  EXPECT_EQ(tell("2.xsp")["batch"], 2);
  EXPECT_EQ(scalar("4.xsp", "SELECT count(batch) FROM run"), 0);
  const nlohmann::json row = tell("4.xsp");
  EXPECT_TRUE(row["batch"].is_null());
  EXPECT_TRUE(row["throughput_per_s"].is_null());
  EXPECT_EQ(row["role"], "");
  EXPECT_EQ(row["throughput_of"],
            "not measured: the batches that were formed have from 2 to 4 inputs");
  // No other table, title or caption names a size either.
  for (const std::vector<std::string>& words : {std::vector<std::string>{"findings", "4.xsp"},
                                                {"analyze", "model_summary", "4.xsp"},
                                                {"analyze", "bottleneck", "4.xsp"},
                                                {"diff", "4.xsp", "4.xsp", "--table", "causes"}}) {
    const Finished told = run(words);
    ASSERT_EQ(told.status, 0) << told.err;
    EXPECT_EQ(told.out.find(", batch 1"), std::string::npos) << told.out;
  }
  const Finished judged = run({"diff", "4.xsp", "1.xsp", "--fail-on-regression", "5"});
  EXPECT_EQ(judged.status, 4) << judged.out;
  EXPECT_NE(judged.err.find("the inputs are not of one size: A: the batches that were formed"),
            std::string::npos)
      << judged.err;
  ASSERT_EQ(run({"catalogue", "add", "4.xsp", "--db", "c.sqlite"}).status, 0);
  const Finished asked =
      run({"catalogue", "query", "--db", "c.sqlite", "--format", "json",
           "SELECT batch, value, note FROM evaluation JOIN result ON evaluation = id WHERE metric "
           "= 'throughput'"});
  const nlohmann::json known = nlohmann::json::parse(asked.out);
  ASSERT_EQ(known.size(), 1u) << asked.out;
  EXPECT_EQ(known[0]["batch"], 0);
  EXPECT_TRUE(known[0]["value"].is_null());
  EXPECT_EQ(known[0]["note"], row["throughput_of"]);
}

TEST_F(EvaluateTest, ABoundThatIsMissedHasAnExitStatusOfItsOwn) {
  const Finished finished = evaluate(
      {"--scenario", "closed", "--clients", "32", "--requests", "40", "--bound", "p50=10us"});
  EXPECT_EQ(finished.status, 3) << finished.err;
  EXPECT_NE(finished.out.find("missed: p50 is"), std::string::npos) << finished.out;
  EXPECT_NE(finished.out.find("(--max-batch)"), std::string::npos) << finished.out;
}

TEST_F(EvaluateTest, AnInterruptedSearchKeepsItsLoads) {
  RunOptions options;
  options.watch = [](const std::string& err, int pid) {
    size_t loads = 0;
    for (size_t at = 0; (at = err.find(" requests/s: p90 is", at)) != std::string::npos; ++at) {
      ++loads;
    }
    if (loads < 3) return false;
    ::kill(pid, SIGINT);
    return true;
  };
  const Finished finished =
      run({"evaluate", kSleepingModel, "--framework", "fake", "--scenario", "max-rate", "--bound",
           "p90=5ms", "--requests", "300", "-o", "a.xsp"},
          options);
  EXPECT_EQ(finished.status, 1) << finished.err;
  EXPECT_EQ(error_lines(finished), 1) << finished.err;
  EXPECT_NE(finished.err.find("error: interrupted: what was measured is in a.xsp"),
            std::string::npos)
      << finished.err;
  EXPECT_NE(finished.out.find("(incomplete: interrupted after "), std::string::npos)
      << finished.out;
  EXPECT_GE(scalar("a.xsp", "SELECT count(*) FROM result WHERE metric = 'latency_at_rate'"), 3);
  EXPECT_NE(scalar("a.xsp", "SELECT note FROM result WHERE metric = 'max_rate'")
                .get<std::string>()
                .find("incomplete"),
            std::string::npos);
}

TEST_F(EvaluateTest, ASearchTellsTheHighestRateAndALoadAtIt) {
  const Finished finished =
      run({"evaluate", kSleepingModel, "--framework", "fake", "--scenario", "max-rate", "--bound",
           "p90=4ms", "--requests", "400", "--levels", "model", "-o", "a.xsp"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_NE(finished.out.find("highest rate: "), std::string::npos) << finished.out;
  EXPECT_NE(finished.out.find("a load at the highest rate: p90 is "), std::string::npos)
      << finished.out;
  EXPECT_NE(finished.out.find(", 4 ms is allowed; of such loads, about half keep the bound"),
            std::string::npos)
      << finished.out;
  const Finished told = run({"analyze", "request_latency", "a.xsp", "--format", "json"});
  ASSERT_EQ(told.status, 0) << told.err;
  EXPECT_EQ(scalar("a.xsp", "SELECT value FROM result WHERE metric = 'max_rate'").get<double>(),
            nlohmann::json::parse(told.out)[0]["highest_per_s"].get<double>());
}

// Thirty requests are answered within the bound however fast they come.
TEST_F(EvaluateTest, ARateAboveTheCapacityIsNoHighestRate) {
  const Finished finished =
      run({"evaluate", kSleepingModel, "--framework", "fake", "--scenario", "max-rate", "--bound",
           "p90=20s", "--requests", "30", "--levels", "model", "-o", "a.xsp"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_NE(finished.out.find("highest rate: not known (the model answers at most "),
            std::string::npos)
      << finished.out;
  EXPECT_NE(finished.out.find("give more --requests"), std::string::npos) << finished.out;
  EXPECT_TRUE(scalar("a.xsp", "SELECT value FROM result WHERE metric = 'max_rate'").is_null());
}

// The rate is so low that the load sleeps when the interrupt comes.
TEST_F(EvaluateTest, AnInterruptedLoadKeepsWhatWasAnswered) {
  for (const std::vector<std::string>& load : std::vector<std::vector<std::string>>{
           {"--scenario", "single", "--requests", "1000000"},
           {"--scenario", "server", "--rate", "3", "--bound", "p99=1s"},
           {"--scenario", "closed", "--clients", "4", "--instances", "2", "--requests",
            "1000000"}}) {
    RunOptions options;
    options.watch = [](const std::string& err, int pid) {
      if (err.find(" requests answered in ") == std::string::npos) return false;
      ::kill(pid, SIGINT);
      return true;
    };
    std::vector<std::string> words = {"evaluate", kSleepingModel, "--framework",
                                      "fake",     "-o",           "a.xsp"};
    words.insert(words.end(), load.begin(), load.end());
    const Finished finished = run(words, options);
    EXPECT_EQ(finished.status, 1) << finished.err;
    EXPECT_EQ(error_lines(finished), 1) << finished.err;
    EXPECT_NE(finished.err.find("error: interrupted: what was measured is in a.xsp"),
              std::string::npos)
        << finished.err;
    EXPECT_NE(finished.out.find("incomplete: interrupted after "), std::string::npos)
        << finished.out;
    EXPECT_EQ(finished.out.find("met: "), std::string::npos) << finished.out;
    EXPECT_GT(scalar("a.xsp", "SELECT value FROM result WHERE metric = 'answered'"), 0);
    EXPECT_EQ(scalar("a.xsp", "SELECT string_agg(status, ' ') FROM run"), "interrupted");
    EXPECT_EQ(scalar("a.xsp",
                     "SELECT count(*) FROM evaluation WHERE key = 'scenario.incomplete' AND "
                     "value LIKE 'interrupted after % of % requests'"),
              1);
  }
}

TEST_F(EvaluateTest, ResultsAreDataForPrograms) {
  const Finished finished = evaluate(
      {"--scenario", "offline", "--requests", "40", "--max-batch", "8", "--format", "json"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  const auto rows = nlohmann::json::parse(finished.out, nullptr, false);
  ASSERT_TRUE(rows.is_array()) << finished.out;
  EXPECT_EQ(rows.size(), scalar("a.xsp", "SELECT count(*) FROM result"));
}

TEST_F(EvaluateTest, ALoadIsDescribedByFacts) {
  write_file("arrivals.csv", "0\n0.01\n0.02\n");
  const auto facts_of = [&](const std::vector<std::string>& arguments) {
    const Finished finished = evaluate(arguments);
    EXPECT_EQ(finished.status, 0) << finished.err;
    std::map<std::string, std::string> facts;
    for (const auto& row : query("a.xsp", "FROM evaluation")) facts[row["key"]] = row["value"];
    return facts;
  };
  auto closed = facts_of({"--scenario", "closed", "--clients", "3", "--requests", "30"});
  EXPECT_EQ(closed["scenario.clients"], "3");
  EXPECT_EQ(closed["limits.time_s"], "60");
  EXPECT_EQ(closed.count("scenario.bound") + closed.count("scenario.arrivals"), 0u);
  auto replay = facts_of({"--scenario", "replay", "--arrivals", "arrivals.csv", "--max-time", "9"});
  EXPECT_EQ(replay["scenario.arrivals"],
            "280451423e350de705074f4f7f258a41da6ff1881f3093198d1fe57385a831f2");
  EXPECT_EQ(replay["scenario.requests"], "3");
  EXPECT_EQ(replay["limits.time_s"], "9");
  EXPECT_EQ(replay.count("scenario.clients"), 0u);
  auto single = facts_of({"--scenario", "single", "--requests", "9", "--bound", "p50=9ms"});
  EXPECT_EQ(single.count("scenario.bound"), 0u);
}

TEST_F(EvaluateTest, ErrorsAreOneLineEach) {
  write_file("late.csv", "1.5\n0.5\n");
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--scenario", "bogus"}, "error: --scenario 'bogus': "},
      {{"--scenario", "server"}, "error: --rate: missing: "},
      {{"--scenario", "max-rate"}, "error: --bound: missing: "},
      {{"--scenario", "server", "--rate", "nan"}, "error: --rate: 'nan': not a number of requests"},
      {{"--scenario", "server", "--rate", "inf"}, "error: --rate: 'inf': not a number of requests"},
      {{"--scenario", "single", "--rate", "5"}, "error: --rate: the scenario 'single' does not"},
      {{"--scenario", "single", "--bound", "p99"}, "error: --bound 'p99': "},
      {{"--scenario", "single", "--max-wait", "2"}, "error: --max-wait '2': "},
      {{"--scenario", "replay", "--arrivals", "late.csv"}, "error: late.csv:2: it is earlier"}};
  for (const auto& [arguments, error] : cases) {
    const Finished finished = evaluate(arguments);
    EXPECT_EQ(finished.status, 2) << error;
    EXPECT_EQ(error_lines(finished), 1) << finished.err;
    EXPECT_NE(finished.err.find(error), std::string::npos) << finished.err;
    EXPECT_FALSE(std::filesystem::exists(folder / "a.xsp")) << error;
  }
}

}  // namespace
}  // namespace xsp::integration
