// Tests xsp sweep, with one suite over all executors: each runs for real.
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "tests/integration/engines.h"
#include "tests/integration/run_xsp.h"
#include "tests/places.h"

namespace xsp::integration {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using std::chrono::milliseconds;

class SweepTest : public XspTest, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    XspTest::SetUp();
    engine_ = make_engine(GetParam());
    const std::string why_not = engine_->why_not();
    if (!why_not.empty()) GTEST_SKIP() << why_not;
    fs::create_directory(folder / "engine");
    fs::create_directory(folder / "scratch");
    fs::permissions(folder, fs::perms(0755));
    ASSERT_TRUE(engine_->start(folder / "engine"));
  }
  void TearDown() override {
    engine_.reset();
    XspTest::TearDown();
  }

  // Writes a sweep of `models` models at two batch sizes, each measured for so many seconds.
  void write_sweep(int models, double seconds, const std::string& more = "") const {
    std::string text = "name: test\nframeworks: [fake]\nbatches: [1, 2]\nmodels:\n";
    for (int i = 1; i <= models; ++i) {
      text += "  - \"fake:layers=" + std::to_string(i) + ",us=200\"\n";
    }
    text += "options: {max-time: " + std::to_string(seconds) + ", no-peaks: true}\n";
    const bool has_own = more.find("executors:") != std::string::npos;
    if (!engine_->settings().empty() && !has_own) {
      text += "executors: {" + engine_->executor() + ": {" + engine_->settings() + "}}\n";
    }
    write_file("sweep.yaml", text + more + "\n");
  }
  Finished sweep(std::vector<std::string> words, RunOptions options = {}) const {
    words.insert(words.begin(), "sweep");
    options.environment = engine_->environment();
    // A killed machine leaves its scratch files, as in life.
    options.environment["TMPDIR"] = (folder / "scratch").string();
    return run(words, options);
  }
  Finished begin(const RunOptions& options = {}) const {
    return sweep({"sweep.yaml", "--executor", engine_->executor(), "-o", "out", "--no-site"},
                 options);
  }
  size_t results() const {
    const fs::directory_iterator all(folder / "out" / "results");
    return static_cast<size_t>(std::distance(all, fs::directory_iterator()));
  }
  // Returns the ends of all attempts, in order.
  std::vector<std::string> ends() const {
    std::vector<std::string> all;
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(folder / "out" / "attempts", error)) {
      if (entry.path().extension() == ".json") all.push_back(attempt(entry.path())["end"]);
    }
    std::sort(all.begin(), all.end());
    return all;
  }
  static json attempt(const fs::path& path) {
    std::ifstream file(path);
    json object = json::parse(file, nullptr, false);
    return object.is_object() ? object : json{{"end", "running"}, {"pid", 0}};
  }
  // Returns the process of an attempt that runs; 0: none does.
  int running_pid() const {
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(folder / "out" / "attempts", error)) {
      if (entry.path().extension() != ".json") continue;
      const json one = attempt(entry.path());
      const fs::path log = fs::path(entry.path()).replace_extension(".log");
      if (one["end"] == "running" && fs::exists(log)) return one["pid"];
    }
    return 0;
  }
  // Returns what the catalogue says of the only sweep.
  json noted_sweep() const {
    const Finished asked = run({"catalogue", "query", "--db", "out/catalogue.sqlite",
                                "SELECT name, sweep.state, created_at, count(*) AS tasks, "
                                "sum(task.state = 'done') AS done, "
                                "sum(task.state IN ('running', 'waiting')) AS held "
                                "FROM sweep JOIN task ON task.sweep = sweep.id GROUP BY sweep.id",
                                "--format", "json"});
    const json rows = json::parse(asked.out, nullptr, false);
    EXPECT_TRUE(rows.is_array() && rows.size() == 1) << asked.out << asked.err;
    return rows.is_array() && rows.size() == 1 ? rows[0] : json::object();
  }
  void expect_complete(size_t number) const {
    EXPECT_EQ(results(), number);
    const std::vector<std::string> all = ends();
    EXPECT_EQ(std::count(all.begin(), all.end(), "done"), static_cast<std::ptrdiff_t>(number));
    const Finished asked =
        run({"catalogue", "query", "--db", "out/catalogue.sqlite",
             "SELECT count(*) AS n, count(DISTINCT task) AS tasks FROM evaluation", "--format",
             "json"});
    const json rows = json::parse(asked.out, nullptr, false);
    EXPECT_EQ(rows[0]["n"], number) << asked.err;
    EXPECT_EQ(rows[0]["tasks"], number);
    EXPECT_EQ(engine_->left(), 0u);
  }

  std::unique_ptr<EngineUnderTest> engine_;
};

TEST_P(SweepTest, RunsEachTaskOnce) {
  write_sweep(2, 0.2);
  const Finished finished = sweep({"sweep.yaml", "--executor", engine_->executor(), "-o", "out"});
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_NE(finished.out.find("4 of 4 done"), std::string::npos) << finished.out;
  expect_complete(4);
  EXPECT_EQ(ends(), std::vector<std::string>(4, "done"));
  EXPECT_TRUE(fs::exists(folder / "out" / "site" / "index.html"));
  // The catalogue knows how long an equal sweep takes.
  const Finished dry = sweep({"sweep.yaml", "--dry-run", "--executor", engine_->executor(), "--db",
                              "out/catalogue.sqlite"});
  EXPECT_EQ(dry.status, 0) << dry.err;
  EXPECT_NE(dry.out.find("on one machine"), std::string::npos) << dry.out;
  EXPECT_EQ(dry.out.find("not known"), std::string::npos) << dry.out;
}

TEST_P(SweepTest, AMachineThatIsNotThereIsRefused) {
  write_sweep(1, 0.2, engine_->impossible());
  const Finished finished = begin();
  EXPECT_NE(finished.status, 0);
  EXPECT_EQ(error_lines(finished), 1) << finished.err;
  EXPECT_EQ(engine_->left(), 0u);
}

TEST_P(SweepTest, ALostMachineCostsAnAttempt) {
  write_sweep(2, 2);
  RunOptions options;
  bool is_killed = false;
  options.watch = [&](const std::string&, int) {
    const int pid = is_killed ? 0 : running_pid();
    if (pid == 0) return is_killed;
    std::this_thread::sleep_for(milliseconds(300));
    engine_->kill_machine_of(pid);
    return is_killed = true;
  };
  const Finished finished = begin(options);
  EXPECT_TRUE(is_killed);
  EXPECT_EQ(finished.status, 0) << finished.err;
  expect_complete(4);
  const std::vector<std::string> all = ends();
  EXPECT_GE(std::count(all.begin(), all.end(), "lost"), 1) << finished.err;
}

// The queue is in the server: it is stopped when the first task has begun, and three times later.
TEST_P(SweepTest, AServerThatIsStoppedAndStartedUnderLoadCostsNothing) {
  if (std::string(GetParam()) != "agents") GTEST_SKIP() << "only agents need a server's memory";
  write_sweep(8, 0.4);
  RunOptions options;
  size_t restarts = 0;
  options.watch = [&](const std::string&, int) {
    const bool has_begun = running_pid() != 0;
    if (!has_begun || results() < 4 * restarts) return false;
    EXPECT_TRUE(engine_->restart_server());
    return ++restarts == 4;
  };
  const Finished finished = begin(options);
  EXPECT_EQ(restarts, 4u);
  EXPECT_EQ(finished.status, 0) << finished.err;
  expect_complete(16);
  EXPECT_EQ(ends(), std::vector<std::string>(16, "done")) << finished.err;
  const std::string address = engine_->settings().substr(5, engine_->settings().size() - 6);
  for (const char* table : {"queue", "upload"}) {
    const Finished left =
        run({"catalogue", "query", "--db", address,
             std::string("SELECT count(*) AS n FROM ") + table, "--format", "json"});
    EXPECT_EQ(json::parse(left.out, nullptr, false)[0]["n"], 0) << table << ": " << left.err;
  }
}

TEST_P(SweepTest, ATaskThatRunsTwiceHasOneResult) {
  write_sweep(1, 0.2);
  ASSERT_EQ(begin().status, 0);
  fs::remove_all(folder / "out" / "results");
  fs::create_directory(folder / "out" / "results");
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([this] {
      RunOptions options;
      options.environment["TMPDIR"] = (folder / "scratch").string();
      EXPECT_EQ(run({"task", "out/plan.json", "0"}, options).status, 0);
    });
  }
  for (std::thread& one : threads) one.join();
  EXPECT_EQ(results(), 1u);
}

TEST_P(SweepTest, AKilledSweepGoesOn) {
  write_sweep(2, 0.3);
  RunOptions options;
  options.watch = [&](const std::string&, int pid) {
    if (!fs::exists(folder / "out" / "results") || results() == 0) return false;
    return kill(pid, SIGKILL) == 0;
  };
  EXPECT_EQ(begin(options).status, 128 + SIGKILL);
  EXPECT_LT(results(), 4u);
  const json open = noted_sweep();
  EXPECT_EQ(open["name"], "test");
  EXPECT_EQ(open["state"], "open");
  EXPECT_EQ(open["tasks"], 4);
  const Finished finished = sweep({"resume", "out", "--no-site"});
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(results(), 4u);
  expect_complete(4);
  const json done = noted_sweep();
  EXPECT_EQ(done["state"], "done");
  EXPECT_EQ(done["done"], 4);
  EXPECT_EQ(done["created_at"], open["created_at"]);
}

TEST_P(SweepTest, ACancelledSweepLeavesNothing) {
  write_sweep(3, 3);
  RunOptions options;
  bool is_cancelled = false;
  options.watch = [&](const std::string&, int pid) {
    if (is_cancelled || running_pid() == 0) return is_cancelled;
    is_cancelled = true;
    kill(pid, SIGINT);
    return true;
  };
  const Finished finished = begin(options);
  EXPECT_EQ(finished.status, 1) << finished.out;
  EXPECT_NE(finished.err.find("xsp sweep resume"), std::string::npos) << finished.err;
  const bool says_what_is_left = finished.err.find("xsp sweep cancel out") != std::string::npos;
  EXPECT_EQ(says_what_is_left, std::string(GetParam()) == "slurm") << finished.err;
  const json noted = noted_sweep();
  EXPECT_EQ(noted["state"], "cancelled");
  if (std::string(GetParam()) == "local") {
    EXPECT_EQ(noted["held"], 0);
  }
  EXPECT_EQ(sweep({"cancel", "out"}).status, 0);
  for (int i = 0; i < 100 && engine_->left() > 0; ++i)
    std::this_thread::sleep_for(milliseconds(100));
  EXPECT_EQ(engine_->left(), 0u);
  EXPECT_LT(results(), 6u);
}

INSTANTIATE_TEST_SUITE_P(Executors, SweepTest, testing::Values("local", "ssh", "slurm", "agents"),
                         [](const auto& one) { return std::string(one.param); });

class SweepFileTest : public XspTest {};

TEST_F(SweepFileTest, FaultsNameTheLine) {
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"models: [resnet50]\n", "sweep.yaml:1: 'name' is missing"},
      {"name: a\nmodels: [./nosuch.onnx]\n", "sweep.yaml:2: models[0]: no such file"},
      {"name: a\nmodels: [resnet50]\nbatches: [x]\n", "sweep.yaml:3: batches[0]"},
      {"name: a\nmodels: [resnet50]\nframework: x\n", "did you mean 'frameworks'"},
      {"name: a\nmodels: [resnet50]\nbudget: {cost: 3}\n", "it needs the price of an hour"},
      {"name: a\nmodels: [resnet50]\nexecutors: {local: {x: y}}\n", "there is no such setting"}};
  for (const auto& [text, error] : faults) {
    write_file("sweep.yaml", text);
    const Finished finished = run({"sweep", "sweep.yaml"});
    EXPECT_EQ(finished.status, 2) << text;
    EXPECT_EQ(error_lines(finished), 1) << finished.err;
    EXPECT_NE(finished.err.find(error), std::string::npos) << finished.err;
  }
}

TEST_F(SweepFileTest, ACatalogueThatCannotBeWrittenIsSaidBeforeTheFirstTask) {
  write_file("sweep.yaml", "name: a\nmodels: [\"fake:layers=1,us=100\"]\n");
  const Finished finished = run({"sweep", "sweep.yaml", "--db", "nosuch/c.sqlite"});
  EXPECT_EQ(finished.status, 1);
  EXPECT_EQ(error_lines(finished), 1) << finished.err;
  EXPECT_TRUE(fs::is_empty(folder / "a" / "attempts"));
}

TEST_F(SweepFileTest, ASweepGoesOnInTheCatalogueWhereItBegan) {
  write_file("sweep.yaml",
             "name: a\nmodels: [\"fake:layers=1,us=100\"]\nbatches: [1, 2]\n"
             "options: {max-time: 0.1, no-peaks: true}\n");
  const Finished begun = run({"sweep", "sweep.yaml", "--db", "all.sqlite", "--no-site"});
  ASSERT_EQ(begun.status, 0) << begun.err << begun.out;
  fs::remove(folder / "a" / "results" / "fake_layers_1_us_100-b1.xsp");
  fs::remove(folder / "all.sqlite");
  const Finished resumed = run({"sweep", "resume", "a", "--no-site"});
  EXPECT_EQ(resumed.status, 0) << resumed.err << resumed.out;
  EXPECT_FALSE(fs::exists(folder / "a" / "catalogue.sqlite"));
  const Finished asked = run({"catalogue", "query", "--db", "all.sqlite",
                              "SELECT count(*) AS n FROM evaluation", "--format", "json"});
  EXPECT_EQ(json::parse(asked.out, nullptr, false)[0]["n"], 2) << asked.err;
  const Finished named = run({"sweep", "resume", "a", "--no-site", "--db", "other.sqlite"});
  EXPECT_EQ(named.status, 0) << named.err;
  EXPECT_TRUE(fs::exists(folder / "other.sqlite"));
}

TEST_F(SweepFileTest, APasswordIsNotKept) {
  write_file("sweep.yaml", "name: a\nmodels: [\"fake:layers=1,us=100\"]\n");
  const Finished refused =
      run({"sweep", "sweep.yaml", "--db", "postgresql://u:hidden@127.0.0.1:1/none"});
  EXPECT_NE(refused.status, 0);
  EXPECT_EQ(error_lines(refused), 1) << refused.err;
  EXPECT_EQ(refused.err.find("hidden"), std::string::npos) << refused.err;
  EXPECT_FALSE(fs::exists(folder / "a"));
}

TEST_F(SweepFileTest, ASweepWithoutAResultHasFailed) {
  write_file("sweep.yaml", "name: a\nmodels: [\"fake:layers=1,us=100\"]\noptions: {nosuch: 1}\n");
  EXPECT_EQ(run({"sweep", "sweep.yaml"}).status, 1);
  const Finished asked = run({"catalogue", "query", "--db", "a/catalogue.sqlite",
                              "SELECT state FROM sweep", "--format", "json"});
  EXPECT_EQ(json::parse(asked.out, nullptr, false)[0]["state"], "failed") << asked.err;
  std::ifstream file(folder / "a" / "end.json");
  const json end = json::parse(file, nullptr, false);
  EXPECT_EQ(end["state"], "failed");
  const std::string reason = end["reason"];
  EXPECT_TRUE(reason.starts_with("1 of 1 tasks have no result: ")) << reason;
  EXPECT_NE(reason.find("--nosuch"), std::string::npos) << reason;
}

TEST_F(SweepFileTest, AnOptionThatIsWrongIsNotTriedAgain) {
  write_file("sweep.yaml", "name: a\nmodels: [\"fake:layers=1,us=100\"]\noptions: {nosuch: 1}\n");
  const Finished finished = run({"sweep", "sweep.yaml"});
  EXPECT_EQ(finished.status, 1);
  EXPECT_NE(finished.out.find("--nosuch"), std::string::npos) << finished.out;
  EXPECT_FALSE(fs::exists(folder / "a" / "attempts" / "fake_layers_1_us_100" / "2.json"));
}

// The engine of containers is a program that does what podman does, but for the container.
class ContainerTest : public SweepFileTest {
 protected:
  void SetUp() override {
    SweepFileTest::SetUp();
    fs::create_directory(folder / "bin");
    write_file(
        "bin/podman",
        "#!/bin/sh\necho \"$@\" >> " + (folder / "asked").string() +
            "\nfor word; do\n  shift\n  case $word in\n    --env=*) export \"${word#--env=}\" "
            ";;\n    --entrypoint=*) program=${word#--entrypoint=} ;;\n    example.org/*) exec "
            "\"$program\" \"$@\" ;;\n  esac\ndone\n");
    fs::permissions(folder / "bin" / "podman", fs::perms(0755));
    options.environment["PATH"] = (folder / "bin").string() + ":" + std::getenv("PATH");
  }
  // Returns how many systems of the catalogue are machines in that image.
  size_t systems_in(const std::string& image) const {
    const Finished known =
        run({"catalogue", "query", "--db", "out/catalogue.sqlite",
             "SELECT facts FROM system WHERE facts LIKE '%\"machine.container_image\":\"" + image +
                 "\"%'",
             "--format", "json"});
    return json::parse(known.out, nullptr, false).size();
  }
  RunOptions options;
};

TEST_F(ContainerTest, AModelRunsInTheImageThatItsManifestNames) {
  write_file("m.fake", "fake:layers=1,us=200");
  write_file("m.yml",
             "name: m\nversion: 1.0.0\ntask: none\nframework: {name: fake}\nmodel: {path: "
             "m.fake}\ncontainer: example.org/own:1\n");
  write_file("sweep.yaml",
             "name: test\nmodels: [./m.yml, 'fake:layers=1,us=200']\n"
             "container: example.org/net:2\noptions: {max-time: 0.2, no-peaks: true}\n");
  const Finished finished = run({"sweep", "sweep.yaml", "-o", "out", "--no-site"}, options);
  ASSERT_EQ(finished.status, 0) << finished.err << finished.out;
  EXPECT_EQ(systems_in("example.org/own:1"), 1u);
  EXPECT_EQ(systems_in("example.org/net:2"), 1u);
  const Finished refused = run({"profile", "m.yml", "--max-time", "0.2", "--no-peaks"});
  EXPECT_EQ(refused.status, 4) << refused.err;
  EXPECT_EQ(error_lines(refused), 1) << refused.err;
  EXPECT_NE(refused.err.find("m.yml:6: container: the model runs in the image 'example.org/own:1'"),
            std::string::npos)
      << refused.err;
}

TEST_F(ContainerTest, ATaskRunsInTheImageAndTheImageIsAFactOfItsMachine) {
  write_file("sweep.yaml",
             "name: test\nframeworks: [fake]\nmodels: ['fake:layers=1,us=200']\n"
             "container: example.org/net:2\noptions: {max-time: 0.2, no-peaks: true}\n");
  const Finished finished = run({"sweep", "sweep.yaml", "-o", "out", "--no-site"}, options);
  ASSERT_EQ(finished.status, 0) << finished.err;
  std::ifstream asked(folder / "asked");
  std::string line;
  std::getline(asked, line);
  EXPECT_TRUE(line.starts_with("run --rm ")) << line;
  EXPECT_NE(line.find("--volume=" + (folder / "out" / "attempts").string()), std::string::npos)
      << line;
  EXPECT_EQ(systems_in("example.org/net:2"), 1u);
}

TEST_F(SweepFileTest, ABudgetThatIsUsedLeavesTheRest) {
  write_file("sweep.yaml",
             "name: a\nmodels: [\"fake:layers=1,us=100\"]\nbatches: [1,2,3,4,5,6,7,8,9,10,11,12]\n"
             "options: {max-time: 0.1, no-peaks: true}\nbudget: {time: 0.5s}\n");
  const Finished finished = run({"sweep", "sweep.yaml"});
  EXPECT_EQ(finished.status, 1);
  EXPECT_NE(finished.out.find("the budget of time is used"), std::string::npos) << finished.out;
}

TEST_F(SweepFileTest, AReferenceTellsTheDriftAndEntersNoComparison) {
  write_file("sweep.yaml",
             "name: a\nmodels: [\"fake:layers=1,us=100\"]\nbatches: [1, 2]\n"
             "reference: {model: \"fake:layers=2,us=100\", every: 1}\n"
             "options: {max-time: 0.2, no-peaks: true}\n");
  const Finished finished = run({"sweep", "sweep.yaml"});
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_NE(finished.out.find("5 of 5 done"), std::string::npos) << finished.out;
  EXPECT_NE(finished.out.find("3 of them differ by at most"), std::string::npos) << finished.out;
  for (const auto& entry : fs::directory_iterator(folder / "a" / "site" / "systems")) {
    std::ifstream page(entry.path());
    const std::string text((std::istreambuf_iterator<char>(page)), {});
    EXPECT_NE(text.find("<h2>Drift</h2>"), std::string::npos);
    EXPECT_EQ(text.find("reference-"), std::string::npos);
  }
}

TEST_F(SweepFileTest, TheFolderOfAnotherSweepIsLeftAlone) {
  write_file("sweep.yaml", "name: a\nmodels: [\"fake:layers=1,us=100\"]\n");
  fs::create_directory(folder / "a");
  write_file("a/mine.txt", "mine");
  const Finished finished = run({"sweep", "sweep.yaml"});
  EXPECT_EQ(finished.status, 2);
  EXPECT_NE(finished.err.find("it has other files"), std::string::npos) << finished.err;
}

TEST_F(SweepFileTest, APlanThatIsDamagedIsToldInOneLine) {
  fs::create_directory(folder / "a");
  for (const std::string text :
       {"", "{}", "[1]", "{\"version\":1,\"id\":\"x\",\"tasks\":[1]}", "{\"version\":9}"}) {
    write_file("a/plan.json", text);
    for (const std::vector<std::string>& words : {std::vector<std::string>{"sweep", "status", "a"},
                                                  {"sweep", "resume", "a"},
                                                  {"task", "a/plan.json", "0"}}) {
      const Finished finished = run(words);
      EXPECT_EQ(finished.status, 1) << text;
      EXPECT_EQ(error_lines(finished), 1) << finished.err;
    }
  }
}

}  // namespace
}  // namespace xsp::integration
