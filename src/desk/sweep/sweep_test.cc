#include "desk/sweep/sweep.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace xsp::sweep {
namespace {

namespace fs = std::filesystem;

// An engine whose polls fail as `answers` says, and which has waiting what was submitted.
class Engine : public executors::Session {
 public:
  explicit Engine(std::vector<bool> answers) : answers_(std::move(answers)) {}
  Status submit(const std::vector<size_t>& indexes) override {
    for (const size_t index : indexes) {
      if (takes.has_value() && submitted >= *takes) return refusal;
      ++submitted;
      held[index] = {};
    }
    return Ok{};
  }
  Result<std::map<size_t, executors::Held>> poll(std::chrono::milliseconds patience) override {
    std::this_thread::sleep_for(std::min(patience, std::chrono::milliseconds(20)));
    const bool answers = polls_ >= answers_.size() || answers_[polls_];
    ++polls_;
    if (!answers) return failed("squeue: Socket timed out on send/recv operation");
    return held;
  }
  Status cancel() override { return Ok{}; }

  std::optional<size_t> takes{};  // so many units until further notice
  Error refusal = failed("sbatch: Socket timed out on send/recv operation");
  size_t submitted = 0;
  std::map<size_t, executors::Held> held;

 private:
  std::vector<bool> answers_;
  size_t polls_ = 0;
};

class SweepLoopTest : public testing::Test {
 protected:
  SweepLoopTest() {
    std::string name = (fs::temp_directory_path() / "xsp-sweep-test-XXXXXX").string();
    place = ::mkdtemp(name.data());
    plan.tasks.resize(2);
    plan.tasks[0].name = "one";
    plan.tasks[1].name = "two";
  }
  ~SweepLoopTest() override { fs::remove_all(place); }

  // Runs until the loop was told `looks` times. Returns what the engine was said to have answered.
  Result<View> run(Engine* engine, size_t looks) {
    return run_sweep(Folder(place), plan, *engine, stop, [&, looks](const View& view) {
      silences.push_back(view.silence);
      if (silences.size() == looks) stop = 1;
    });
  }

  fs::path place;
  Plan plan;
  std::atomic<int> stop{0};
  std::vector<std::string> silences;
};

TEST_F(SweepLoopTest, AnEngineThatDoesNotAnswerForAWhileIsAskedAgain) {
  Engine engine({true, false, false, true});
  const auto view = run(&engine, 4);
  ASSERT_TRUE(view.ok()) << view.error().text;
  ASSERT_EQ(silences.size(), 4u);
  EXPECT_EQ(silences[0], "");
  EXPECT_NE(silences[1].find("timed out"), std::string::npos) << silences[1];
  EXPECT_EQ(silences[2], silences[1]);
  EXPECT_EQ(silences[3], "");
  EXPECT_EQ(engine.submitted, 2u);  // each unit once
  EXPECT_EQ(view->count(State::kWaiting), 2u);
}

TEST_F(SweepLoopTest, AnEngineThatNeverAnsweredIsAnError) {
  Engine engine({false});
  const auto view = run(&engine, 1);
  ASSERT_FALSE(view.ok());
  EXPECT_NE(view.error().text.find("timed out"), std::string::npos);
  EXPECT_TRUE(silences.empty());
}

TEST_F(SweepLoopTest, AnEngineThatTakesATaskAndThenFailsIsAskedAgainForTheRest) {
  Engine engine({});
  engine.takes = 1;
  const auto view = run_sweep(Folder(place), plan, engine, stop, [&](const View& now) {
    silences.push_back(now.silence);
    // The second look has told what was taken.
    if (silences.size() == 2) {
      EXPECT_EQ(now.count(State::kWaiting), 1u);
      engine.takes.reset();
    }
    if (now.count(State::kWaiting) == 2) stop = 1;
  });
  ASSERT_TRUE(view.ok()) << view.error().text;
  EXPECT_EQ(engine.submitted, 2u);  // each unit once
  ASSERT_GE(silences.size(), 3u);
  EXPECT_NE(silences[1].find("timed out"), std::string::npos);
  EXPECT_EQ(silences.back(), "");
}

TEST_F(SweepLoopTest, WhatWasTakenAndIsOverIsNotSubmittedAgain) {
  const Folder folder(place / "sweep");
  ASSERT_TRUE(folder.create(plan).ok());
  Engine engine({});
  engine.takes = 2;
  plan.tasks.resize(3);
  plan.tasks[2].name = "three";
  size_t looks = 0;
  const auto view = run_sweep(folder, plan, engine, stop, [&](const View& now) {
    if (++looks == 1) {
      // The first task ends before the engine is asked what it has.
      Attempt attempt = *folder.begin(plan.tasks[0], "n1");
      attempt.end = End::kRefused;
      attempt.reason = "no GPU";
      ASSERT_TRUE(folder.note(plan.tasks[0], attempt).ok());
      engine.held.erase(0);
      engine.takes.reset();
    }
    if (engine.submitted > 3 || now.count(State::kFailed) == 1) stop = 1;
  });
  ASSERT_TRUE(view.ok()) << view.error().text;
  EXPECT_EQ(engine.submitted, 3u);
  ASSERT_EQ(view->count(State::kFailed), 1u);
  EXPECT_EQ(view->tasks[0].why, "no GPU");
}

TEST_F(SweepLoopTest, AnEngineThatNeverTookATaskOrNeverWillIsAnError) {
  Engine engine({});
  engine.takes = 0;
  size_t looks = 0;
  const auto look = [&](const View&) { ++looks; };
  EXPECT_FALSE(run_sweep(Folder(place), plan, engine, stop, look).ok());
  EXPECT_EQ(looks, 2u);
  engine.takes = 1;
  engine.refusal = usage("no machine has a GPU");
  View seen;
  const auto never =
      run_sweep(Folder(place), plan, engine, stop, [&](const View& now) { seen = now; });
  ASSERT_FALSE(never.ok());
  EXPECT_EQ(never.error().text, "no machine has a GPU");
  EXPECT_EQ(seen.count(State::kWaiting), 1u) << "what is left behind";
  EXPECT_EQ(seen.silence, "no machine has a GPU") << "it does not work again";
}

TEST_F(SweepLoopTest, AJobThatNeverBeganSaysWhyItWaited) {
  plan.tasks.resize(1);
  plan.retries = 0;
  executors::Held waiting;
  waiting.why = "ErrImagePull: no image x:1";
  Engine engine({});
  const auto view = run_sweep(Folder(place), plan, engine, stop, [&](const View& now) {
    if (now.tasks[0].why.empty()) engine.held[0] = waiting;
    if (now.tasks[0].why == waiting.why) engine.held.clear();
  });
  ASSERT_TRUE(view.ok());
  EXPECT_NE(view->tasks[0].why.find("before it began (why it waited: ErrImagePull: no image"),
            std::string::npos)
      << view->tasks[0].why;
}

TEST_F(SweepLoopTest, AnAttemptThatRunsAtResumeIsJudgedByItsEnd) {
  const Folder folder(place / "sweep");
  ASSERT_TRUE(folder.create(plan).ok());
  std::vector<Attempt> attempts;
  for (const Task& task : plan.tasks) attempts.push_back(*folder.begin(task, "n1"));
  executors::Held running;
  running.is_running = true;
  Engine engine({});
  engine.held = {{0, running}, {1, running}};
  const auto view = run_sweep(folder, plan, engine, stop, [&](const View& now) {
    if (engine.submitted > 0) stop = 1;  // never again
    if (now.count(State::kRunning) < 2) return;
    // Both end while the loop runs.
    for (size_t i = 0; i < attempts.size(); ++i) {
      attempts[i].end = i == 0 ? End::kRefused : End::kTimeout;
      attempts[i].reason = i == 0 ? "no GPU" : "late";
      attempts[i].seconds = 20;
      ASSERT_TRUE(folder.note(plan.tasks[i], attempts[i]).ok());
    }
    engine.held.clear();
  });
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view->count(State::kFailed), 2u);
  EXPECT_EQ(view->tasks[0].why, "no GPU");
  EXPECT_EQ(view->tasks[1].why, "late");
  EXPECT_EQ(view->used_s, 40);
  EXPECT_EQ(engine.submitted, 0u);
}

TEST(EndOfSweep, SaysWhatAnEngineWithAQueueGoesOnWith) {
  executors::Executor engine;
  engine.name = "slurm";
  View view;
  view.tasks.resize(4);
  view.tasks[0].state = State::kDone;
  view.tasks[1].state = State::kRunning;
  view.tasks[2].state = view.tasks[3].state = State::kWaiting;
  const Folder folder("zoo");
  EXPECT_EQ(left_behind(folder, engine, view), "");
  engine.outlives_session = true;
  EXPECT_EQ(left_behind(folder, engine, view),
            "slurm goes on with 3 jobs of this sweep (1 running, 2 waiting): end them with "
            "xsp sweep cancel zoo");
  view.tasks[2].state = view.tasks[3].state = State::kPending;
  EXPECT_EQ(left_behind(folder, engine, view),
            "slurm goes on with 1 job of this sweep (1 running, 0 waiting): end it with "
            "xsp sweep cancel zoo");
  view.tasks[1].state = State::kFailed;
  EXPECT_EQ(left_behind(folder, engine, view), "");
}

TEST(EndOfSweep, SaysWhyTasksHaveNoResult) {
  View view;
  view.tasks.resize(6);
  for (TaskView& task : view.tasks) task.state = State::kDone;
  EXPECT_EQ(end_of(view, true).state, "done");
  EXPECT_EQ(end_of(view, true).reason, "");
  for (size_t i = 0; i < 5; ++i) {
    view.tasks[i].state = i == 0 ? State::kLeft : State::kFailed;
    view.tasks[i].why = "w" + std::to_string(std::max<size_t>(i, 1));
  }
  EXPECT_EQ(end_of(view, true).state, "failed");
  EXPECT_EQ(end_of(view, true).reason,
            "5 of 6 tasks have no result: w1; w2; w3; and 1 other reason");
  EXPECT_EQ(end_of(view, false).state, "cancelled");
}

}  // namespace
}  // namespace xsp::sweep
