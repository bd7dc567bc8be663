// Tests xsp profile, on models whose every answer is known.
#include <signal.h>
#include <sys/mount.h>

#include <fstream>

#include "tests/integration/run_xsp.h"
#include "tests/turns.h"

namespace xsp::integration {
namespace {

namespace fs = std::filesystem;

// Returns the options of every profile here: it has an end, and does not measure the machine's
// ceilings.
std::vector<std::string> profile(const std::string& model,
                                 const std::vector<std::string>& more = {},
                                 const std::string& max_time = "2") {
  std::vector<std::string> arguments = {"profile",    model, "--max-time", max_time,
                                        "--no-peaks", "-o",  "out.xsp"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

class ProfileTest : public XspTest {};

TEST_F(ProfileTest, InferencesCanBeLimited) {
  const std::vector<std::string> limits = {"--iterations", "24", "--width", "0"};
  const Finished finished = run(profile("fake:layers=3,us=500,wait=sleep", limits, "60"));
  ASSERT_EQ(finished.status, 0) << finished.err;
  for (const auto& one : query("out.xsp", "SELECT iterations, stopped_by FROM run")) {
    EXPECT_EQ(one["iterations"], 24);
    EXPECT_EQ(one["stopped_by"], "iterations");
  }
  // Blocks are as long as they can be if there are enough for an interval.
  EXPECT_EQ(scalar("out.xsp", "SELECT count(*) FROM block WHERE run_id = 1"), 6);
}

TEST_F(ProfileTest, AFrameworkWithoutCudaGraphsIsNamedWithTheOptionThatWasTyped) {
  const Finished finished = run(profile("fake:layers=1", {"--cuda-graph"}));
  EXPECT_EQ(finished.status, 4);
  EXPECT_EQ(
      finished.err.substr(finished.err.find("error: ")),
      "error: --cuda-graph (--option cuda_graph=1): fake has no such option: leave it out, or "
      "choose a --framework that has it, as torch\n");
}

TEST_F(ProfileTest, EachLevelHasItsOwnRunAndLayersLastAsLongAsTheySleep) {
  const Finished finished = run(profile("fake:layers=3,us=2000,wait=sleep"));
  ASSERT_EQ(finished.status, 0) << finished.err;
  const auto runs = query("out.xsp", "SELECT levels, status, iterations FROM run ORDER BY run_id");
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0]["levels"], "model");
  EXPECT_EQ(runs[1]["levels"], "model,layer");
  EXPECT_EQ(runs[0]["status"], "ok");
  EXPECT_EQ(scalar("out.xsp", "SELECT count(*) FROM span WHERE run_id = 1 AND level <> 2"), 0);
  // Each iteration has three layers, in order, inside their model span; none can last less than its
  // sleep.
  const auto layers =
      query("out.xsp",
            "SELECT name, min(ordinal) AS first, max(ordinal) AS last, min(duration_ns) AS least, "
            "count(*) AS count FROM span WHERE run_id = 2 AND level = 3 AND iteration >= 0 "
            "GROUP BY name ORDER BY name");
  ASSERT_EQ(layers.size(), 3u);
  for (size_t i = 0; i < layers.size(); ++i) {
    EXPECT_EQ(layers[i]["name"], "layer_" + std::to_string(i));
    EXPECT_EQ(layers[i]["first"], i);
    EXPECT_EQ(layers[i]["last"], i);
    EXPECT_GE(layers[i]["least"], 2'000'000);
    EXPECT_EQ(layers[i]["count"], runs[1]["iterations"]);
  }
  EXPECT_EQ(scalar("out.xsp",
                   "SELECT count(*) FROM span l LEFT JOIN span m ON m.run_id = l.run_id AND "
                   "m.span_id = l.parent_id WHERE l.level = 3 AND (m.level IS DISTINCT FROM 2 OR "
                   "l.start_ns < m.start_ns OR l.start_ns + l.duration_ns > m.start_ns + "
                   "m.duration_ns)"),
            0);
}

TEST_F(ProfileTest, WarmUpIsNegativeAndBlocksHoldTheRest) {
  ASSERT_EQ(run(profile("fake:layers=2,us=500,wait=sleep")).status, 0);
  const auto rows = query(
      "out.xsp",
      "SELECT r.run_id, warmup_iterations, iterations, "
      "(SELECT count(*) FROM span s WHERE s.run_id = r.run_id AND level = 2 AND iteration < 0) AS "
      "before, (SELECT count(*) FROM span s WHERE s.run_id = r.run_id AND level = 2 AND iteration "
      ">= 0) AS measured, (SELECT sum(iterations)::BIGINT FROM block b WHERE b.run_id = r.run_id) "
      "AS in_blocks FROM run r");
  ASSERT_EQ(rows.size(), 2u);
  for (const auto& row : rows) {
    EXPECT_GE(row["warmup_iterations"], 1);
    EXPECT_EQ(row["before"], row["warmup_iterations"]);
    EXPECT_EQ(row["measured"], row["iterations"]);
    EXPECT_EQ(row["in_blocks"], row["iterations"]);
  }
  // The runs took turns: between two blocks of one run there is a block of the other.
  EXPECT_EQ(scalar("out.xsp",
                   "SELECT count(*) FROM (SELECT run_id, lag(run_id, 2) OVER (ORDER BY start_ns) "
                   "AS earlier, lag(run_id) OVER (ORDER BY start_ns) AS last FROM block) WHERE "
                   "run_id = earlier AND run_id = last"),
            0);
}

TEST_F(ProfileTest, TheEvaluationSaysWhatWasMeasuredOnWhat) {
  ASSERT_EQ(run(profile("fake:layers=1,us=100", {"--seed", "7", "--levels", "all"})).status, 0);
  const auto rows = query("out.xsp", "FROM evaluation");
  std::map<std::string, std::string> facts;
  for (const auto& row : rows) facts[row["key"]] = row["value"];
  EXPECT_EQ(facts["model"], "fake");
  EXPECT_EQ(facts["framework"], "fake");
  EXPECT_EQ(facts["seed"], "7");
  EXPECT_NE(facts["command"].find("--seed 7"), std::string::npos);
  for (const char* key : {"xsp_version", "started_at", "ended_at", "device", "machine.kernel",
                          "machine.memory_bytes", "machine.load_1min_before", "input.x"}) {
    EXPECT_FALSE(facts[key].empty()) << key;
  }
  EXPECT_FALSE(facts["not_measured.application"].empty());
  EXPECT_EQ(facts["input_values.x"], "random in (-1, 1), seed 7");
  EXPECT_EQ(facts.count("not_measured.batch"), 0u);
}

TEST_F(ProfileTest, TheLoadOfOtherProgramsIsAShareOfTheUsableProcessors) {
  ASSERT_EQ(run(profile("fake:layers=1,us=100", {"--width", "0"})).status, 0);
  for (const char* key : {"other_load_pct", "other_load_max_pct", "stolen_pct"}) {
    EXPECT_EQ(
        scalar("out.xsp", std::string("SELECT count(*) FROM evaluation WHERE key = 'machine.") +
                              key + "' AND CAST(value AS DOUBLE) BETWEEN 0 AND 100"),
        1)
        << key;
  }
}

TEST_F(ProfileTest, WhatTheModelWasGivenIsSaid) {
  const Finished finished = run(profile("fake:layers=1,us=100", {"--input", "x==0.5"}));
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_NE(finished.out.find("inputs: x float32[1,8] (0.5, as given)\n"), std::string::npos)
      << finished.out;
  EXPECT_EQ(scalar("out.xsp", "SELECT value FROM evaluation WHERE key = 'input_values.x'"),
            "0.5, as given");
}

TEST_F(ProfileTest, PeaksOfTheMachineAreKept) {
  ASSERT_EQ(run({"profile", "fake:layers=1,us=100", "--max-time", "1", "-o", "out.xsp"}).status, 0);
  EXPECT_EQ(scalar("out.xsp",
                   "SELECT count(*) FROM peak WHERE device = 'cpu' AND value > 0 AND "
                   "source = 'measured' AND name IN ('fp32_flops_per_s', "
                   "'fp64_flops_per_s', 'memory_bytes_per_s')"),
            3);
}

TEST_F(ProfileTest, ResultsAreJsonForPrograms) {
  const Finished finished =
      run(profile("fake:layers=1,us=1000,wait=sleep", {"--format", "json", "--quiet"}));
  ASSERT_EQ(finished.status, 0) << finished.err;
  const auto rows = nlohmann::json::parse(finished.out, nullptr, false);
  ASSERT_TRUE(rows.is_array());
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["levels"], "model");
  EXPECT_GE(rows[0]["latency_ns"], 1e6);
  EXPECT_TRUE(rows[0]["overhead_ns"].is_null());
  EXPECT_TRUE(rows[1]["overhead_ns"].is_number());
}

TEST_F(ProfileTest, ResultsAreThoseOfTheAnalyses) {
  const Finished finished =
      run({"profile", "fake:layers=2,us=300,wait=sleep", "--max-time", "2", "--width", "0",
           "--block-time", "0.02", "--no-peaks", "--quiet", "--format", "json", "-o", "out.xsp"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  const auto rows = nlohmann::json::parse(finished.out, nullptr, false);
  ASSERT_EQ(rows.size(), 2u);
  const auto told = [this](const std::string& analysis) {
    return nlohmann::json::parse(run({"analyze", analysis, "out.xsp", "--format", "json"}).out,
                                 nullptr, false)[0];
  };
  const auto model = told("model_information");
  const auto overhead = told("overhead_by_level");
  ASSERT_TRUE(model["low_ns"].is_number()) << model;
  ASSERT_TRUE(overhead["low_ns"].is_number()) << overhead;
  const auto expect_same = [](const nlohmann::json& row, const std::string& name,
                              const nlohmann::json& analysis, const std::string& estimate) {
    EXPECT_TRUE(equal_but_for_round_off(row[name + "_ns"], analysis[estimate])) << name;
    EXPECT_TRUE(equal_but_for_round_off(row[name + "_low_ns"], analysis["low_ns"])) << name;
    EXPECT_TRUE(equal_but_for_round_off(row[name + "_high_ns"], analysis["high_ns"])) << name;
  };
  expect_same(rows[0], "latency", model, "latency_ns");
  expect_same(rows[1], "overhead", overhead, "overhead_ns");
  EXPECT_TRUE(equal_but_for_round_off(rows[1]["latency_ns"], overhead["with_ns"]));
  EXPECT_EQ(rows[0]["iterations"], model["iterations"]);
}

TEST_F(ProfileTest, ACrashCostsItsRunAlone) {
  const Finished finished =
      run(profile("fake:layers=2,us=300,fault=crash@30,when=layer,wait=sleep"));
  EXPECT_EQ(finished.status, 1);
  EXPECT_EQ(error_lines(finished), 1) << finished.err;
  EXPECT_NE(finished.err.find("killed by signal 11 (segmentation fault)"), std::string::npos)
      << finished.err;
  const auto runs = query("out.xsp", "FROM run ORDER BY run_id");
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0]["status"], "ok");
  EXPECT_GT(runs[0]["iterations"], 6);
  EXPECT_EQ(runs[1]["status"], "failed");
  EXPECT_EQ(runs[1]["stopped_by"], "failure");
  const std::string reason = runs[1]["reason"];
  EXPECT_NE(reason.find("signal 11"), std::string::npos) << reason;
}

struct Fault {
  const char* kind;
  const char* said;
};
class FaultTest : public XspTest, public testing::WithParamInterface<Fault> {};
INSTANTIATE_TEST_SUITE_P(, FaultTest,
                         testing::Values(Fault{"kill", "signal 9"}, Fault{"exit", "status 3"},
                                         Fault{"fail", "as its description asks"},
                                         Fault{"memory", "memory"},
                                         Fault{"hang", "no answer within"}),
                         [](const auto& one) { return one.param.kind; });

TEST_P(FaultTest, IsReportedWithItsCauseAndKeepsTheOtherRun) {
  const std::string model =
      std::string("fake:layers=1,us=300,wait=sleep,when=layer,fault=") + GetParam().kind + "@20";
  // Only what hangs waits for its limit; the start of the others counts against it, too.
  const bool hangs = std::string(GetParam().kind) == "hang";
  const Finished finished = run(profile(model, {"--timeout", hangs ? "10" : "120"}));
  EXPECT_EQ(finished.status, 1);
  EXPECT_NE(finished.err.find(GetParam().said), std::string::npos) << finished.err;
  EXPECT_EQ(scalar("out.xsp", "SELECT string_agg(status, ',' ORDER BY run_id) FROM run"),
            "ok,failed");
}

TEST_F(ProfileTest, AFaultOfEveryRunIsAnErrorAndLeavesNoFile) {
  const Finished finished = run(profile("fake:layers=1,fault=crash@open"));
  EXPECT_EQ(finished.status, 1);
  EXPECT_EQ(error_lines(finished), 1) << finished.err;
  EXPECT_EQ(files(), std::vector<std::string>{"tmp"});
}

TEST_F(ProfileTest, ABatchThatFailsKeepsTheOtherBatches) {
  const Finished finished =
      run(profile("fake:layers=1,us=500,wait=sleep,fault=memory@0,above=2", {"--batch", "1,4,2"}));
  EXPECT_EQ(finished.status, 1);
  const auto runs = query("out.xsp", "SELECT batch, levels, status FROM run ORDER BY run_id");
  ASSERT_EQ(runs.size(), 6u);
  for (const auto& row : runs) {
    EXPECT_EQ(row["status"], row["batch"] == 4 ? "failed" : "ok") << row;
  }
  EXPECT_EQ(runs[2]["batch"], 4);
}

TEST_F(ProfileTest, CtrlCKeepsWhatWasMeasured) {
  unsigned wait_us = 750'000;
  in_turns([&] {
    wait_us *= 2;  // until both runs have measured something, which takes longer on a busy machine
    RunOptions options;
    options.watch = [&](const std::string&, int pid) {
      // Once the second worker's trace exists, layers are about to be measured.
      std::error_code gone;  // xsp changes the folder meanwhile
      for (const auto& entry : fs::recursive_directory_iterator(folder / "tmp", gone)) {
        if (entry.path().filename() != "2.xtrace" || entry.file_size(gone) == 0) continue;
        ::usleep(wait_us);
        ::kill(pid, SIGINT);
        return true;
      }
      return false;
    };
    const Finished finished = run({"profile", "fake:layers=2,us=2000,wait=sleep", "--max-time",
                                   "60", "--width", "0", "--no-peaks", "-o", "out.xsp"},
                                  options);
    EXPECT_EQ(finished.status, 1) << finished.err;
    EXPECT_EQ(error_lines(finished), 1) << finished.err;
    EXPECT_NE(finished.err.find("interrupted"), std::string::npos);
    EXPECT_EQ(scalar("out.xsp", "SELECT string_agg(DISTINCT status) FROM run"), "interrupted");
    EXPECT_GT(scalar("out.xsp", "SELECT min(iterations) FROM run"), 0);
    EXPECT_GT(scalar("out.xsp", "SELECT count(*) FROM span WHERE level = 3 AND iteration >= 0"), 0);
  });
}

TEST_F(ProfileTest, CtrlCBeforeAnythingWasMeasuredSaysSo) {
  RunOptions options;
  options.watch = [](const std::string& err, int pid) {
    if (err.find("opening") == std::string::npos) return false;
    ::kill(pid, SIGTERM);
    return true;
  };
  const Finished finished = run(profile("fake:layers=1,fault=hang@open"), options);
  EXPECT_EQ(finished.status, 1);
  EXPECT_EQ(error_lines(finished), 1) << finished.err;
  EXPECT_EQ(files(), std::vector<std::string>{"tmp"});
}

TEST_F(ProfileTest, AFileThatMayNotGrowLeavesTheOldOneAsItWas) {
  ASSERT_EQ(run(profile("fake:layers=1,us=1000,wait=sleep")).status, 0);
  const auto old = scalar("out.xsp", "SELECT value FROM evaluation WHERE key = 'started_at'");
  RunOptions options;
  options.file_bytes_max = 64 * 1024;
  const Finished finished = run(profile("fake:layers=1,us=1000,wait=sleep"), options);
  EXPECT_EQ(finished.status, 1) << finished.err;
  EXPECT_EQ(error_lines(finished), 1) << finished.err;
  EXPECT_EQ(scalar("out.xsp", "SELECT value FROM evaluation WHERE key = 'started_at'"), old);
  EXPECT_EQ(files(), (std::vector<std::string>{"out.xsp", "tmp"}));
}

TEST_F(ProfileTest, AFullDiskLosesNothingThatWasMeasured) {
  const fs::path small = folder / "small";
  fs::create_directory(small);
  if (::mount("none", small.c_str(), "tmpfs", 0, "size=1500k") != 0) {
    GTEST_SKIP() << "no privilege to mount a small file system";
  }
  // The file fills while the model is measured.
  RunOptions options;
  options.watch = [&small](const std::string& err, int) {
    if (err.find("model,layer") == std::string::npos) return false;
    std::ofstream fill(small / "fill");
    const std::string block(4096, 'x');
    while (fill.write(block.data(), 4096).flush()) {
    }
    return true;
  };
  const Finished finished = run(
      {"profile", "fake:layers=200,us=10", "--max-time", "2", "--no-peaks", "-o", "small/out.xsp"},
      options);
  EXPECT_EQ(finished.status, 1) << finished.err;
  EXPECT_EQ(error_lines(finished), 1) << finished.err;
  const size_t at = finished.err.find((folder / "tmp/xsp-rescued").string());
  EXPECT_EQ(::umount(small.c_str()), 0);
  ASSERT_NE(at, std::string::npos) << finished.err;
  const std::string path = finished.err.substr(at, finished.err.find(".xsp", at) + 4 - at);
  EXPECT_EQ(scalar(path, "SELECT count(*) FROM run WHERE status = 'ok'"), 2);
  fs::remove_all(fs::path(path).parent_path());
}

// The path is below a file, in folders that do not exist: no privilege makes it writable.
TEST_F(ProfileTest, AnOutputThatCannotBeWrittenIsRefusedBeforeMeasuring) {
  std::ofstream(folder / "file") << "x";
  for (const char* path : {"file/out.xsp", "absent/out.xsp", "/proc/out.xsp", "/dev/full", "tmp"}) {
    const Finished finished =
        run({"profile", "fake:layers=1,us=100,fault=hang@open", "-o", path, "--no-peaks"});
    EXPECT_NE(finished.status, 0) << path;
    EXPECT_EQ(error_lines(finished), 1) << finished.err;
    EXPECT_EQ(finished.err.find("opening"), std::string::npos) << finished.err;
  }
}

TEST_F(ProfileTest, AnOnnxFileIsProfiledByItsEndingAtEachBatchSize) {
  const auto findings =
      nlohmann::json::parse(run({"doctor", "--format", "json"}).out, nullptr, false);
  for (const auto& finding : findings) {
    if (finding["name"] == "onnxruntime" && finding["status"] != "available") {
      GTEST_SKIP() << "ONNX Runtime: " << finding["reason"];
    }
  }
  ASSERT_EQ(run({"models", "build", "mobilenet_v2", "-o", "m.onnx"}).status, 0);
  const Finished finished = run({"profile", "m.onnx", "--batch", "1,2", "--max-time", "6",
                                 "--no-peaks", "--counters", "cpu_time_ns", "-o", "out.xsp"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(scalar("out.xsp",
                   "SELECT string_agg(batch || ':' || levels || ':' || "
                   "coalesce(counters, ''), ' ' ORDER BY run_id) FROM run"),
            "1:model: 1:model,layer: 1:model:cpu_time_ns "
            "2:model: 2:model,layer: 2:model:cpu_time_ns");
  // Every inference has the same number of layers, each with its shapes, and the file's own layers
  // beside them.
  EXPECT_EQ(scalar("out.xsp",
                   "SELECT count(DISTINCT layers) FROM (SELECT count(*) AS layers FROM "
                   "span WHERE level = 3 AND depth = 0 GROUP BY run_id, iteration)"),
            1);
  EXPECT_EQ(scalar("out.xsp",
                   "SELECT count(*) FROM span s WHERE level = 3 AND NOT EXISTS (FROM "
                   "site_attribute a WHERE a.run_id = s.run_id AND a.site_id = "
                   "s.site_id AND key = 'output_shapes')"),
            0);
  EXPECT_GT(scalar("out.xsp", "SELECT count(*) FROM model_layer WHERE type = 'Conv'"), 50);
  EXPECT_GT(scalar("out.xsp", "SELECT min(value) FROM span_counter WHERE name = 'cpu_time_ns'"), 0);
  EXPECT_EQ(scalar("out.xsp", "SELECT value FROM evaluation WHERE key = 'framework'"),
            "onnxruntime");
}

struct Bad {
  const char* name;
  std::vector<std::string> arguments;
  int status;
};
class BadInputTest : public XspTest, public testing::WithParamInterface<Bad> {};
INSTANTIATE_TEST_SUITE_P(
    , BadInputTest,
    testing::Values(Bad{"no_model", {}, 2}, Bad{"unknown_option", {"fake:layers=1", "--bogus"}, 2},
                    Bad{"levels", {"fake:layers=1", "--levels", "layers"}, 2},
                    Bad{"batch", {"fake:layers=1", "--batch", "0"}, 2},
                    Bad{"batches", {"fake:layers=1", "--batch", "1,,2"}, 2},
                    Bad{"time", {"fake:layers=1", "--max-time", "-1"}, 2},
                    Bad{"framework_option", {"fake:layers=1", "--option", "novalue"}, 2},
                    Bad{"input", {"fake:layers=1", "--input", "z=1x8"}, 2},
                    Bad{"shape", {"fake:layers=1", "--input", "x=1x9"}, 2},
                    Bad{"value", {"fake:layers=1", "--input", "x==one"}, 2},
                    Bad{"large_value", {"fake:layers=1", "--input", "x==1e39"}, 2},
                    Bad{"description", {"fake:layers=x"}, 1}, Bad{"missing_file", {"no.onnx"}, 1},
                    Bad{"empty_file", {"empty.onnx"}, 1}, Bad{"noise", {"noise.onnx"}, 1},
                    Bad{"framework", {"fake:layers=1", "--framework", "absent"}, 4},
                    Bad{"ending", {"model.unknown"}, 4},
                    Bad{"device", {"fake:layers=1", "--device", "cuda"}, 4}),
    [](const auto& one) { return one.param.name; });

TEST_P(BadInputTest, IsOneClearLineWithItsExitStatus) {
  std::ofstream(folder / "empty.onnx");
  std::ofstream(folder / "noise.onnx") << "this is no model at all, and nothing like one";
  std::ofstream(folder / "model.unknown") << "x";
  std::vector<std::string> arguments = {"profile"};
  for (const std::string& one : GetParam().arguments) arguments.push_back(one);
  const Finished finished = run(arguments);
  EXPECT_EQ(finished.status, GetParam().status) << finished.err;
  EXPECT_EQ(error_lines(finished), 1) << finished.err;
  EXPECT_TRUE(finished.out.empty()) << finished.out;
  for (const std::string& name : files()) EXPECT_FALSE(name.ends_with(".xsp")) << name;
}

}  // namespace
}  // namespace xsp::integration
