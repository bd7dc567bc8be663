// Tests xsp evaluate --scenario generation with small models that keep a cache, in ONNX Runtime and
// in PyTorch.
#include <signal.h>

#include "tests/generating_model.h"
#include "tests/integration/run_xsp.h"
#include "tests/places.h"

namespace xsp::integration {
namespace {

class GenerationTest : public XspTest {
 protected:
  void SetUp() override {
    XspTest::SetUp();
    if (run({"doctor"}).out.find("onnxruntime.so") == std::string::npos) {
      GTEST_SKIP() << "ONNX Runtime is not installed";
    }
    ASSERT_EQ(write_generating_model(folder / "net.onnx"), "");
  }

  Finished generate(const std::string& model, const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {"evaluate", model, "--scenario", "generation",
                                          "--device", "cpu", "-o",         "a.xsp"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  double value(const std::string& metric) const {
    return scalar("a.xsp", "SELECT value FROM result WHERE metric = '" + metric + "'")
        .get<double>();
  }
};

TEST_F(GenerationTest, EachTokenIsASpanOfItsRequest) {
  write_file("lengths.tsv", "10 3\n20 5\n15 1\n10 4\n");
  const Finished finished =
      generate("net.onnx", {"--lengths", "lengths.tsv", "--clients", "2", "--requests", "4"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_NE(finished.out.find("time to the first token p50"), std::string::npos) << finished.out;
  EXPECT_NE(finished.out.find("batches: 2 of 2"), std::string::npos) << finished.out;
  // A prompt is one run, and each batch runs until its longest answer is there: 5 and 4 runs.
  EXPECT_EQ(scalar("a.xsp",
                   "SELECT count(*) FROM span m JOIN span r ON r.run_id = m.run_id AND r.span_id = "
                   "m.parent_id WHERE m.run_id = 1 AND m.level = 2 AND r.type = 'request'"),
            9);
  EXPECT_EQ(scalar("a.xsp",
                   "SELECT string_agg(n, ' ' ORDER BY request) FROM (SELECT value::INT AS request, "
                   "(SELECT count(*) FILTER (name = 'prefill') || '+' || count(*) FILTER (name = "
                   "'decode') FROM span t WHERE t.run_id = 1 AND t.type = 'token' AND t.parent_id "
                   "= r.span_id) AS n FROM span r JOIN attribute a USING (run_id, span_id) WHERE "
                   "r.run_id = 1 AND r.type = 'request' AND a.key = 'request')"),
            "1+2 1+4 1+0 1+3");
  // The time to the first token is from the arrival to the end of the prefill.
  EXPECT_NEAR(scalar("a.xsp",
                     "SELECT avg(t.start_ns + t.duration_ns - r.start_ns) FROM span t JOIN span r "
                     "ON r.run_id = t.run_id AND r.span_id = t.parent_id WHERE t.run_id = 1 AND "
                     "t.name = 'prefill'")
                  .get<double>(),
              value("first_token.mean"), 1);
  // A key and a value for each token but the last one, which no run has read; the first batch is
  // padded to 20 tokens.
  constexpr double kTokenBytes = 2 * kGeneratingSize * sizeof(float);
  EXPECT_EQ(value("cache.max"), (20 + 5 - 1) * kTokenBytes);
  EXPECT_EQ(value("cache.mean"), ((20 + 2) + (20 + 4) + 15 + (15 + 3)) / 4. * kTokenBytes);
}

// The model of PyTorch has the same cache, in TorchScript.
TEST_F(GenerationTest, ATorchScriptGeneratesAlike) {
  if (run({"doctor"}).out.find("libtorch_cpu.so") == std::string::npos) {
    GTEST_SKIP() << "PyTorch is not installed";
  }
  write_file("lengths.tsv", "10 3\n20 5\n15 1\n10 4\n");
  const Finished finished = generate(
      places::source("tests/data/torch/generating.pt"),
      {"--lengths", "lengths.tsv", "--clients", "2", "--requests", "4", "--levels", "model"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(scalar("a.xsp",
                   "SELECT string_agg(n, ' ') FROM (SELECT name || ' ' || count(*) AS n FROM span "
                   "WHERE type = 'token' GROUP BY name ORDER BY name)"),
            "decode 9 prefill 4");
  constexpr double kTokenBytes = 2 * kGeneratingSize * sizeof(float);
  EXPECT_EQ(value("cache.max"), (20 + 5 - 1) * kTokenBytes);
}

// Each number of clients is a point; the last one is the measured load, whose figures it repeats.
TEST_F(GenerationTest, TheCurveHasAPointForEachNumberOfClients) {
  const Finished finished = generate("net.onnx", {"--clients", "1,2,4", "--requests", "8",
                                                  "--prompt-tokens", "10", "--output-tokens", "4"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_NE(finished.out.find("\n1 client: first token p50 "), std::string::npos) << finished.out;
  for (const std::string metric : {"tokens_per_s", "first_token.p50", "between_tokens.p50"}) {
    EXPECT_EQ(scalar("a.xsp",
                     "SELECT string_agg(note, ', ' ORDER BY note) FROM result WHERE value > 0 AND "
                     "metric = '" +
                         metric + ".at_clients'"),
              "1 client, 2 clients, 4 clients")
        << metric;
    EXPECT_EQ(scalar("a.xsp", "SELECT value FROM result WHERE note = '4 clients' AND metric = '" +
                                  metric + ".at_clients'"),
              value(metric));
  }
  EXPECT_EQ(scalar("a.xsp",
                   "SELECT count(*) FROM span WHERE level = 1 AND type = 'request' AND run_id = 1"),
            8);
}

// A short load ends although it was interrupted, and the next one does not begin.
TEST_F(GenerationTest, AnInterruptedCurveKeepsItsPoints) {
  RunOptions options;
  options.watch = [](const std::string& err, int pid) {
    if (err.find("1 client: ") == std::string::npos) return false;
    ::kill(pid, SIGINT);
    return true;
  };
  const Finished finished = run({"evaluate", "net.onnx", "--scenario", "generation", "--device",
                                 "cpu", "-o", "a.xsp", "--clients", "1,2,4", "--requests", "2000",
                                 "--prompt-tokens", "4000", "--output-tokens", "8"},
                                options);
  EXPECT_EQ(finished.status, 1) << finished.err;
  EXPECT_EQ(error_lines(finished), 1) << finished.err;
  EXPECT_NE(finished.err.find("error: interrupted: what was measured is in a.xsp"),
            std::string::npos)
      << finished.err;
  // The interrupt comes with the first load, or with the second.
  const std::string incomplete =
      scalar("a.xsp", "SELECT value FROM evaluation WHERE key = 'scenario.incomplete'");
  EXPECT_NE(finished.out.find("incomplete: " + incomplete + "\n1 client: first token p50 "),
            std::string::npos)
      << finished.out;
  const std::string points =
      scalar("a.xsp",
             "SELECT string_agg(DISTINCT note, ', ' ORDER BY note) FROM result WHERE metric LIKE "
             "'%.at_clients'");
  const bool has_one = points == "1 client";
  EXPECT_TRUE(has_one || points == "1 client, 2 clients") << points;
  EXPECT_EQ(incomplete,
            std::string("interrupted after ") + (has_one ? "1" : "2") + " of 3 numbers of clients");
}

TEST_F(GenerationTest, ErrorsAreOneLineEach) {
  write_file("bad.tsv", "10 3\n20\n");
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"net.onnx", "--prompt-tokens", "0"}, "error: --prompt-tokens '0': not a number"},
      {{"net.onnx", "--lengths", "bad.tsv"}, "error: bad.tsv:2: '20' is not two numbers"},
      {{"fake:layers=1,us=5"}, "error: the model keeps no cache that generation knows"}};
  for (const auto& [arguments, error] : cases) {
    const Finished finished = generate(arguments[0], {arguments.begin() + 1, arguments.end()});
    EXPECT_EQ(finished.status, 2) << error;
    EXPECT_EQ(error_lines(finished), 1) << finished.err;
    EXPECT_NE(finished.err.find(error), std::string::npos) << finished.err;
  }
}

}  // namespace
}  // namespace xsp::integration
