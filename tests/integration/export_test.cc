// Tests xsp export and the import of what it writes, on an evaluation that was recorded on an H200.
#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/integration/run_xsp.h"
#include "tests/places.h"

namespace xsp::integration {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class ExportTest : public XspTest {
 protected:
  void SetUp() override {
    XspTest::SetUp();
    fs::copy_file(places::build("tests/data/h200_resnet50.xsp"), folder / "a.xsp");
  }

  std::string text_of(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder / name, std::ios::binary).rdbuf();
    return text.str();
  }
  void expect_written(const std::vector<std::string>& arguments) const {
    std::vector<std::string> all = {"export", "a.xsp"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Finished finished = run(all);
    ASSERT_EQ(finished.status, 0) << finished.err;
    EXPECT_EQ(finished.out, "");
  }
  // Expects one line of error, and no file that is left behind.
  void expect_refused(const std::vector<std::string>& arguments, int status,
                      const std::string& part) const {
    const auto before = files();
    std::vector<std::string> all = {"export"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Finished finished = run(all);
    EXPECT_EQ(finished.status, status) << finished.err;
    EXPECT_EQ(error_lines(finished), 1) << finished.err;
    EXPECT_NE(finished.err.find(part), std::string::npos) << finished.err;
    EXPECT_EQ(files(), before);
  }
  // Returns the deepest run that has kernels.
  int64_t run_with_kernels() const {
    return scalar("a.xsp", "SELECT min(run_id) FROM span WHERE level = 6").get<int64_t>();
  }

  static constexpr const char* kTotals =
      "SELECT level, count(*) AS spans, sum(duration_ns) AS ns, count(DISTINCT name) AS names "
      "FROM span GROUP BY level ORDER BY level";
};

TEST_F(ExportTest, AFileMayGoToTheStandardOutput) {
  expect_written({"--to", "chrome", "-o", "trace.json"});
  expect_written({"--to", "csv", "--table", "run", "-o", "run.csv"});
  const auto before = files();
  const Finished trace = run({"export", "a.xsp", "--to", "chrome", "-o", "-"});
  EXPECT_EQ(trace.status, 0) << trace.err;
  EXPECT_TRUE(trace.out == text_of("trace.json"));
  const Finished table = run({"export", "a.xsp", "--to", "csv", "--table", "run", "-o", "-"});
  EXPECT_EQ(table.status, 0) << table.err;
  EXPECT_EQ(table.out, text_of("run.csv"));
  EXPECT_EQ(files(), before);
  expect_refused({"a.xsp", "--to", "csv", "-o", "-"}, 2, "choose one with --table or --query");
}

TEST_F(ExportTest, TheChromeTraceComesBackWhole) {
  expect_written({"--to", "chrome", "-o", "trace.json"});
  const Finished imported = run({"import", "trace.json", "-o", "again.xsp"});
  ASSERT_EQ(imported.status, 0) << imported.err;
  EXPECT_EQ(query("again.xsp", kTotals), query("a.xsp", kTotals));
  const std::string by_run =
      "SELECT levels, batch, counters, framework, run.device, name, sum(duration_ns) AS ns "
      "FROM span JOIN run USING (run_id) WHERE level = 6 GROUP BY ALL ORDER BY ALL";
  EXPECT_EQ(query("again.xsp", by_run), query("a.xsp", by_run));
  EXPECT_GT(scalar("again.xsp", "SELECT count(*) FROM run"), 1);
  EXPECT_GT(scalar("again.xsp", "SELECT count(*) FROM span WHERE level = 6"), 1000);
  const std::string launched =
      "SELECT count(*) FROM span k JOIN span l USING (run_id, correlation_id) "
      "WHERE k.level = 6 AND l.level = 5";
  EXPECT_EQ(scalar("again.xsp", launched), scalar("a.xsp", launched));
  EXPECT_EQ(scalar("again.xsp", "SELECT count(*) FROM loss"), 0);
}

TEST_F(ExportTest, ImportedInferencesAreThoseThatWereMeasured) {
  ASSERT_EQ(run({"profile", "fake:layers=2,us=300,wait=sleep", "--max-time", "1", "--no-peaks",
                 "-o", "f.xsp"})
                .status,
            0);
  ASSERT_EQ(run({"export", "f.xsp", "--to", "chrome", "-o", "f.json"}).status, 0);
  ASSERT_EQ(run({"import", "f.json", "-o", "again.xsp"}).status, 0);
  const std::string counts = "SELECT levels, warmup_iterations, iterations FROM run ORDER BY ALL";
  EXPECT_GT(scalar("f.xsp", "SELECT min(warmup_iterations) FROM run"), 0);
  EXPECT_EQ(query("again.xsp", counts), query("f.xsp", counts));
  const std::string spans =
      "SELECT level, name, iteration, ordinal, duration_ns, is_open FROM span ORDER BY ALL";
  EXPECT_EQ(query("again.xsp", spans), query("f.xsp", spans));
  const auto latency = [this](const std::string& file) {
    const Finished finished = run({"analyze", "model_information", file, "--format", "json"});
    return json::parse(finished.out, nullptr, false).at(0).at("latency_ns").get<double>();
  };
  EXPECT_GT(latency("f.xsp"), 0);
  EXPECT_EQ(latency("again.xsp"), latency("f.xsp"));
}

// A process that died left spans open; they are no measured inferences after the import.
TEST_F(ExportTest, ImportedSpansAreAsOpenAsTheyWere) {
  std::ofstream(folder / "dead.json")
      << R"([{"ph":"M","name":"xsp_run","args":{"run":1,"levels":"model"}},)"
         R"({"ph":"X","name":"m","ts":1,"dur":2,"pid":3,"tid":1,"args":{"level":"model","run":1,)"
         R"("iteration":0}},{"ph":"X","name":"m","ts":5,"dur":4,"pid":3,"tid":1,)"
         R"("args":{"level":"model","run":1,"open":true}}])";
  ASSERT_EQ(run({"import", "dead.json", "-o", "dead.xsp"}).status, 0);
  EXPECT_EQ(scalar("dead.xsp", "SELECT iterations FROM run"), 1);
  EXPECT_EQ(scalar("dead.xsp", "SELECT duration_ns FROM span WHERE is_open"), 4000);
}

TEST_F(ExportTest, TheChromeTraceIsWhatViewersRead) {
  const int64_t run_id = run_with_kernels();
  expect_written({"--to", "chrome", "-o", "trace.json", "--run", std::to_string(run_id)});
  const json trace = json::parse(text_of("trace.json"), nullptr, false);
  ASSERT_TRUE(trace.is_object());
  std::map<std::string, size_t> phases;
  std::map<int64_t, std::pair<size_t, size_t>> flows;  // starts and ends of each arrow
  std::set<std::pair<int64_t, int64_t>> named;
  double kernel_us = 0;
  for (const json& event : trace["traceEvents"]) {
    const std::string phase = event["ph"];
    ++phases[phase];
    const std::pair<int64_t, int64_t> place(event["pid"], event["tid"]);
    if (phase == "M" && event["name"] == "thread_name") named.insert(place);
    if (phase == "s") ++flows[event["id"]].first;
    if (phase == "f") ++flows[event["id"]].second;
    if (phase != "X") continue;
    EXPECT_TRUE(named.contains(place)) << event;
    EXPECT_GE(event["ts"], 0);
    if (event["args"]["level"] == "kernel") kernel_us += event["dur"].get<double>();
  }
  const std::string of_run = " FROM span WHERE run_id = " + std::to_string(run_id);
  EXPECT_EQ(phases["X"], scalar("a.xsp", "SELECT count(*)" + of_run));
  const double kernel_ns =
      scalar("a.xsp", "SELECT sum(duration_ns)" + of_run + " AND level = 6").get<double>();
  EXPECT_NEAR(1000 * kernel_us, kernel_ns, 1);
  EXPECT_GT(flows.size(), 100u);
  for (const auto& [id, ends] : flows) {
    EXPECT_EQ(ends.first, 1u) << id;
    EXPECT_GE(ends.second, 1u) << id;
  }
  EXPECT_FALSE(trace["otherData"]["model"].get<std::string>().empty());
}

TEST_F(ExportTest, OpenTelemetrysSpansHaveTheirParents) {
  const int64_t run_id = run_with_kernels();
  expect_written({"--to", "otlp", "-o", "t.jsonl", "--run", std::to_string(run_id)});
  std::istringstream lines(text_of("t.jsonl"));
  std::set<std::string> ids, parents, traces;
  size_t spans = 0, line_count = 0;
  for (std::string line; std::getline(lines, line); ++line_count) {
    const json body = json::parse(line, nullptr, false);
    ASSERT_TRUE(body.is_object()) << line.substr(0, 200);
    for (const json& span : body["resourceSpans"][0]["scopeSpans"][0]["spans"]) {
      ++spans;
      traces.insert(span["traceId"].get<std::string>());
      EXPECT_EQ(span["spanId"].get<std::string>().size(), 16u);
      EXPECT_TRUE(ids.insert(span["spanId"].get<std::string>()).second);
      if (span.contains("parentSpanId")) parents.insert(span["parentSpanId"].get<std::string>());
      EXPECT_LE(std::stoll(span["startTimeUnixNano"].get<std::string>()),
                std::stoll(span["endTimeUnixNano"].get<std::string>()));
    }
  }
  const std::string where = " WHERE run_id = " + std::to_string(run_id);
  EXPECT_EQ(spans, scalar("a.xsp", "SELECT count(*) FROM span" + where));
  EXPECT_EQ(parents.size(), scalar("a.xsp", "SELECT count(DISTINCT parent_id) FROM span" + where));
  EXPECT_TRUE(std::includes(ids.begin(), ids.end(), parents.begin(), parents.end()));
  EXPECT_EQ(traces.size(), 1u);
  EXPECT_EQ(traces.begin()->size(), 32u);
  EXPECT_GT(line_count, 1u);
}

TEST_F(ExportTest, PerfettosFileHasAPacketForEachEnd) {
  expect_written({"--to", "perfetto", "-o", "t.pftrace", "--range", "0..1"});
  EXPECT_EQ(text_of("t.pftrace").substr(0, 1), "\x0a") << "field 1, a message";
  EXPECT_GT(fs::file_size(folder / "t.pftrace"), 10'000u);
}

TEST_F(ExportTest, TablesAreFilesOfAFolder) {
  for (const std::string format : {"csv", "parquet"}) {
    expect_written({"--to", format});
    const fs::path made = folder / ("a-" + format);
    for (const char* table : {"evaluation", "run", "span", "counter", "stack"}) {
      EXPECT_TRUE(fs::exists(made / (std::string(table) + "." + format))) << table;
    }
  }
  EXPECT_EQ(text_of("a-parquet/span.parquet").substr(0, 4), "PAR1");
  const std::string spans = text_of("a-csv/span.csv");
  EXPECT_EQ(spans.substr(0, 29), "run_id,span_id,parent_id,leve");
  const std::string runs = text_of("a-csv/run.csv");
  EXPECT_EQ(std::count(runs.begin(), runs.end(), '\n'),
            scalar("a.xsp", "SELECT count(*) FROM run").get<int64_t>() + 1);
}

TEST_F(ExportTest, OneTableOrOneQueryIsOneFile) {
  expect_written({"--to", "csv", "--table", "run", "-o", "runs.csv"});
  EXPECT_EQ(text_of("runs.csv").substr(0, 13), "run_id,levels");
  expect_written(
      {"--to", "csv", "--query", "SELECT 1 AS a, NULL AS b, 'x,y' AS c; ", "-o", "q.csv"});
  EXPECT_EQ(text_of("q.csv"), "a,b,c\n1,,\"x,y\"\n");
  expect_written({"--to", "csv", "--query", "SELECT count(*) > 50 AS many FROM layers(1)", "-o",
                  "layers.csv"});
  EXPECT_EQ(text_of("layers.csv"), "many\ntrue\n") << "the macros of the analyses are there";
}

TEST_F(ExportTest, WhatIsThereIsKept) {
  write_file("there.json", "mine");
  expect_refused({"a.xsp", "--to", "chrome", "-o", "there.json"}, 1, "--force");
  EXPECT_EQ(text_of("there.json"), "mine");
  expect_written({"--to", "chrome", "-o", "there.json", "--force"});
  EXPECT_NE(text_of("there.json"), "mine");
  expect_refused({"a.xsp", "--to", "chrome", "-o", "a.xsp", "--force"}, 2, "is the input");
  fs::create_directory(folder / "tables");
  write_file("tables/note.txt", "mine");
  expect_refused({"a.xsp", "--to", "csv", "-o", "tables"}, 1, "--force");
  expect_written({"--to", "csv", "-o", "tables", "--force"});
  EXPECT_EQ(text_of("tables/note.txt"), "mine");
  EXPECT_TRUE(fs::exists(folder / "tables/run.csv"));
}

TEST_F(ExportTest, MistakesAreOneLineAndLeaveNothing) {
  expect_refused({"a.xsp", "--to", "crome"}, 2, "chrome");
  expect_refused({"a.xsp"}, 2, "--to");
  expect_refused({"missing.xsp", "--to", "csv"}, 1, "missing.xsp");
  expect_refused({"a.xsp", "--to", "chrome", "--run", "999"}, 1, "run 999: no spans");
  expect_refused({"a.xsp", "--to", "chrome", "--range", "7..5"}, 2, "not a range");
  expect_refused({"a.xsp", "--to", "chrome", "--table", "run"}, 2, "--table");
  expect_refused({"a.xsp", "--to", "csv", "--run", "1"}, 2, "--query");
  expect_refused({"a.xsp", "--to", "csv", "--table", "spann"}, 2, "span");
  expect_refused({"a.xsp", "--to", "csv", "--query", "SELECT nothing", "-o", "q.csv"}, 2,
                 "nothing");
  expect_refused({"a.xsp", "--to", "chrome", "-o", "no/folder/t.json"}, 1, "no/folder");
  write_file("bad.xsp", "not a database at all");
  expect_refused({"bad.xsp", "--to", "parquet"}, 1, "not an .xsp file");
  expect_refused({"bad.xsp", "--to", "chrome"}, 1, "not an .xsp file");
}

// The file of the user's SQL is confined: it can write nowhere but into the output.
TEST_F(ExportTest, AQueryReadsAndWritesNoOtherFile) {
  write_file("secret.csv", "a\n1\n");
  expect_refused(
      {"a.xsp", "--to", "csv", "--query",
       "FROM read_csv('" + (folder / "../" / folder.filename() / "secret.csv").string() + "')",
       "-o", "tmp/out.csv"},
      2, "only read");
}

TEST_F(ExportTest, AFullDiskIsAnErrorAndLeavesNothing) {
  RunOptions small;
  small.file_bytes_max = 100'000;
  const auto before = files();
  const Finished finished = run({"export", "a.xsp", "--to", "chrome", "-o", "t.json"}, small);
  EXPECT_NE(finished.status, 0);
  EXPECT_EQ(finished.err.rfind("error: t.json: cannot be written: ", 0), 0u) << finished.err;
  EXPECT_EQ(files(), before);
  for (const char* format : {"csv", "parquet"}) {
    const Finished tables = run({"export", "a.xsp", "--to", format, "-o", "tab"}, small);
    EXPECT_EQ(tables.status, 1) << tables.err;
    EXPECT_EQ(tables.err,
              "error: tab/span." + std::string(format) +
                  ": cannot be written: no space left: free some, or write elsewhere\n");
    EXPECT_EQ(files(), before);
  }
}

TEST_F(ExportTest, TheHelpListsTheFormats) {
  const Finished help = run({"export", "--help"});
  ASSERT_EQ(help.status, 0);
  for (const char* format : {"chrome", "csv", "otlp", "parquet", "perfetto"}) {
    EXPECT_NE(help.out.find("\n  " + std::string(format) + " "), std::string::npos) << format;
  }
  EXPECT_NE(run({"import", "--help"}).out.find("\n  chrome "), std::string::npos);
}

TEST_F(ExportTest, ImportRefusesWhatIsNoTrace) {
  write_file("note.txt", "hello");
  const Finished finished = run({"import", "note.txt"});
  EXPECT_EQ(finished.status, 2);
  EXPECT_EQ(error_lines(finished), 1) << finished.err;
  EXPECT_NE(finished.err.find(".xtrace, chrome"), std::string::npos) << finished.err;
}

}  // namespace
}  // namespace xsp::integration
