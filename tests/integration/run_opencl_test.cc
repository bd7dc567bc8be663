// xsp run of a program that uses an OpenCL device: PoCL's, which is the CPU.
#include "tests/integration/run_xsp.h"

namespace xsp::integration {
namespace {

class RunOpenclTest : public XspTest {
 protected:
  void SetUp() override {
    XspTest::SetUp();
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "a sanitizer's run-time library cannot be preloaded into other programs";
#endif
#ifndef XSP_OPENCL_PROGRAM
    GTEST_SKIP() << "skipped: no OpenCL headers and loader: apt-get install opencl-headers";
#else
    program_ = XSP_OPENCL_PROGRAM;
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

}  // namespace
}  // namespace xsp::integration
