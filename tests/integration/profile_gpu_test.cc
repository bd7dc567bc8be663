// Tests xsp profile on a GPU, as far as possible without one: a fake driver and a fake NVML answer
// as tests want, and a model claims to run there.
#include "tests/integration/run_xsp.h"
#include "tests/places.h"

namespace xsp::integration {
namespace {

class ProfileGpuTest : public XspTest {
 protected:
  Finished profile(const std::string& settings, const std::vector<std::string>& more,
                   std::map<std::string, std::string> environment = {}) const {
    std::vector<std::string> arguments = {
        "profile", "fake:wait=sleep,cuda," + settings, "--max-time", "3", "-o", "out.xsp"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    RunOptions options;
    options.environment = std::move(environment);
    options.environment["LD_LIBRARY_PATH"] = places::build("tests/fake_gpu");
    return run(arguments, options);
  }
};

TEST_F(ProfileGpuTest, TheFileSaysWhatTheGpuIsAndHowItWas) {
  const Finished finished =
      profile("layers=2,us=300", {"--device", "cuda", "--price", "2.5", "--levels", "model"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  std::map<std::string, std::string> facts;
  for (const auto& row : query("out.xsp", "FROM evaluation")) facts[row["key"]] = row["value"];
  EXPECT_EQ(facts["device"], "cuda:0");
  EXPECT_EQ(facts["gpu.0.name"], "Fake GPU");
  EXPECT_EQ(facts["gpu.0.compute_capability"], "8.0");
  EXPECT_EQ(facts["gpu.0.sm_count"], "10");
  EXPECT_EQ(facts["gpu.0.uuid"], "GPU-fake");
  EXPECT_EQ(facts["gpu.driver_version"], "580.1");
  EXPECT_EQ(facts["gpu.cuda_version"], "13.0");
  EXPECT_EQ(facts["gpu.price_per_hour"], "2.5");
  // 10 multiprocessors at 1 GHz do 128 flops in fp32 per clock each; a memory of 1024 bits at 1 GHz
  // transfers twice per clock.
  const auto peak = [this](const char* name) {
    return scalar("out.xsp", std::string("SELECT value FROM peak WHERE device = 'cuda:0' AND "
                                         "source = 'attribute' AND name = '") +
                                 name + "'");
  };
  EXPECT_EQ(peak("fp32_flops_per_s"), 1.28e12);
  EXPECT_EQ(peak("fp16_tensor_flops_per_s"), 20.48e12);
  EXPECT_EQ(peak("memory_bytes_per_s"), 256e9);
  // A device that computes nothing has no measured ceilings, which is reported.
  EXPECT_EQ(scalar("out.xsp", "SELECT count(*) FROM peak WHERE source = 'measured'"), 0);
  EXPECT_NE(finished.err.find("CUDA_ERROR_INVALID_PTX"), std::string::npos) << finished.err;
  EXPECT_EQ(scalar("out.xsp",
                   "SELECT count(*) FROM block WHERE gpu_sm_clock_mhz IS DISTINCT FROM 900 OR "
                   "gpu_temperature_c IS DISTINCT FROM 40 OR gpu_throttle_reasons IS DISTINCT FROM "
                   "''"),
            0);
}

TEST_F(ProfileGpuTest, EnergyHasAStretchOfItsOwnWithSamplesOverIt) {
  ASSERT_EQ(profile("layers=2,us=300", {"--device", "cuda", "--no-peaks"}).status, 0);
  EXPECT_EQ(scalar("out.xsp",
                   "SELECT string_agg(levels || ':' || coalesce(counters, ''), ' ' "
                   "ORDER BY run_id) FROM run"),
            "model: model,layer: model:energy");
  EXPECT_EQ(scalar("out.xsp", "SELECT count(*) FROM block WHERE run_id = 3"), 1);
  const auto rows =
      query("out.xsp",
            "SELECT count(*) AS samples, sum(duration_ns)::BIGINT AS ns, "
            "min(device) AS device, min(level) AS level, "
            "sum(e.value) AS joules, min(p.value) AS watts FROM span s "
            "JOIN span_counter e ON e.run_id = s.run_id AND e.span_id = s.span_id AND "
            "e.name = 'energy_j' "
            "JOIN span_counter p ON p.run_id = s.run_id AND p.span_id = s.span_id AND "
            "p.name = 'power_w' WHERE s.run_id = 3 AND s.name = 'sample' AND "
            "s.type = 'nvml'");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_GT(rows[0]["samples"], 20) << rows[0];
  EXPECT_EQ(rows[0]["device"], 0);
  EXPECT_EQ(rows[0]["level"], 1);
  EXPECT_EQ(rows[0]["watts"], 100);
  // The power is 100 W at all times: the samples' ends are off by no more than a poll or a late
  // wake-up.
  const double watts = rows[0]["joules"].get<double>() / (rows[0]["ns"].get<double>() / 1e9);
  EXPECT_NEAR(watts, 100, 10);
  // Samples follow each other without a gap, and cover the stretch of measured inferences except
  // for one period at each end.
  EXPECT_EQ(scalar("out.xsp",
                   "SELECT count(*) FROM (SELECT start_ns, lag(start_ns + duration_ns) OVER (ORDER "
                   "BY start_ns) AS before FROM span WHERE run_id = 3 AND name = 'sample') WHERE "
                   "abs(start_ns - before) > 1000"),
            0);
  EXPECT_GT(scalar("out.xsp",
                   "SELECT count(*) FROM span m WHERE run_id = 3 AND level = 2 AND iteration >= 0 "
                   "AND EXISTS (FROM span s WHERE s.run_id = 3 AND s.name = 'sample' AND "
                   "s.start_ns <= m.start_ns AND s.start_ns + s.duration_ns > m.start_ns)"),
            100);
}

TEST_F(ProfileGpuTest, AClockThatIsHeldDownIsSaid) {
  const Finished finished = profile("layers=1,us=300", {"--device", "cuda", "--no-peaks"},
                                    {{"FAKE_NVML_THROTTLED", "1"}});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_NE(finished.err.find("the GPU held its clock down"), std::string::npos) << finished.err;
  EXPECT_EQ(scalar("out.xsp", "SELECT DISTINCT gpu_throttle_reasons FROM block"), "power cap");
  EXPECT_GT(scalar("out.xsp",
                   "SELECT count(*) FROM evaluation WHERE key LIKE 'warning.%' AND value "
                   "LIKE '%power cap%'"),
            0);
  // The reference is the clock that its administrator has set, not the highest that it may have.
  const Finished findings = run({"findings", "out.xsp"});
  EXPECT_NE(findings.out.find("900 MHz of 950"), std::string::npos) << findings.out;
}

TEST_F(ProfileGpuTest, WhatTheGpuDoesNotTellIsNotMeasured) {
  const Finished finished =
      profile("layers=1,us=300", {"--device", "cuda", "--no-peaks", "--counters", "energy"},
              {{"FAKE_NVML_NO_ENERGY", "1"}});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(scalar("out.xsp", "SELECT count(*) FROM run WHERE counters IS NOT NULL"), 0);
  EXPECT_NE(scalar("out.xsp", "SELECT value FROM evaluation WHERE key = 'not_measured.energy'"),
            nullptr);
}

TEST_F(ProfileGpuTest, WorkersThatDoNotFitTogetherTakeTurns) {
  const Finished finished =
      profile("layers=1,us=300", {"--device", "cuda", "--no-peaks"}, {{"FAKE_NVML_GROWS", "1"}});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_NE(finished.err.find("one after another"), std::string::npos) << finished.err;
  EXPECT_EQ(scalar("out.xsp", "SELECT string_agg(DISTINCT status) FROM run"), "ok");
}

TEST_F(ProfileGpuTest, ABatchThatDoesNotFitCostsItselfAndOneLine) {
  const Finished finished =
      profile("layers=1,us=300,fault=memory@0,above=2",
              {"--device", "cuda", "--no-peaks", "--batch", "1,4", "--counters", "none"});
  EXPECT_EQ(finished.status, 1);
  EXPECT_EQ(scalar("out.xsp",
                   "SELECT string_agg(batch || ':' || status, ' ' ORDER BY run_id) FROM "
                   "run"),
            "1:ok 1:ok 4:failed 4:failed");
  const size_t first = finished.err.find("warning: not measured");
  ASSERT_NE(first, std::string::npos) << finished.err;
  EXPECT_EQ(finished.err.find("warning: not measured", first + 1), std::string::npos)
      << finished.err;
}

TEST_F(ProfileGpuTest, TheDefaultDeviceIsOneThatTheFrameworkHas) {
  ASSERT_EQ(profile("layers=1,us=300", {"--no-peaks"}).status, 0);
  EXPECT_EQ(scalar("out.xsp", "SELECT DISTINCT device FROM run"), "cpu");
}

TEST_F(ProfileGpuTest, MistakesAndAbsencesAreOneLine) {
  const auto refused = [this](const std::vector<std::string>& more, int status, const char* said,
                              std::map<std::string, std::string> environment = {}) {
    const Finished finished = profile("layers=1", more, std::move(environment));
    EXPECT_EQ(finished.status, status) << finished.err;
    EXPECT_EQ(error_lines(finished), 1) << finished.err;
    EXPECT_NE(finished.err.find(said), std::string::npos) << finished.err;
  };
  refused({"--device", "gpu"}, 2, "is not a device");
  refused({"--device", "cuda:1"}, 4, "the last one is cuda:0");
  refused({"--device", "cuda", "--counters", "enery"}, 2, "did you mean 'energy'");
  refused({"--device", "cuda", "--replay", "often"}, 2, "replay");
  refused({"--device", "cuda"}, 4, "no GPU", {{"FAKE_GPU_NONE", "1"}});
}

TEST_F(ProfileGpuTest, TheDoctorAsksTheGpu) {
  RunOptions options;
  options.environment["LD_LIBRARY_PATH"] = places::build("tests/fake_gpu");
  const auto findings =
      nlohmann::json::parse(run({"doctor", "--format", "json"}, options).out, nullptr, false);
  std::map<std::string, nlohmann::json> by_name;
  for (const auto& finding : findings) by_name[finding["name"]] = finding;
  EXPECT_EQ(by_name["GPU"]["status"], "available");
  EXPECT_EQ(by_name["GPU"]["reason"],
            "1: Fake GPU, compute capability 8.0, driver 580.1, CUDA driver interface 13.0");
  EXPECT_EQ(by_name["nvml"]["status"], "available") << by_name["nvml"];
  EXPECT_EQ(by_name["ceilings"]["status"], "available") << by_name["ceilings"];
  // Without CUPTI there are no kernels; the reason must not blame the GPU.
  EXPECT_NE(by_name["kernel"]["reason"], "") << by_name["kernel"];
}

}  // namespace
}  // namespace xsp::integration
