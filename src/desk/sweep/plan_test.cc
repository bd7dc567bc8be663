// Tests the expansion of a sweep's file, and the plan as JSON.
#include "desk/sweep/plan.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "shared/base/scratch.h"

namespace xsp::sweep {
namespace {

executors::Executor two_machines() {
  executors::Executor executor;
  executor.name = "two";
  executor.settings = {{"hosts", "the machines", true}};
  executor.systems = [](const executors::Settings&) {
    return Result<std::vector<std::string>>(std::vector<std::string>{"x", "y"});
  };
  return executor;
}

Result<Plan> expanded(const std::string& more) {
  const auto known_but = [](const std::string& unknown) {
    return [unknown](const std::string& word) -> Status {
      return word == unknown ? Status(usage(word + ": unknown")) : Status(Ok{});
    };
  };
  const Names names = {known_but("no_model"), known_but("no_framework"), known_but("no_scenario"),
                       known_but("no_level"), known_but("no_counter")};
  return expand({"s.yaml", "name: s\nexecutors: {two: {hosts: [x, y]}}\n" + more}, two_machines(),
                names);
}

TEST(Expand, HasEachCombinationOnceAndModelsFastest) {
  const auto plan = expanded(
      "models: [a, b]\nframeworks: [f, g]\ndevices: [cpu, 'cuda:0']\nbatches: [1, 2, 4]\n");
  ASSERT_TRUE(plan.ok()) << plan.error().text;
  EXPECT_EQ(plan->tasks.size(), 2u * 2 * 2 * 3);
  std::set<std::string> subjects, names;
  for (size_t i = 0; i < plan->tasks.size(); ++i) {
    EXPECT_EQ(plan->tasks[i].model, i % 2 == 0 ? "a" : "b");
    subjects.insert(plan->tasks[i].subject());
    names.insert(plan->tasks[i].name);
  }
  EXPECT_EQ(subjects.size(), plan->tasks.size());
  EXPECT_EQ(names.size(), plan->tasks.size());
}

TEST(Expand, AllSystemsMultiplyTheTasksAndAnyDoesNot) {
  EXPECT_EQ(expanded("models: [a]\nsystems: all\n")->tasks.size(), 2u);
  EXPECT_EQ(expanded("models: [a]\nsystems: any\n")->tasks.size(), 1u);
  EXPECT_EQ(expanded("models: [a]\nsystems: [y]\n")->tasks[0].system, "y");
  EXPECT_FALSE(expanded("models: [a]\nsystems: [z]\n").ok());
}

TEST(Expand, WhatHasNoMeaningIsRefusedAtItsLine) {
  const std::pair<const char*, const char*> faults[] = {
      {"models: [a, no_model]\n", "s.yaml:3: models[1]: no_model: unknown"},
      {"models: [a]\nframeworks: [f, no_framework]\n",
       "s.yaml:4: frameworks[1]: no_framework: unknown"},
      {"models: [a]\nscenarios: [profile, {name: no_scenario}]\n",
       "s.yaml:4: scenarios[1]: no_scenario: unknown"},
      {"models: [a]\nlevels: [no_level]\n", "s.yaml:4: levels: no_level: unknown"},
      {"models: [a]\ncounters: no_counter\n", "s.yaml:4: counters: no_counter: unknown"},
      {"models: [a]\nreference: {model: no_model}\n",
       "s.yaml:4: reference.model: no_model: unknown"},
      {"models: [a]\nreference: {model: a, framework: no_framework}\n",
       "s.yaml:4: reference.framework: no_framework: unknown"}};
  for (const auto& [more, error] : faults) {
    const auto plan = expanded(more);
    ASSERT_FALSE(plan.ok()) << more;
    EXPECT_EQ(plan.error().text, error);
    EXPECT_EQ(plan.error().code, Code::kUsage);
  }
}

TEST(Expand, ALoadFormsItsOwnBatches) {
  const auto plan = expanded(
      "models: [a]\nbatches: [1, 2]\nlevels: [model, layer]\n"
      "scenarios: [profile, {name: server, rate: 50, bound: p99=9ms}]\n");
  ASSERT_TRUE(plan.ok()) << plan.error().text;
  ASSERT_EQ(plan->tasks.size(), 3u);
  EXPECT_EQ(plan->tasks[0].words(),
            (std::vector<std::string>{"profile", "a", "--batch", "1", "--levels", "model,layer"}));
  EXPECT_EQ(plan->tasks[2].words(),
            (std::vector<std::string>{"evaluate", "a", "--scenario", "server", "--rate", "50",
                                      "--bound", "p99=9ms"}));
}

TEST(Expand, WhatIsExcludedIsSaid) {
  const auto plan = expanded("models: [a, b]\nbatches: [1, 8]\nexclude: [{model: b, batch: 8}]\n");
  ASSERT_TRUE(plan.ok()) << plan.error().text;
  EXPECT_EQ(plan->tasks.size(), 3u);
  ASSERT_EQ(plan->left_out.size(), 1u);
  EXPECT_EQ(plan->left_out[0].what, "b-b8");
}

TEST(Expand, ADeviceThatTheManifestExcludesIsLeftOut) {
  const auto plan = expanded("models: [magika]\ndevices: [cpu, opencl]\n");
  ASSERT_TRUE(plan.ok()) << plan.error().text;
  for (const Task& task : plan->tasks) EXPECT_NE(task.device, "opencl");
}

TEST(Expand, TheImageOfAModelComesBeforeThatOfTheSweep) {
  auto folder = ScratchFolder::create();
  ASSERT_TRUE(folder.ok());
  const std::string file = (*folder)->path() / "m.yml";
  std::ofstream(file) << "name: m\nversion: 1.0.0\ntask: t\nmodel: {path: m.onnx}\n"
                         "container: net:2\n";
  const auto plan = expanded("models: [a, '" + file + "']\ncontainer: net:1\n");
  ASSERT_TRUE(plan.ok()) << plan.error().text;
  const auto read = plan_of(to_json(*plan), "plan.json");
  ASSERT_TRUE(read.ok()) << read.error().text;
  ASSERT_EQ(read->tasks.size(), 2u);
  EXPECT_EQ(read->tasks[0].container, "net:1");
  EXPECT_EQ(read->tasks[1].container, "net:2");
  EXPECT_EQ(expanded("models: [a]\n")->tasks[0].container, "");
}

TEST(Expand, TheReferenceIsFirstAndLastAndBetween) {
  const auto plan = expanded(
      "models: [a, b]\nbatches: [1, 2, 4]\nreference: {model: r, framework: f, every: 4}\n"
      "options: {threads: 2}\n");
  ASSERT_TRUE(plan.ok()) << plan.error().text;
  std::string order;
  for (const Task& task : plan->tasks) order += task.model;
  EXPECT_EQ(order, "rababrabr");
  EXPECT_EQ(plan->tasks.back().name, "reference-3");
  EXPECT_EQ(plan->tasks.back().words(),
            (std::vector<std::string>{"profile", "r", "--framework", "f", "--threads", "2"}));
}

TEST(Expand, EqualNamesAreNumbered) {
  const auto plan = expanded("models: ['fake:a=1', 'fake:a-1', 'fake:a_1', 'fake:a*1']\n");
  ASSERT_TRUE(plan.ok()) << plan.error().text;
  std::set<std::string> names;
  for (const Task& task : plan->tasks) names.insert(task.name);
  EXPECT_EQ(names.size(), 4u);
}

TEST(PlanJson, IsReadAsItWasWritten) {
  auto plan = expanded("models: [a]\nbudget: {time: 1.5h, cost: 7}\nprice: 2\noptions: {x: y}\n");
  ASSERT_TRUE(plan.ok()) << plan.error().text;
  plan->place = "/a/c.sqlite";
  const auto read = plan_of(to_json(*plan), "plan.json");
  ASSERT_TRUE(read.ok()) << read.error().text;
  EXPECT_EQ(to_json(*read), to_json(*plan));
  EXPECT_EQ(read->place, "/a/c.sqlite");
  EXPECT_EQ(read->budget_s, 5400);
  EXPECT_EQ(read->settings.at("hosts").size(), 2u);
}

TEST(PlanJson, ATaskCannotLeaveItsFolder) {
  auto plan = expanded("models: [a]\n");
  ASSERT_TRUE(plan.ok());
  for (const char* name : {"../x", "", ".x", "a/b"}) {
    plan->tasks[0].name = name;
    EXPECT_FALSE(plan_of(to_json(*plan), "plan.json").ok()) << name;
  }
}

}  // namespace
}  // namespace xsp::sweep
