// Tests that programs which annotate a model of their own get the same results as a framework's
// model. It runs the examples as a user runs them, watched and alone.
#include <fstream>

#include "tests/integration/run_xsp.h"
#include "tests/places.h"
#include "tests/turns.h"

namespace xsp::integration {
namespace {

class AnnotatedTest : public WatchedTest {
 protected:
  static std::string example(const std::string& name) { return places::build("examples/") + name; }
  Finished watch(const std::vector<std::string>& options,
                 const std::vector<std::string>& command) const {
    std::vector<std::string> arguments = {"run", "-o", "t.xsp"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.push_back("--");
    arguments.insert(arguments.end(), command.begin(), command.end());
    return run(arguments);
  }
  Finished run_python(const std::vector<std::string>& arguments) const {
    RunOptions options;
    options.program = kPython;
    options.environment = {{"PYTHONPATH", places::build("lib/xsp/python")}};
    return run(arguments, options);
  }
  // Runs the program with its own xsp_start, and imports its trace.
  void record(const std::string& name, const std::string& count, const std::string& levels) const {
    RunOptions options;
    options.program = example(name);
    options.environment = {{"XSP_TRACE", (folder / "own.xtrace").string()}, {"XSP_LEVELS", levels}};
    const Finished finished = run({count}, options);
    ASSERT_EQ(finished.status, 0) << finished.err;
    const Finished imported = run({"import", "own.xtrace", "-o", "t.xsp"});
    ASSERT_EQ(imported.status, 0) << imported.err;
  }
  nlohmann::json analysis(const std::string& name) const {
    const Finished finished = run({"analyze", name, "t.xsp", "--format", "json"});
    EXPECT_EQ(finished.status, 0) << name << ": " << finished.err;
    const auto parsed = nlohmann::json::parse(finished.out, nullptr, false);
    EXPECT_FALSE(parsed.is_discarded()) << finished.out;
    return parsed;
  }
  std::string why_not(const std::string& name) const {
    const Finished finished = run({"analyze", name, "t.xsp"});
    EXPECT_NE(finished.status, 0) << name;
    return finished.err;
  }

  // Expects two runs that took turns, of all inferences, in blocks; and numbers from every
  // analysis.
  void expect_leveled(int inferences, const std::vector<std::string>& layers) const {
    const auto runs = query("t.xsp",
                            "SELECT levels, batch, warmup_iterations AS warmup, iterations, "
                            "(SELECT count(*) FROM block "
                            "b WHERE b.run_id = run.run_id) AS blocks FROM run ORDER BY levels");
    ASSERT_EQ(runs.size(), 2u) << runs;
    EXPECT_EQ(runs[0]["levels"], "application,model");
    EXPECT_EQ(runs[1]["levels"], "application,model,layer");
    int sum = 0;
    for (const auto& one : runs) {
      EXPECT_EQ(one["batch"], 4) << one;
      EXPECT_GE(one["blocks"], 5) << one;
      EXPECT_GE(one["iterations"], 20) << one;
      sum += one["warmup"].get<int>() + one["iterations"].get<int>();
    }
    EXPECT_EQ(sum, inferences) << runs;
    const auto model = analysis("model_information");
    ASSERT_EQ(model.size(), 1u) << model;
    EXPECT_EQ(model[0]["batch"], 4);
    EXPECT_EQ(model[0]["iterations"], runs[0]["iterations"]);
    EXPECT_GT(model[0]["latency_ns"], 1000);
    expect_layers(layers);
    EXPECT_FALSE(analysis("model_summary").empty());
    EXPECT_TRUE(analysis("findings").is_array());
    EXPECT_FALSE(analysis("audit").empty());
  }
  // Expects each layer once in an inference, and that together they are no longer than it.
  void expect_layers(const std::vector<std::string>& layers) const {
    const auto found = analysis("layer_information");
    ASSERT_EQ(found.size(), layers.size()) << found;
    for (const std::string& layer : layers) {
      const auto is_it = [&layer](const auto& row) { return row["name"] == layer; };
      const auto row = std::find_if(found.begin(), found.end(), is_it);
      ASSERT_NE(row, found.end()) << layer << " " << found;
      EXPECT_GT((*row)["latency_ns"], 100) << *row;
    }
    EXPECT_EQ(
        scalar("t.xsp",
               "SELECT count(*) FROM (SELECT m.span_id, count(l.span_id) AS layers FROM span m "
               "JOIN span l ON l.run_id = m.run_id AND l.model_id = m.span_id AND l.level = 3 "
               "AND l.iteration = m.iteration WHERE m.level = 2 GROUP BY ALL) WHERE layers <> " +
                   std::to_string(layers.size())),
        0);
  }
};

TEST_F(AnnotatedTest, AProgramInCIsMeasuredLevelByLevel) {
  in_turns([&] {
    const Finished finished = watch({}, {example("annotate"), "1000"});
    ASSERT_EQ(finished.status, 0) << finished.err;
    EXPECT_EQ(finished.err.find("too few"), std::string::npos) << finished.err;
    expect_leveled(1000, {"harmonic", "alternating"});
  });
}

TEST_F(AnnotatedTest, AProgramInCppIsMeasuredLevelByLevelOnTwoThreads) {
  in_turns([&] {
    const Finished finished = watch({}, {example("annotate_scopes"), "600"});
    ASSERT_EQ(finished.status, 0) << finished.err;
    const auto threads = query("t.xsp",
                               "SELECT count(DISTINCT thread) AS threads, count(*) AS calls, "
                               "count(DISTINCT (run_id, iteration)) AS numbers FROM span "
                               "WHERE level = 2");
    EXPECT_EQ(threads[0]["threads"], 2);
    EXPECT_EQ(threads[0]["calls"], 1200);
    EXPECT_EQ(threads[0]["numbers"], 1200) << "inferences of two threads have numbers of their own";
    EXPECT_EQ(analysis("model_information")[0]["batch"], 4);
    EXPECT_EQ(analysis("layer_information").size(), 3u);
  });
}

TEST_F(AnnotatedTest, AProgramInPythonIsMeasuredLevelByLevel) {
  in_turns([&] {
    const Finished finished = watch({}, {kPython, places::source("examples/annotate.py"), "800"});
    ASSERT_EQ(finished.status, 0) << finished.err;
    expect_leveled(800, {"squares", "cubes"});
  });
}

TEST_F(AnnotatedTest, OneRunForEachLevelWorksAsWell) {
  ASSERT_EQ(watch({"--leveled"}, {example("annotate"), "100"}).status, 0);
  EXPECT_EQ(scalar("t.xsp", "SELECT sum(iterations + warmup_iterations) FROM run"), 200);
  EXPECT_EQ(analysis("model_information").size(), 1u);
  expect_layers({"harmonic", "alternating"});
}

// Spans mark steps even if nothing is recorded.
TEST_F(AnnotatedTest, StepsAreSeenWhereNothingIsRecorded) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{example("annotate"), "1000"},
        std::vector<std::string>{kPython, places::source("examples/annotate.py"), "800"}}) {
    ASSERT_EQ(watch({"--leveled=steps"}, command).status, 0);
    const auto runs = query("t.xsp", "SELECT levels, iterations FROM run ORDER BY levels");
    ASSERT_EQ(runs.size(), 3u) << runs;
    EXPECT_EQ(runs[0]["levels"], "application");
    for (const auto& one : runs) EXPECT_GE(one["iterations"], 20) << one;
    EXPECT_EQ(scalar("t.xsp",
                     "SELECT count(*) FROM span JOIN run USING (run_id) "
                     "WHERE levels = 'application' AND level > 1"),
              0);
  }
  ASSERT_EQ(watch({"--leveled=no", "--steps", "10:20"}, {example("annotate"), "100"}).status, 0);
  EXPECT_EQ(scalar("t.xsp", "SELECT count(*) FROM span WHERE level = 2"), 10);
}

TEST_F(AnnotatedTest, WhatAProgramRecordedOfItselfIsImported) {
  record("annotate", "50", "all");
  const auto runs = query("t.xsp",
                          "SELECT levels, batch, iterations + warmup_iterations AS inferences "
                          "FROM run");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0]["levels"], "application,model,layer");
  EXPECT_EQ(runs[0]["batch"], 4);
  EXPECT_EQ(runs[0]["inferences"], 50);
  expect_layers({"harmonic", "alternating"});
  // The program records only its model, as its arguments request.
  record("annotate", "50", "model");
  EXPECT_EQ(scalar("t.xsp", "SELECT levels FROM run"), "application,model");
  EXPECT_EQ(analysis("model_information")[0]["batch"], 4);
  EXPECT_NE(why_not("layer_information").find("the program did not record it"), std::string::npos);
  record("annotate_scopes", "50", "all");
  EXPECT_EQ(scalar("t.xsp", "SELECT count(DISTINCT iteration) FROM span WHERE level = 2"), 100);
  expect_layers({"layer0", "layer1", "layer2"});
}

TEST_F(AnnotatedTest, WhatPythonRecordsOfItselfIsRead) {
  const Finished finished = run_python({places::source("examples/annotate.py"), "50", "t.xsp"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(scalar("t.xsp", "SELECT batch FROM run"), 4);
  expect_layers({"squares", "cubes"});
}

TEST_F(AnnotatedTest, WithoutABatchItIsNotKnown) {
  write_file("net.py",
             "import xsp\n"
             "for _ in range(300):\n"
             "    with xsp.span('net', level=xsp.MODEL):\n"
             "        with xsp.span('layer', level='layer'):\n"
             "            sum(range(2000))\n");
  ASSERT_EQ(watch({}, {kPython, "net.py"}).status, 0);
  EXPECT_EQ(scalar("t.xsp", "SELECT value FROM evaluation WHERE key = 'not_measured.batch'"),
            "how many inputs an inference has is not known");
  EXPECT_EQ(analysis("model_information").size(), 1u);
  EXPECT_EQ(analysis("layer_information").size(), 1u);
}

TEST_F(AnnotatedTest, LevelsHaveNamesInPython) {
  write_file(
      "levels.py",
      "import xsp\n"
      "for name, number in {'application': 1, 'model': 2, 'layer': 3, 'library': 4}.items():\n"
      "    assert xsp.span('a', level=name)._level == xsp.span('a', number)._level == number\n"
      "for arguments in ({'level': 'modle'}, {'level': 9}, {'batch': 0}):\n"
      "    try:\n"
      "        xsp.span('a', **arguments)\n"
      "    except ValueError as error:\n"
      "        print(error)\n");
  const Finished finished = run_python({"levels.py"});
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(
      finished.out,
      "level 'modle': there is none of that name: one of application, model, layer, library, "
      "or its number\n"
      "level 9: there is none of that name: one of application, model, layer, library, or its "
      "number\n"
      "batch 0: is no number of inputs: give one from 1, or None\n");
}

// The program's own spans enclose those that xsp finds; xsp's iteration numbers are then those of
// the program's inferences.
TEST_F(AnnotatedTest, ModulesOfPyTorchInAnAnnotatedModelAreOfItsInference) {
  if (std::system("/usr/bin/python3 -c 'import torch' 2>/dev/null") != 0) {
    GTEST_SKIP() << kPython << " has no torch";
  }
  write_file("pair.py",
             "import torch, xsp\n"
             "encoder, decoder = torch.nn.Linear(4, 8), torch.nn.Linear(8, 4)\n"
             "for _ in range(10):\n"
             "    with xsp.span('pair', level='model', batch=1):\n"
             "        decoder(encoder(torch.ones(1, 4)))\n");
  ASSERT_EQ(watch({"--leveled=no"}, {kPython, "pair.py"}).status, 0);
  EXPECT_EQ(scalar("t.xsp", "SELECT iterations + warmup_iterations FROM run"), 10);
  EXPECT_EQ(scalar("t.xsp",
                   "SELECT count(*) FROM span i JOIN span o ON o.span_id = i.parent_id "
                   "WHERE i.level = 2 AND o.name = 'pair' AND i.iteration = o.iteration"),
            20);
  EXPECT_EQ(scalar("t.xsp", "SELECT count(*) FROM span WHERE level = 1 AND type = 'step'"), 10);
}

TEST_F(AnnotatedTest, AdviceFitsHowItWasRecorded) {
  ASSERT_EQ(watch({"--leveled=no"}, {example("annotate"), "20"}).status, 0);
  EXPECT_EQ(scalar("t.xsp", "SELECT value FROM evaluation WHERE key = 'leveled'"), "no");
  write_file("layers.py",
             "import xsp\n"
             "with xsp.span('a', level='layer'):\n"
             "    pass\n");
  ASSERT_EQ(watch({"--leveled"}, {kPython, "layers.py"}).status, 0);
  EXPECT_NE(why_not("model_information").find("open a span at level model around each"),
            std::string::npos);
}

}  // namespace
}  // namespace xsp::integration
