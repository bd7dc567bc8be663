// Tests xsp run and xsp profile of programs that use an OpenCL device: PoCL's, which is the CPU.
#include "tests/integration/run_xsp.h"
#include "tests/places.h"

namespace xsp::integration {
namespace {

class RunOpenclTest : public WatchedTest {
 protected:
  void SetUp() override {
    WatchedTest::SetUp();
    if (IsSkipped()) return;
#ifndef XSP_HAS_OPENCL
    GTEST_SKIP() << "skipped: no OpenCL headers and loader: apt-get install opencl-headers";
#else
    program_ = places::build("tests/opencl_program");
    RunOptions alone;
    alone.program = program_;
    if (run({}, alone).status == 77) GTEST_SKIP() << "skipped: no OpenCL device";
#endif
  }
  std::string program_;
};

TEST_F(RunOpenclTest, CallsAndWhatTheDeviceDidAreSpansThatBelongTogether) {
  const Finished finished =
      run({"run", "--leveled=no", "--levels", "all", "-o", "t.xsp", "--", program_, "3"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(finished.out, "ok\n");
  const auto rows = query("t.xsp",
                          "SELECT k.name || '|' || k.type || '|' || k.device || '|' || p.name || "
                          "'|' || count(*) || '|' || count(DISTINCT k.stream) AS line FROM span k "
                          "JOIN span p ON p.span_id = k.parent_id AND p.correlation_id = "
                          "k.correlation_id WHERE k.level = 6 GROUP BY k.name, k.type, k.device, "
                          "p.name ORDER BY 1");
  std::vector<std::string> lines;
  for (const auto& row : rows) lines.push_back(row["line"]);
  EXPECT_EQ(lines, (std::vector<std::string>{"memcpy DtoH|memcpy|0|clEnqueueReadBuffer|1|1",
                                             "memcpy HtoD|memcpy|0|clEnqueueWriteBuffer|1|1",
                                             "twice|kernel|0|clEnqueueNDRangeKernel|6|2"}));
  EXPECT_EQ(scalar("t.xsp", "SELECT count(*) FROM span WHERE name = 'clFinish'"), 6);
  EXPECT_EQ(scalar("t.xsp", "SELECT min(device) FROM run"), "opencl:0");
  EXPECT_EQ(scalar("t.xsp", "SELECT DISTINCT value FROM attribute WHERE key = 'global_size'"),
            "[4096]");
  EXPECT_EQ(scalar("t.xsp", "SELECT max(value) FROM counter WHERE name = 'bytes'"), 16384);
  EXPECT_EQ(scalar("t.xsp", "SELECT count(*) FROM loss"), 0);
}

// No kernel begins before the call that put it into its queue.
TEST_F(RunOpenclTest, TheDevicesClockIsBroughtToTheHosts) {
  const Finished finished =
      run({"run", "--leveled=no", "--levels", "all", "-o", "t.xsp", "--", program_, "20"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(scalar("t.xsp",
                   "SELECT count(*) FROM span k JOIN span a ON a.correlation_id = k.correlation_id "
                   "AND a.level = 5 WHERE k.level = 6 AND k.start_ns < a.start_ns - 1000000"),
            0);
}

TEST_F(RunOpenclTest, WithoutItsLevelsTheProgramIsLeftAlone) {
  const Finished finished = run({"run", "--levels", "model", "-o", "t.xsp", "--", "env"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(finished.out.find("OPENCL_LAYERS"), std::string::npos);
}

// OpenCV takes a device that is no GPU only on request.
TEST_F(RunOpenclTest, AModelsKernelsBelongToItsLayers) {
  RunOptions options;
  options.environment = {{"OPENCV_OPENCL_DEVICE", ":CPU:"},
                         {"OPENCV_DNN_OPENCL_ALLOW_ALL_DEVICES", "1"}};
  const Finished finished =
      run({"profile", places::source("tests/data/caffe/tiny.prototxt"), "--option", "target=opencl",
           "--levels", "model,layer,api,kernel", "--max-time", "1", "--no-peaks", "-o", "t.xsp"},
          options);
  if (finished.err.find("finds none") != std::string::npos) {
    GTEST_SKIP() << "skipped: " << finished.err;
  }
  ASSERT_EQ(finished.status, 0) << finished.err;
  const auto rows = query("t.xsp",
                          "SELECT coalesce(l.name, 'none') || ' ' || p.name || ' ' || "
                          "count(DISTINCT k.name) AS line FROM span k JOIN span p ON p.run_id = "
                          "k.run_id AND p.span_id = k.parent_id AND p.level = 5 LEFT JOIN span l "
                          "ON l.run_id = k.run_id AND l.span_id = k.layer_id WHERE k.level = 6 AND "
                          "k.iteration >= 0 GROUP BY l.name, p.name ORDER BY 1");
  std::vector<std::string> lines;
  for (const auto& row : rows) lines.push_back(row["line"]);
  // The commands outside of layers read the results.
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "conv1 clEnqueueNDRangeKernel 1", "fc clEnqueueNDRangeKernel 3",
                       "none clEnqueueReadBuffer 1", "pool clEnqueueNDRangeKernel 1",
                       "prob clEnqueueNDRangeKernel 4"}));
  EXPECT_EQ(scalar("t.xsp", "SELECT count(*) FROM span WHERE level = 6 AND iteration >= 0"),
            scalar("t.xsp", "SELECT 10 * iterations FROM run WHERE levels LIKE '%kernel'"));
  EXPECT_EQ(scalar("t.xsp", "SELECT DISTINCT device FROM run"), "opencl:0");
  EXPECT_EQ(scalar("t.xsp", "SELECT count(*) FROM loss"), 0);
}

}  // namespace
}  // namespace xsp::integration
