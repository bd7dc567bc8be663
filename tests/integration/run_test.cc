// Tests xsp run: the command behaves as it does alone, and its actions are in the file.
#include <signal.h>

#include <fstream>

#include "tests/integration/run_xsp.h"
#include "tests/places.h"

namespace xsp::integration {
namespace {

class RunTest : public WatchedTest {
 protected:
  Finished watch(const std::vector<std::string>& command) const {
    std::vector<std::string> arguments = {"run", "--leveled=no", "-o", "t.xsp", "--"};
    arguments.insert(arguments.end(), command.begin(), command.end());
    return run(arguments);
  }
  // Returns the processes, in the order of their starts: name, its parent's name, and so on.
  nlohmann::json processes() const {
    return query("t.xsp",
                 "SELECT s.name, p.name AS parent, s.process, s.is_open, s.duration_ns, "
                 "  p.start_ns <= s.start_ns AND s.start_ns + s.duration_ns <= "
                 "    p.start_ns + p.duration_ns AS is_inside "
                 "FROM span s LEFT JOIN span p ON p.span_id = s.parent_id "
                 "WHERE s.type = 'process' ORDER BY s.start_ns");
  }
};

TEST_F(RunTest, TheCommandKeepsItsStreamsAndItsExitStatus) {
  const Finished finished = watch({"sh", "-c", "echo out; echo err >&2; exit 7"});
  EXPECT_EQ(finished.status, 7);
  EXPECT_EQ(finished.out, "out\n");
  EXPECT_EQ(finished.err.rfind("err\n", 0), 0u) << finished.err;
  EXPECT_EQ(error_lines(finished), 0) << finished.err;
  EXPECT_EQ(scalar("t.xsp", "SELECT value FROM evaluation WHERE key = 'command'"),
            "sh -c echo out; echo err >&2; exit 7");
}

TEST_F(RunTest, ASignalThatEndsTheCommandEndsXspToo) {
  EXPECT_EQ(watch({"sh", "-c", "kill -TERM $$"}).status, 128 + 15);
  // The process was killed: its span never ended.
  EXPECT_EQ(watch({"sh", "-c", "kill -KILL $$"}).status, 128 + 9);
  const auto killed = processes();
  ASSERT_EQ(killed.size(), 1u);
  EXPECT_EQ(killed[0]["is_open"], true);
}

TEST_F(RunTest, ASignalSentToXspReachesTheCommand) {
  RunOptions options;
  options.watch = [](const std::string& err, int pid) {
    if (err.find("ready") == std::string::npos) return false;
    ::kill(pid, SIGTERM);
    return true;
  };
  const Finished finished = run({"run", "-o", "t.xsp", "--", "sh", "-c",
                                 "trap 'echo caught; exit 5' TERM; echo ready >&2; "
                                 "while :; do sleep 0.05; done"},
                                options);
  EXPECT_EQ(finished.status, 5);
  EXPECT_EQ(finished.out, "caught\n");
}

TEST_F(RunTest, ChildrenAreFollowedThroughForkAndExec) {
  const Finished finished = watch({"sh", "-c", "env true; (exec sleep 0.01); (:); exit 0"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  const auto all = processes();
  ASSERT_GE(all.size(), 4u) << all;
  EXPECT_EQ(all[0]["name"], "sh");
  EXPECT_TRUE(all[0]["parent"].is_null());
  // env becomes true: one process, two programs.
  EXPECT_EQ(all[1]["name"], "env");
  EXPECT_EQ(all[2]["name"], "true");
  EXPECT_EQ(all[1]["process"], all[2]["process"]);
  for (size_t i = 1; i < all.size(); ++i) {
    EXPECT_FALSE(all[i]["parent"].is_null()) << all[i];
    EXPECT_EQ(all[i]["is_inside"], true) << all[i];
    EXPECT_EQ(all[i]["is_open"], false) << all[i];
  }
  EXPECT_EQ(scalar("t.xsp", "SELECT count(DISTINCT span_id) = count(*) FROM span"), true);
}

TEST_F(RunTest, VerbosePrintsTheTablesBehindTheAnswer) {
  write_file("work.py",
             "import xsp\n"
             "for _ in range(20):\n"
             "    xsp.step()\n"
             "    sum(i * i for i in range(200000))\n");
  const std::vector<std::string> words = {"-o", "w.xsp", "--", "/usr/bin/python3", "work.py"};
  std::vector<std::string> few = {"run"}, many = {"run", "-v"};
  few.insert(few.end(), words.begin(), words.end());
  many.insert(many.end(), words.begin(), words.end());
  const std::vector<std::string> titles = {"\nTime of a step\n", "\nTime by name"};
  const Finished answer = run(few);
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_NE(answer.err.find("\nA step takes "), std::string::npos) << answer.err;
  const Finished verbose = run(many);
  EXPECT_EQ(verbose.status, 0) << verbose.err;
  EXPECT_EQ(verbose.out, "");  // the standard output is the program's own
  const size_t at = verbose.err.find("\nA step takes ");
  ASSERT_NE(at, std::string::npos) << verbose.err;
  for (const std::string& title : titles) {
    EXPECT_EQ(answer.err.find(title), std::string::npos) << title << answer.err;
    EXPECT_LT(verbose.err.find(title), at) << title << verbose.err;
  }
}

TEST_F(RunTest, TheLinesOfAProgramWithoutStepsAddUpToTheWhole) {
  std::string program = "def work():\n    return sum(i * i for i in range(1000000))\n";
  for (int i = 0; i < 9; ++i) program += "work()\n";
  write_file("work.py", program);
  const Finished finished = run({"run", "-o", "w.xsp", "--", "/usr/bin/python3", "work.py"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  std::istringstream lines(finished.err);
  double sum = 0;
  size_t count = 0;
  for (std::string line; std::getline(lines, line);) {
    const size_t percent = line.find(" %  ");
    if (percent == std::string::npos || percent > 8) continue;
    sum += std::stod(line.substr(0, percent));
    ++count;
  }
  EXPECT_GT(count, 0u) << finished.err;
  EXPECT_EQ(sum, 100) << finished.err;
}

TEST_F(RunTest, WhatCannotBeRunIsOneLine) {
  const Finished absent = watch({"no-such-program"});
  EXPECT_EQ(absent.status, 127);
  EXPECT_EQ(error_lines(absent), 1) << absent.err;
  write_file("data", "no program");
  EXPECT_EQ(watch({"./data"}).status, 127);
  EXPECT_EQ(run({"run"}).status, 2);
  EXPECT_EQ(run({"run", "--levels", "kernels", "--", "true"}).status, 2);
  // The command is not run if its evaluation could not be kept.
  const Finished unwritable = run({"run", "-o", "no/such/folder.xsp", "--", "touch", "was_run"});
  EXPECT_EQ(unwritable.status, 1) << unwritable.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "was_run"));
  EXPECT_EQ(files(), (std::vector<std::string>{"data", "tmp"}));
}

TEST_F(RunTest, AProgramThatIsLinkedStaticallyRunsAndIsSaidToBeUnrecorded) {
  write_file("static.c", "int main(void) { return 4; }\n");
  ASSERT_EQ(std::system(("cc -static -o " + (folder / "static").string() + " " +
                         (folder / "static.c").string())
                            .c_str()),
            0);
  const Finished finished = watch({"./static"});
  EXPECT_EQ(finished.status, 4);
  EXPECT_NE(finished.err.find("it is linked statically"), std::string::npos) << finished.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "t.xsp"));
}

// ---- Python -------------------------------------------------------------------------------------

constexpr const char* kTorchProgram =
    "import torch\n"
    "torch.manual_seed(0)\n"
    "net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(),\n"
    "                          torch.nn.Sequential(torch.nn.Linear(8, 2)))\n"
    "for _ in range(12):\n"
    "    out = net(torch.ones(1, 4))\n"
    "print(out.shape)\n";

bool has_torch() { return std::system("/usr/bin/python3 -c 'import torch' 2>/dev/null") == 0; }

TEST_F(RunTest, EveryModuleOfPyTorchIsALayerUnderItsModel) {
  if (!has_torch()) GTEST_SKIP() << kPython << " has no torch";
  write_file("infer.py", kTorchProgram);
  const Finished finished = watch({kPython, "infer.py"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(finished.out, "torch.Size([1, 2])\n");
  const auto layers = query(
      "t.xsp",
      "SELECT s.name, s.type, s.depth, count(*) AS calls, count(DISTINCT s.iteration) AS "
      "iterations,"
      "  any_value(m.name) AS model, any_value(p.name) AS parent "
      "FROM span s JOIN span m ON m.span_id = s.model_id JOIN span p ON p.span_id = s.parent_id "
      "WHERE s.level = 3 AND s.type NOT LIKE '%::%' GROUP BY s.name, s.type, s.depth ORDER BY "
      "s.name");
  const char* const kNames[] = {"0", "1", "2", "2.0"};
  const char* const kTypes[] = {"Linear", "ReLU", "Sequential", "Linear"};
  const char* const kParents[] = {"Sequential", "Sequential", "Sequential", "2"};
  ASSERT_EQ(layers.size(), 4u) << layers;
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(layers[i]["name"], kNames[i]);
    EXPECT_EQ(layers[i]["type"], kTypes[i]);
    EXPECT_EQ(layers[i]["parent"], kParents[i]);
    EXPECT_EQ(layers[i]["model"], "Sequential");
    EXPECT_EQ(layers[i]["calls"], 12);
    EXPECT_EQ(layers[i]["iterations"], 12);
  }
  EXPECT_EQ(scalar("t.xsp", "SELECT framework FROM run"), "torch");
  EXPECT_EQ(scalar("t.xsp", "SELECT value FROM evaluation WHERE key = 'framework'"), "torch");
  // Each is in a step, below the process.
  EXPECT_EQ(scalar("t.xsp",
                   "SELECT count(*) FROM span m JOIN span s ON s.span_id = m.parent_id "
                   "  JOIN span p ON p.span_id = s.parent_id "
                   "WHERE m.level = 2 AND s.type = 'step' AND p.type = 'process'"),
            12);
}

TEST_F(RunTest, LeveledRunsGiveEachLevelItsOwn) {
  if (!has_torch()) GTEST_SKIP() << kPython << " has no torch";
  write_file("infer.py", kTorchProgram);
  const Finished finished = run({"run", "--leveled", "--", kPython, "infer.py"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  const auto runs = query("infer.xsp",
                          "SELECT levels, iterations + warmup_iterations AS iterations, (SELECT "
                          "max(level) FROM span s WHERE "
                          "s.run_id = run.run_id) AS deepest FROM run ORDER BY run_id");
  ASSERT_EQ(runs.size(), 2u) << runs;
  EXPECT_EQ(runs[0]["levels"], "application,model");
  EXPECT_EQ(runs[0]["deepest"], 2);
  EXPECT_EQ(runs[1]["levels"], "application,model,layer");
  EXPECT_EQ(runs[1]["deepest"], 3);
  EXPECT_EQ(runs[1]["iterations"], 12);
  EXPECT_EQ(run({"analyze", "layer_information", "infer.xsp"}).status, 0);
  EXPECT_EQ(run({"analyze", "model_information", "infer.xsp"}).status, 0);
}

TEST_F(RunTest, AnErrorInAModelIsTheProgramsOwn) {
  if (!has_torch()) GTEST_SKIP() << kPython << " has no torch";
  write_file("infer.py",
             "import torch\n"
             "class Fails(torch.nn.Module):\n"
             "    def forward(self, x): raise ValueError('no')\n"
             "net = torch.nn.Sequential(torch.nn.ReLU(), Fails())\n"
             "try: net(torch.ones(1))\n"
             "except ValueError as error: print(error)\n"
             "net[0](torch.ones(1))\n");
  const Finished finished = watch({kPython, "infer.py"});
  EXPECT_EQ(finished.out, "no\n") << finished.err;
  // The next call is an inference of its own: nothing was left open.
  EXPECT_EQ(scalar("t.xsp", "SELECT count(*) FROM span WHERE level = 2 AND NOT is_open"), 2);
}

TEST_F(RunTest, TheSitesOwnCustomisationIsReadAndSpansOfTheProgramAreKept) {
  std::filesystem::create_directory(folder / "site");
  write_file("site/sitecustomize.py", "print('site')\n");
  write_file("own.py",
             "import xsp\n"
             "with xsp.span('load', type='step'):\n"
             "    pass\n");
  RunOptions options;
  options.environment = {{"PYTHONPATH", (folder / "site").string()}};
  const Finished finished = run({"run", "-o", "t.xsp", "--", kPython, "own.py"}, options);
  EXPECT_EQ(finished.out, "site\n") << finished.err;
  EXPECT_EQ(scalar("t.xsp",
                   "SELECT p.type FROM span s JOIN span p ON p.span_id = s.parent_id "
                   "WHERE s.name = 'load' AND s.type = 'step'"),
            "process");
}

TEST_F(RunTest, ProcessesThatPythonForksEndTheirTraces) {
  write_file("fork.py",
             "import os, subprocess, sys, xsp\n"
             "if os.fork() == 0:\n"
             "    with xsp.span('in the child'): pass\n"
             "    os._exit(0)\n"
             "os.wait()\n"
             "subprocess.run(['true'], check=True)\n"
             "os._exit(3)\n");
  const Finished finished = watch({kPython, "fork.py"});
  EXPECT_EQ(finished.status, 3) << finished.err;
  const auto all = processes();
  ASSERT_EQ(all.size(), 3u) << all;
  EXPECT_EQ(all[2]["name"], "true");
  for (size_t i = 1; i < 3; ++i) EXPECT_EQ(all[i]["parent"], all[0]["name"]) << all[i];
  EXPECT_EQ(scalar("t.xsp",
                   "SELECT p.process = s.process AND p.parent_id IS NOT NULL FROM span s "
                   "JOIN span p ON p.span_id = s.parent_id WHERE s.name = 'in the child'"),
            true);
  EXPECT_EQ(scalar("t.xsp", "SELECT value FROM audit_fact WHERE name = 'trace_complete'"), 1);
}

}  // namespace
}  // namespace xsp::integration
