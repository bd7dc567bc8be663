// Tests xsp evaluate --levels: a request is one tree, from its wait in the queue down to a call of
// a library, or to a kernel of a device.
#include "tests/integration/run_xsp.h"
#include "tests/places.h"

namespace xsp::integration {
namespace {

constexpr int kRequests = 20;

class EvaluateLevelsTest : public XspTest {
 protected:
  Finished evaluate(const std::string& model, std::vector<std::string> more,
                    std::map<std::string, std::string> environment = {}) const {
    more.insert(more.begin(),
                {"evaluate", places::source("tests/data/" + model), "--scenario", "server",
                 "--rate", "100", "--requests", std::to_string(kRequests), "-o", "a.xsp"});
    RunOptions options;
    options.environment = std::move(environment);
    return run(more, options);
  }

  // Returns the spans of a level that lie in a layer of the model's run for a request, in the run
  // with the most detail.
  nlohmann::json count_in_requests(int level) const {
    return scalar("a.xsp",
                  "SELECT count(*) FROM span s JOIN span l ON l.run_id = s.run_id AND l.span_id = "
                  "s.layer_id AND l.level = 3 JOIN span m ON m.run_id = s.run_id AND m.span_id = "
                  "s.model_id AND m.level = 2 JOIN span r ON r.run_id = s.run_id AND r.span_id = "
                  "m.parent_id AND r.type = 'request' WHERE s.run_id = (SELECT max(run_id) FROM "
                  "run) AND s.level = " +
                      std::to_string(level));
  }
};

TEST_F(EvaluateLevelsTest, ALibrarysCallBelongsToItsRequest) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the collector library_calls is preloaded, which a sanitizer's library prevents";
#endif
  if (run({"doctor"}).out.find("libtorch_cpu.so") == std::string::npos) {
    GTEST_SKIP() << "PyTorch is not installed";
  }
  const Finished finished =
      evaluate("torch/tiny.pt", {"--device", "cpu", "--levels", "model,layer,library,kernel"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_NE(finished.out.find("not measured: kernel: "), std::string::npos) << finished.out;
  EXPECT_EQ(
      scalar("a.xsp", "SELECT string_agg(levels || ':' || status, ' ' ORDER BY run_id) FROM run"),
      "model:ok model,layer:ok model,layer,library:ok");
  // Four convolutions and a matrix product are BLAS's calls in each run of the model.
  EXPECT_EQ(count_in_requests(4), 5 * kRequests);
  EXPECT_EQ(scalar("a.xsp", "SELECT count(*) FROM span WHERE level >= 3 AND parent_id IS NULL"), 0);
  // The run of the level model alone gives every figure.
  EXPECT_EQ(scalar("a.xsp",
                   "SELECT (SELECT avg(duration_ns) FROM span WHERE run_id = 1 AND type = "
                   "'request') - value FROM result WHERE metric = 'latency.mean'"),
            0);
  EXPECT_EQ(scalar("a.xsp", "SELECT count(*) FROM result WHERE run_id <> 1"), 0);
}

TEST_F(EvaluateLevelsTest, AKernelBelongsToItsRequest) {
  const Finished finished =
      evaluate("caffe/tiny.prototxt", {"--framework", "opencv_dnn", "--device", "opencl"},
               {{"OPENCV_OPENCL_DEVICE", ":CPU:"}, {"OPENCV_DNN_OPENCL_ALLOW_ALL_DEVICES", "1"}});
  if (finished.status == 4 || finished.err.find("finds none") != std::string::npos) {
    GTEST_SKIP() << "skipped: " << finished.err;
  }
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(scalar("a.xsp", "SELECT levels FROM run WHERE run_id = 4"), "model,layer,api,kernel");
  EXPECT_EQ(scalar("a.xsp", "SELECT count(*) FROM loss"), 0);
  // Each run of the model has the same kernels and copies, and those of the warm-up no request.
  const int in_requests = count_in_requests(6);
  EXPECT_GT(in_requests, 0);
  EXPECT_EQ(in_requests % kRequests, 0) << in_requests;
}

// ONNX Runtime keeps its profile in memory, so that it records some runs only.
TEST_F(EvaluateLevelsTest, LayersBeyondWhatTheFrameworkRecordsAreWarnedOf) {
  if (run({"doctor"}).out.find("onnxruntime.so") == std::string::npos) {
    GTEST_SKIP() << "ONNX Runtime is not installed";
  }
  const Finished finished =
      run({"evaluate", places::source("tests/data/onnx/tiny.onnx"), "--device", "cpu", "--scenario",
           "offline", "--requests", "40000", "-o", "a.xsp"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_NE(finished.err.find("warning: model,layer: the model ran 40003 times, and the layers of"),
            std::string::npos)
      << finished.err;
}

}  // namespace
}  // namespace xsp::integration
