// Tests xsp run: the command behaves as it does alone, and its actions are in the file.
#include <signal.h>

#include <fstream>
#include <sstream>

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

// ---- Times of recording -------------------------------------------------------------------------

// Steps of some milliseconds, each with a span of the level model.
constexpr const char* kSteps =
    "import sys, time, xsp\n"
    "from xsp import _native\n"
    "for _ in range(int(sys.argv[1])):\n"
    "    with xsp.span('work', level=xsp.MODEL), xsp.span('part', level=xsp.LAYER):\n"
    "        time.sleep(0.004)\n"
    "    _native.step()\n";

// Before the first mark the first call of the model was taken for a step, and left a span.
const std::string kIsMark =
    "type = 'step' AND site_id IN (SELECT site_id FROM site_attribute WHERE key = 'step_of' AND "
    "value = 'mark')";

TEST_F(RunTest, OnlyTheWantedStepsAreRecorded) {
  write_file("steps.py", kSteps);
  const Finished finished = run({"run", "--leveled=no", "--steps", "4:9", "-o", "t.xsp", "--",
                                 "/usr/bin/python3", "steps.py", "20"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  // There is a run for the recorded steps, and one for those without recording.
  const auto runs = query("t.xsp",
                          "SELECT levels, count(*) FILTER (level = 2) AS models, "
                          "  count(*) FILTER (" +
                              kIsMark +
                              ") AS steps, iterations "
                              "FROM run JOIN span USING (run_id) GROUP BY ALL ORDER BY levels");
  ASSERT_EQ(runs.size(), 2u) << runs;
  EXPECT_EQ(runs[0]["models"], 0);
  EXPECT_EQ(runs[0]["steps"], 15);  // the first began with its model
  EXPECT_EQ(runs[0]["iterations"], 15);
  EXPECT_EQ(runs[1]["models"], 5);
  EXPECT_EQ(runs[1]["steps"], 5);
  EXPECT_EQ(run({"run", "--steps", "9:4", "--", "true"}).status, 2);
  EXPECT_EQ(run({"run", "--steps", "4", "--", "true"}).status, 2);
}

TEST_F(RunTest, ADelayAndADurationCountFromTheProcesssStart) {
  write_file("steps.py", kSteps);
  const Finished finished = run({"run", "--leveled=no", "--delay", "0.5", "--duration", "0.5", "-o",
                                 "t.xsp", "--", "/usr/bin/python3", "steps.py", "400"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  const auto times = query(
      "t.xsp",
      "SELECT min(s.start_ns - p.start_ns) / 1e9 AS first, max(s.start_ns - p.start_ns) / 1e9 AS "
      "last FROM span s, (FROM span WHERE type = 'process') p WHERE s.level = 2");
  // The switch takes milliseconds; this machine may be busy.
  EXPECT_GE(times[0]["first"].get<double>(), 0.5);
  EXPECT_LE(times[0]["first"].get<double>(), 1.0);
  EXPECT_LE(times[0]["last"].get<double>(), 1.3);
}

// A part that begins after the program's end is said to be missing, where it is missed.
TEST_F(RunTest, APartThatIsNeverReachedIsNotMeasured) {
  write_file("steps.py", kSteps);
  const std::vector<std::pair<std::vector<std::string>, std::string>> parts = {
      {{"--steps", "99:100"}, "the program ended after 20 steps, before step 99 (--steps), so "},
      {{"--delay", "100"}, "the program ended before the delay of 100 s was over (--delay), so "}};
  for (const auto& [part, said] : parts) {
    std::vector<std::string> words = {"run", "-o", "t.xsp"};
    words.insert(words.end(), part.begin(), part.end());
    words.insert(words.end(), {"--", "/usr/bin/python3", "steps.py", "20"});
    const Finished finished = run(words);
    ASSERT_EQ(finished.status, 0) << finished.err;
    EXPECT_NE(finished.err.find("xsp: " + said), std::string::npos) << finished.err;
    for (const std::vector<std::string>& asked :
         {std::vector<std::string>{"findings", "t.xsp"}, {"analyze", "time_of_step", "t.xsp"}}) {
      const Finished answer = run(asked);
      EXPECT_EQ(answer.status, 4) << answer.out;
      EXPECT_EQ(answer.err.rfind("error: not measured: steps: " + said, 0), 0u) << answer.err;
    }
    // The steps were seen, although nothing else was.
    EXPECT_EQ(run({"analyze", "steps", "t.xsp"}).status, 0);
  }
  const Finished reached =
      run({"run", "-o", "t.xsp", "--steps", "9:19", "--", "/usr/bin/python3", "steps.py", "20"});
  EXPECT_EQ(reached.err.find("the program ended"), std::string::npos) << reached.err;
}

TEST_F(RunTest, OneLevelTakesNoTurns) {
  write_file("steps.py", kSteps);
  for (const std::string levels : {"model", "model,layer"}) {
    const Finished finished =
        run({"run", "--levels", levels, "-o", "t.xsp", "--", "/usr/bin/python3", "steps.py", "5"});
    const bool is_said = finished.err.find("too few steps for levels") != std::string::npos;
    EXPECT_EQ(is_said, levels != "model") << finished.err;
  }
}

TEST_F(RunTest, LevelsTakeTurnsInBlocksOfSteps) {
  write_file("steps.py", kSteps);
  const Finished finished = run({"run", "-o", "t.xsp", "--", "/usr/bin/python3", "steps.py", "60"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  const auto runs = query("t.xsp",
                          "SELECT levels, count(*) FILTER (level = 2) AS models, "
                          "  count(*) FILTER (level = 3) AS layers, "
                          "  (SELECT count(*) FROM block b WHERE b.run_id = run.run_id) AS blocks "
                          "FROM run JOIN span USING (run_id) GROUP BY ALL ORDER BY levels");
  ASSERT_EQ(runs.size(), 2u) << runs;
  EXPECT_EQ(runs[0]["levels"], "application,model");
  EXPECT_EQ(runs[0]["layers"], 0);
  EXPECT_GE(runs[0]["models"], 15);
  EXPECT_EQ(runs[1]["layers"], runs[1]["models"]);
  EXPECT_GE(runs[1]["blocks"], 5);
  EXPECT_EQ(scalar("t.xsp", "SELECT count(*) FROM span WHERE level = 2"), 60);
  // There are too few steps for turns.
  const Finished few = run({"run", "-o", "few.xsp", "--", "/usr/bin/python3", "steps.py", "3"});
  EXPECT_NE(few.err.find("too few steps"), std::string::npos) << few.err;
  EXPECT_EQ(scalar("few.xsp", "SELECT count(*) FROM span WHERE level = 3"), 3);
}

TEST_F(RunTest, OneStepInManyIsRecordedWhole) {
  write_file("steps.py", kSteps);
  const Finished finished =
      run({"run", "--sample", "1/20", "-o", "t.xsp", "--", "/usr/bin/python3", "steps.py", "400"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  const auto runs = query(
      "t.xsp", "SELECT levels, count(*) FILTER (level = 3) AS layers, count(*) FILTER (" + kIsMark +
                   ") AS steps FROM run JOIN span USING (run_id) GROUP BY ALL "
                   "ORDER BY levels");
  ASSERT_EQ(runs.size(), 2u) << runs;
  EXPECT_EQ(runs[0]["layers"], 0);
  EXPECT_EQ(runs[0]["steps"].get<int>() + runs[1]["steps"].get<int>(), 400);
  // In each whole round, one step in 20; the last round may end before its recorded steps do.
  const auto rounds =
      query("t.xsp",
            "WITH one_round AS (SELECT block, block = max(block) OVER () AS is_last, "
            "  coalesce(sum(b.iterations) FILTER (levels LIKE '%layer%'), 0)::BIGINT AS recorded, "
            "  sum(b.iterations) FILTER (levels NOT LIKE '%layer%')::BIGINT AS rest "
            "FROM block b JOIN run USING (run_id) GROUP BY block) "
            "SELECT count(*) FILTER (NOT is_last) AS whole, sum(recorded)::BIGINT AS steps, "
            "  count(*) FILTER (NOT is_last AND rest != 19 * recorded) AS other FROM one_round");
  EXPECT_GE(rounds[0]["whole"], 1) << rounds;
  EXPECT_EQ(rounds[0]["other"], 0) << rounds;
  // The first steps are recorded completely as well.
  const int first = runs[1]["steps"].get<int>() - rounds[0]["steps"].get<int>();
  EXPECT_GE(first, 5) << rounds;
  EXPECT_LE(first, 12) << rounds;
  // Each figure states the number of steps behind it.
  const Finished steps = run({"analyze", "steps", "t.xsp", "--format", "csv"});
  EXPECT_NE(steps.out.find(",steps,"), std::string::npos) << steps.out;
  EXPECT_NE(steps.out.find(",steady,application,"), std::string::npos) << steps.out;
  EXPECT_NE(steps.out.find(",steady,layer,"), std::string::npos) << steps.out;
  EXPECT_EQ(run({"run", "--sample", "1/0", "--", "true"}).status, 2);
}

TEST_F(RunTest, ARunningProgramIsSwitchedOnAndOff) {
  write_file("loop.py",
             "import time, xsp\n"
             "from xsp import _native\n"
             "def steps_until(wanted):\n"
             "    end = time.time() + 20\n"
             "    while _native.is_recorded(xsp.LAYER) != wanted and time.time() < end: step()\n"
             "def step():\n"
             "    with xsp.span('work', level=xsp.MODEL): time.sleep(0.002)\n"
             "    _native.step()\n"
             "open('ready', 'w')\n"
             "steps_until(True)\n"
             "for _ in range(5): step()\n"
             "open('seen', 'w')\n"
             "steps_until(False)\n");
  const std::string xsp = places::bin("xsp");
  const Finished finished =
      run({"run", "--leveled=no", "--delay", "1000", "-o", "t.xsp", "--", "sh", "-c",
           "/usr/bin/python3 loop.py & while [ ! -e ready ]; do sleep 0.02; done; " + xsp +
               " ctl status --format csv; " + xsp + " ctl start --pid $!; " +
               "while [ ! -e seen ] && kill -0 $!; do sleep 0.02; done; " + xsp +
               " ctl stop --run t.xsp; wait"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_NE(finished.out.find(",python3,none,"), std::string::npos) << finished.out;
  const auto spans = query("t.xsp", "SELECT count(*) AS n FROM span WHERE level = 2");
  EXPECT_GE(spans[0]["n"], 5) << finished.err;
  EXPECT_GT(scalar("t.xsp", "SELECT count(*) FROM span WHERE type = 'step'"), spans[0]["n"]);
  EXPECT_EQ(run({"ctl", "start"}).status, 1);
  EXPECT_EQ(run({"ctl"}).status, 2);
}

// The program pauses, so that the size is looked at between one level's end and the next, also on a
// busy machine.
TEST_F(RunTest, ASizeLimitGivesUpDetailFirst) {
  write_file("steps.py",
             "import sys, time, xsp\n"
             "for i in range(int(sys.argv[1])):\n"
             "    with xsp.span('work', level=xsp.MODEL):\n"
             "        for _ in range(40):\n"
             "            with xsp.span('part', level=xsp.LAYER): pass\n"
             "    xsp.step()\n"
             "    if i % 2 == 0: time.sleep(0.001)\n");
  const Finished finished = run({"run", "--leveled=no", "--max-size", "200kB", "-o", "t.xsp", "--",
                                 "/usr/bin/python3", "steps.py", "1000"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_NE(finished.err.find("near their limit of 200 kB: not recorded are layer from "),
            std::string::npos)
      << finished.err;
  const auto runs = query("t.xsp",
                          "SELECT levels, stopped_by, count(*) FILTER (level = 3) AS layers, "
                          "  count(*) FILTER (level = 2) AS models, "
                          "  count(*) FILTER (type = 'step') AS steps "
                          "FROM run JOIN span USING (run_id) GROUP BY ALL ORDER BY levels");
  ASSERT_GE(runs.size(), 2u) << runs;
  const auto& whole = runs.back();
  EXPECT_EQ(whole["levels"], "application,model,layer");
  EXPECT_EQ(whole["stopped_by"], "size");
  EXPECT_GT(whole["layers"], 0);
  EXPECT_EQ(whole["layers"], 40 * whole["models"].get<int>());  // whole steps
  EXPECT_EQ(runs[runs.size() - 2]["levels"], "application,model");
  EXPECT_EQ(runs[runs.size() - 2]["layers"], 0);
  // Every step is there or counted; and the process ended.
  EXPECT_EQ(scalar("t.xsp", "SELECT (SELECT count(*) FROM span WHERE " + kIsMark +
                                ") + (SELECT coalesce(sum(count), 0)::BIGINT FROM loss)"),
            1000);
  EXPECT_EQ(scalar("t.xsp", "SELECT is_open FROM span WHERE type = 'process'"), false);
  EXPECT_NE(scalar("t.xsp", "SELECT value FROM evaluation WHERE key = 'note.size'"), nullptr);
  EXPECT_EQ(run({"run", "--max-size", "much", "--", "true"}).status, 2);
  EXPECT_EQ(run({"run", "--max-size", "-5", "--", "true"}).status, 2);
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
