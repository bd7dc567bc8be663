// Tests xsp run: which steps are recorded, at which levels, and when.
#include "tests/integration/run_xsp.h"
#include "tests/places.h"
#include "tests/turns.h"

namespace xsp::integration {
namespace {

class RunStepsTest : public WatchedTest {};

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

TEST_F(RunStepsTest, OnlyTheWantedStepsAreRecorded) {
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

TEST_F(RunStepsTest, ADelayAndADurationCountFromTheProcesssStart) {
  write_file("steps.py", kSteps);
  in_turns([&] {
    const Finished finished = run({"run", "--leveled=no", "--delay", "0.5", "--duration", "0.5",
                                   "-o", "t.xsp", "--", "/usr/bin/python3", "steps.py", "400"});
    ASSERT_EQ(finished.status, 0) << finished.err;
    const auto times = query(
        "t.xsp",
        "SELECT min(s.start_ns - p.start_ns) / 1e9 AS first, max(s.start_ns - p.start_ns) / 1e9 AS "
        "last FROM span s, (FROM span WHERE type = 'process') p WHERE s.level = 2");
    ASSERT_TRUE(times[0]["first"].is_number()) << times;
    // The switch takes milliseconds; this machine may be busy.
    EXPECT_GE(times[0]["first"].get<double>(), 0.5);
    EXPECT_LE(times[0]["first"].get<double>(), 1.0);
    EXPECT_LE(times[0]["last"].get<double>(), 1.3);
  });
}

// A part that begins after the program's end is said to be missing, where it is missed.
TEST_F(RunStepsTest, APartThatIsNeverReachedIsNotMeasured) {
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

TEST_F(RunStepsTest, OneLevelTakesNoTurns) {
  write_file("steps.py", kSteps);
  for (const std::string levels : {"model", "model,layer"}) {
    const Finished finished =
        run({"run", "--levels", levels, "-o", "t.xsp", "--", "/usr/bin/python3", "steps.py", "5"});
    const bool is_said = finished.err.find("too few steps for levels") != std::string::npos;
    EXPECT_EQ(is_said, levels != "model") << finished.err;
  }
}

TEST_F(RunStepsTest, LevelsTakeTurnsInBlocksOfSteps) {
  write_file("steps.py", kSteps);
  in_turns([&] {  // turns follow the program's age, so a pause may leave too few
    const Finished finished =
        run({"run", "-o", "t.xsp", "--", "/usr/bin/python3", "steps.py", "60"});
    ASSERT_EQ(finished.status, 0) << finished.err;
    const auto runs =
        query("t.xsp",
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
  });
  // There are too few steps for turns.
  const Finished few = run({"run", "-o", "few.xsp", "--", "/usr/bin/python3", "steps.py", "3"});
  EXPECT_NE(few.err.find("too few steps"), std::string::npos) << few.err;
  EXPECT_EQ(scalar("few.xsp", "SELECT count(*) FROM span WHERE level = 3"), 3);
}

TEST_F(RunStepsTest, OneStepInManyIsRecordedWhole) {
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

TEST_F(RunStepsTest, ARunningProgramIsSwitchedOnAndOff) {
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

// `xsp ctl status` lists each process once. A child that records nothing, as a shell's, takes
// nothing from its parent; and a process that becomes another program stays where it was listed.
TEST_F(RunStepsTest, AProcessIsListedUntilItEnds) {
  const std::string listed = places::bin("xsp") + " ctl status --format csv";
  write_file("parent.sh", "x=$(echo hello); y=$(echo more)\n" + listed + "\n");
  const Finished parent = run({"run", "-o", "t.xsp", "--", "/bin/bash", "parent.sh"});
  ASSERT_EQ(parent.status, 0) << parent.err;
  EXPECT_NE(parent.out.find(",bash,"), std::string::npos) << parent.out;
  // Places before its own are free when the last child becomes another program.
  write_file("becomes.sh", "for i in 1 2 3 4 5 6 7 8; do sleep 1 & done\nsleep 0.5\nsh next.sh\n");
  write_file("next.sh", "sleep 1.5\nexec sh last.sh\n");
  write_file("last.sh", "echo self $$\n" + listed + "\n");
  const Finished becomes = run({"run", "-o", "t.xsp", "--", "/bin/sh", "becomes.sh"});
  ASSERT_EQ(becomes.status, 0) << becomes.err;
  const size_t begin = becomes.out.find("self ");
  ASSERT_NE(begin, std::string::npos) << becomes.out;
  const size_t end = becomes.out.find('\n', begin);
  const std::string self = becomes.out.substr(begin + 5, end - begin - 5) + ",sh,";
  const size_t first = becomes.out.find(self);
  EXPECT_NE(first, std::string::npos) << becomes.out;
  EXPECT_EQ(becomes.out.find(self, first + 1), std::string::npos) << becomes.out;
}

// The program pauses, so that the size is looked at between one level's end and the next, also on a
// busy machine.
TEST_F(RunStepsTest, ASizeLimitGivesUpDetailFirst) {
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

}  // namespace
}  // namespace xsp::integration
