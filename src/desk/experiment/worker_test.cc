// Tests the supervision of workers with shell scripts that misbehave on purpose.
#include "desk/experiment/worker.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "desk/experiment/record.h"

namespace xsp::experiment {
namespace {

namespace fs = std::filesystem;

class WorkerTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "xsp-worker-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { fs::remove_all(folder); }

  // Returns a worker that says that it is ready, and then runs `body`.
  WorkerOptions script(const std::string& body, const std::string& before = "") {
    const fs::path program = folder / "worker.sh";
    std::ofstream file(program);
    file << "#!/bin/sh\n"
         << before << "\n"
         << "printf 'input\\tx\\tfloat32\\t-1,3\\noutput\\ty\\tfloat32\\t-1,10\\n' >&3\n"
         << "printf 'ready\\tscript\\t1.2\\tcpu\\t2\\t4\\n' >&3\n"
         << body << "\n";
    file.close();
    fs::permissions(program, fs::perms::owner_all);
    WorkerOptions options;
    options.program = program;
    options.adapter = folder / "script.so";
    options.model = "m";
    options.trace = folder / "t.xtrace";
    options.scratch = folder;
    return options;
  }
  Result<std::unique_ptr<Worker>> start(const WorkerOptions& options) {
    return Worker::start(options, limits, stop);
  }
  // Returns the error of a worker's first block.
  std::string error_of_run(const std::string& body) {
    auto worker = start(script(body));
    if (!worker.ok()) return "start: " + worker.error().text;
    const auto block = (*worker)->run(1, 0);
    return block.ok() ? "no error" : block.error().text;
  }

  fs::path folder;
  WorkerLimits limits{.answer_s = 20, .grace_s = 0.2};
  std::atomic<int> stop = 0;
};

constexpr char kObedient[] = R"(
next=0
while read -r command count; do
  case $command in
    run) line="ran\t$next"; i=0
      while [ $i -lt $count ]; do line="$line\t100$i"; i=$((i+1)); done
      next=$((next+count)); printf "note\tone\\\\ntwo\n$line\n" >&3 ;;
    flush) printf 'flushed\n' >&3 ;;
    quit) printf 'bye\t5\t0\n' >&3; exit 0 ;;
  esac
done)";

// Checks the facts of an evaluation of a model whose batch is not known.
TEST_F(WorkerTest, SaysHowInputsCameAboutAndWhyTheBatchIsNotKnown) {
  auto worker = start(script("",
                             "printf 'input\\tn\\tint64\\t\\t5, as given\\n"
                             "unknown_batch\\tno input has dimensions\\n"
                             "ready\\tscript\\t1.2\\tcpu\\t2\\t0\\n' >&3; cat; exit"));
  ASSERT_TRUE(worker.ok()) << worker.error().text;
  const Ready& ready = (*worker)->ready();
  EXPECT_FALSE(ready.batch);
  EXPECT_EQ(ready.batch_unknown, "no input has dimensions");
  std::vector<experiment::Run> runs(1);
  runs[0].ready = ready;
  const auto facts = facts_of(Request(), runs);
  EXPECT_EQ(facts.at("input.n"), "int64[]");
  EXPECT_EQ(facts.at("input_values.n"), "5, as given");
  EXPECT_EQ(facts.at("not_measured.batch"), "no input has dimensions");
}

// The note says why opening takes long, so it is of no use afterwards.
TEST_F(WorkerTest, NotesOfTheOpeningAreTakenAsTheyCome) {
  const std::string noting =
      "printf 'note\\tthis takes minutes\\n' >&3\n"
      "while [ ! -e '" +
      (folder / "told").string() + "' ]; do sleep 0.01; done";
  WorkerOptions options = script(kObedient, noting);
  std::vector<std::string> taken;
  options.take_note = [&](std::string note) {
    taken.push_back(std::move(note));
    std::ofstream(folder / "told") << "x";
  };
  auto worker = start(options);
  ASSERT_TRUE(worker.ok()) << worker.error().text;
  EXPECT_EQ(taken, (std::vector<std::string>{"this takes minutes"}));
  ASSERT_TRUE((*worker)->run(1, 0).ok());
  EXPECT_EQ(taken.size(), 1u);
  EXPECT_EQ((*worker)->take_notes(), (std::vector<std::string>{"one\ntwo"}));
}

TEST_F(WorkerTest, OpensTheFileOfItsBatchSize) {
  WorkerOptions options =
      script("cat; exit", "echo \"$*\" > '" + (folder / "words").string() + "'");
  options.model_of_batch = [](int batch) -> Result<std::string> {
    if (batch > 8) return failed("no file of this batch size");
    return "m-b" + std::to_string(batch);
  };
  const auto model = [this](const WorkerOptions& of) -> std::string {
    auto worker = start(of);
    if (!worker.ok()) return worker.error().text;
    std::ifstream file(folder / "words");
    std::string word;
    while (file >> word && word != "--model") {
    }
    file >> word;
    return word;
  };
  EXPECT_EQ(model(options), "m");
  options.batch = 4;
  EXPECT_EQ(model(options), "m-b4");
  options.batch = 16;
  EXPECT_EQ(model(options), "no file of this batch size");
  options.model_of_batch = nullptr;
  EXPECT_EQ(model(options), "m");
}

TEST_F(WorkerTest, TellsItsModelRunsAndEnds) {
  WorkerOptions options = script(kObedient, "echo \"$@\" > \"$(dirname \"$0\")/arguments\"");
  options.batch = 4;
  options.threads = 2;
  options.inputs = {"x=4x3"};
  options.options = {{"graph_optimization", "basic"}};
  auto worker = start(options);
  ASSERT_TRUE(worker.ok()) << worker.error().text;
  const Ready& ready = (*worker)->ready();
  EXPECT_EQ(ready.framework, "script");
  EXPECT_EQ(ready.framework_version, "1.2");
  EXPECT_EQ(ready.threads, 2);
  EXPECT_EQ(ready.batch, 4);
  ASSERT_EQ(ready.inputs.size(), 1u);
  EXPECT_EQ(ready.inputs[0].dimensions, "-1,3");
  const auto first = (*worker)->run(2, 0);
  ASSERT_TRUE(first.ok()) << first.error().text;
  EXPECT_EQ(first->first_iteration, 0);
  EXPECT_EQ(first->durations_ns, (std::vector<int64_t>{1000, 1001}));
  EXPECT_EQ((*worker)->run(1, 0)->first_iteration, 2);
  EXPECT_EQ((*worker)->take_notes(), (std::vector<std::string>{"one\ntwo", "one\ntwo"}));
  EXPECT_GT((*worker)->process().peak_memory_bytes(), 0u);
  const double before_end_s = (*worker)->process().cpu_seconds();
  EXPECT_TRUE((*worker)->finish().ok());
  // A process that has ended still counts as this program's own, and not as another one.
  EXPECT_GT((*worker)->process().cpu_seconds(), 0);
  EXPECT_GE((*worker)->process().cpu_seconds(), before_end_s);
  std::ifstream file(folder / "arguments");
  std::string arguments;
  std::getline(file, arguments);
  EXPECT_NE(arguments.find("--batch 4 --threads 2 --seed 1 --input x=4x3 --option "
                           "graph_optimization=basic"),
            std::string::npos)
      << arguments;
}

TEST_F(WorkerTest, ACrashIsReportedWithItsSignalAndLastWords) {
  const std::string error = error_of_run("read -r line; echo 'bad tensor' >&2; kill -SEGV $$");
  EXPECT_NE(error.find("killed by signal 11 (segmentation fault)"), std::string::npos) << error;
  EXPECT_NE(error.find("bad tensor"), std::string::npos) << error;
}

TEST_F(WorkerTest, AnExitIsReportedWithItsStatus) {
  const std::string error = error_of_run("read -r line; echo 'no luck'; exit 7");
  EXPECT_NE(error.find("exited with status 7: it said: no luck"), std::string::npos) << error;
}

TEST_F(WorkerTest, ADeathBeforeTheModelIsOpenIsReported) {
  const auto worker = start(script("", "echo 'cannot load' >&2; exit 3"));
  ASSERT_FALSE(worker.ok());
  EXPECT_NE(worker.error().text.find("status 3"), std::string::npos) << worker.error().text;
}

// A child that it forked holds its sockets open.
TEST_F(WorkerTest, ADeathIsSeenAlthoughAChildLivesOn) {
  limits.answer_s = 100;
  const std::string error = error_of_run("sleep 60 & kill -SEGV $$");
  EXPECT_NE(error.find("signal 11"), std::string::npos) << error;
}

TEST_F(WorkerTest, AHangIsKilledAndReported) {
  limits.answer_s = 5;  // the start must be over within it, too
  const std::string error = error_of_run("trap '' TERM INT; while :; do sleep 1; done");
  EXPECT_NE(error.find("no answer within 5 s"), std::string::npos) << error;
}

TEST_F(WorkerTest, AHangUnderLoadIsKilledAfterItsTimeAndTheLimit) {
  limits.answer_s = 5;
  auto worker = start(script("trap '' TERM INT; while :; do sleep 1; done"));
  ASSERT_TRUE(worker.ok()) << worker.error().text;
  const auto loaded = (*worker)->load(folder / "load", 0.25, [](int64_t, int64_t, int64_t) {});
  ASSERT_FALSE(loaded.ok());
  EXPECT_NE(loaded.error().text.find("no answer within 5.25 s"), std::string::npos)
      << loaded.error().text;
}

TEST_F(WorkerTest, WhatAKilledWorkerStartedDiesWithIt) {
  limits.answer_s = 5;
  {
    auto worker = start(script("sleep 1000 & echo $! > \"$(dirname \"$0\")/pid\"; wait"));
    ASSERT_TRUE(worker.ok());
    EXPECT_FALSE((*worker)->run(1, 0).ok());
  }
  std::ifstream file(folder / "pid");
  pid_t pid = 0;
  ASSERT_TRUE(file >> pid);
  // The process may be a zombie for a moment, until its new parent reaps it.
  for (int i = 0; i < 500 && ::kill(pid, 0) == 0; ++i) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string id, name, state;
    if (stat >> id >> name >> state && state == "Z") return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_NE(::kill(pid, 0), 0);
}

TEST_F(WorkerTest, AReportedFailureKeepsItsTextAndKind) {
  auto worker = start(script("read -r line; printf 'failed\\t3\\tx: wrong shape: use 1x3\\n' >&3"));
  ASSERT_TRUE(worker.ok());
  const auto block = (*worker)->run(1, 0);
  ASSERT_FALSE(block.ok());
  EXPECT_EQ(block.error().code, Code::kUsage);
  EXPECT_EQ(block.error().text, "x: wrong shape: use 1x3");
  EXPECT_EQ((*worker)->run(1, 0).error().text, "x: wrong shape: use 1x3");  // the error stays the
                                                                            // same
}

TEST_F(WorkerTest, NonsenseIsNotTakenForAnAnswer) {
  for (const char* answer : {"ran\\t0\\tx\\n", "ran\\t0\\n", "ran\\t0\\t1\\t2\\n", "ran\\n",
                             "ran\\t0\\t-5\\n", "hello\\n", "\\n"}) {
    const std::string error =
        error_of_run("read -r line; printf '" + std::string(answer) + "' >&3; read -r line");
    EXPECT_NE(error.find("not understood"), std::string::npos) << answer << ": " << error;
  }
}

TEST_F(WorkerTest, WhatItPrintsDisturbsNothingAndTheTailIsKept) {
  const std::string error = error_of_run(
      "read -r line; i=0; while [ $i -lt 20000 ]; do echo \"line $i of much talk\"; i=$((i+1)); "
      "done; exit 1");
  EXPECT_NE(error.find("line 19999 of much talk"), std::string::npos) << error;
  EXPECT_EQ(error.find("line 19990 "), std::string::npos) << error;
}

TEST_F(WorkerTest, AStopRequestLeavesTheGraceAndASecondOneNothing) {
  limits.grace_s = 0.2;
  auto worker = start(script("read -r line; sleep 1000"));
  ASSERT_TRUE(worker.ok());
  stop = 1;
  const auto block = (*worker)->run(1, 0);
  ASSERT_FALSE(block.ok());
  EXPECT_EQ(block.error().code, Code::kInterrupted);
  stop = 2;
  limits.grace_s = 1000;
  const auto second = start(script("read -r line; sleep 1000", "sleep 1000"));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Code::kInterrupted);
}

TEST_F(WorkerTest, AnAnswerWithinTheGraceCounts) {
  limits.grace_s = 20;
  auto worker = start(script("read -r line; sleep 0.1; printf 'ran\\t0\\t7\\n' >&3; read -r line"));
  ASSERT_TRUE(worker.ok());
  stop = 1;
  EXPECT_TRUE((*worker)->run(1, 0).ok());
}

// After its answer, the worker's threads go on for ever, or stop at once.
TEST_F(WorkerTest, SettlingGivesUpOnThreadsThatNeverRestAndSaysSoOnce) {
  constexpr char kAnswer[] = "read -r line; printf 'ran\\t0\\t7\\n' >&3; ";
  auto endless = start(script(std::string(kAnswer) + "while :; do :; done"));
  ASSERT_TRUE(endless.ok());
  ASSERT_TRUE((*endless)->run(1, 0).ok());
  for (int i = 0; i < 3; ++i) (*endless)->settle();
  EXPECT_EQ((*endless)->take_notes().size(), 1u);
  auto resting = start(script(std::string(kAnswer) + "read -r line"));
  ASSERT_TRUE(resting.ok());
  ASSERT_TRUE((*resting)->run(1, 0).ok());
  (*resting)->settle();
  EXPECT_TRUE((*resting)->take_notes().empty());
}

// The schedulers of processors need a rest, and a GPU's single thread does not.
TEST_F(WorkerTest, OnlyProcessorsRestBetweenBlocks) {
  EXPECT_GT(rest_between_blocks("cpu").count(), 32);
  EXPECT_EQ(rest_between_blocks("cuda:0").count(), 0);
}

TEST_F(WorkerTest, AMissingProgramIsOneClearLine) {
  WorkerOptions options = script("");
  options.program = folder / "absent";
  const auto worker = start(options);
  ASSERT_FALSE(worker.ok());
  EXPECT_NE(worker.error().text.find("No such file"), std::string::npos) << worker.error().text;
}

TEST_F(WorkerTest, AFailureAfterTheLastRunIsNotLost) {
  auto worker =
      start(script("read -r line; printf 'flushed\\n' >&3; read -r line; printf "
                   "'bye\\t0\\t0\\n' >&3; kill -ABRT $$"));
  ASSERT_TRUE(worker.ok());
  const Status status = (*worker)->finish();
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().text.find("signal 6"), std::string::npos) << status.error().text;
}

TEST_F(WorkerTest, ThreadsThatDoNotRestAreToldWithTheRemedy) {
  WorkerOptions options = script("while :; do :; done");
  for (const auto& [rest, said] : std::map<std::string, std::string>{
           {"", "levels: --threads 1 has none of them"},
           {"--option spin=0", "levels: --option spin=0 lets them sleep"}}) {
    options.rest = rest;
    auto worker = start(options);
    ASSERT_TRUE(worker.ok()) << worker.error().text;
    (*worker)->settle();
    const std::vector<std::string> notes = (*worker)->take_notes();
    ASSERT_EQ(notes.size(), 1u);
    EXPECT_NE(notes[0].find(said), std::string::npos) << notes[0];
  }
}

TEST_F(WorkerTest, ProbesTellWhatIsThereOrWhyNot) {
  const WorkerOptions here =
      script("",
             "printf 'probe\\tort\\t1.31\\t/l.so\\tcpu,cuda\\t.onnx\\t.a+.b\\t--option a=0\\n' "
             ">&3; exit 0");
  const auto probe = probe_adapter(here.program, here.adapter, limits, stop);
  ASSERT_TRUE(probe.ok()) << probe.error().text;
  EXPECT_EQ(probe->version, "1.31");
  EXPECT_EQ(probe->devices, (std::vector<std::string>{"cpu", "cuda"}));
  EXPECT_EQ(probe->formats, (std::vector<std::string>{".onnx"}));
  EXPECT_EQ(probe->pairs, (std::vector<std::string>{".a+.b"}));
  EXPECT_EQ(probe->rest, "--option a=0");
  const WorkerOptions absent =
      script("", "printf 'failed\\t4\\tort: absent: get it\\n' >&3; exit 1");
  const auto none = probe_adapter(absent.program, absent.adapter, limits, stop);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, Code::kNotAvailable);
  const WorkerOptions crash = script("", "kill -SEGV $$");
  const auto crashed = probe_adapter(crash.program, crash.adapter, limits, stop);
  ASSERT_FALSE(crashed.ok());
  EXPECT_NE(crashed.error().text.find("signal 11"), std::string::npos) << crashed.error().text;
}

TEST(DescribeExit, NamesTheCause) {
  EXPECT_EQ(describe_exit(3 << 8, false), "exited with status 3");
  EXPECT_EQ(describe_exit(SIGKILL, true), "killed by the kernel: out of memory");
  EXPECT_EQ(describe_exit(SIGKILL, false), "killed by signal 9 (killed)");
  EXPECT_EQ(describe_exit(SIGABRT, true), "killed by signal 6 (aborted)");
}

}  // namespace
}  // namespace xsp::experiment
