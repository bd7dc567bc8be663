// Tests xsp run: the work of ONNX Runtime from PyPI in a watched program, on the CPU.
#include <filesystem>

#include "tests/integration/watched_python.h"

namespace xsp::integration {
namespace {

class RunOnnxRuntimeTest : public WatchedPythonTest {
 protected:
  RunOnnxRuntimeTest() : WatchedPythonTest({"onnxruntime_python", "jax"}) {}
  void SetUp() override {
    WatchedPythonTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(run({"models", "build", "mobilenet_v2", "-o", "net.onnx"}).status, 0);
  }
  void TearDown() override {
    std::filesystem::remove(folder / "tmp" / ".ses");  // ONNX Runtime's own
    WatchedPythonTest::TearDown();
  }
  Finished watch(const std::string& program, const std::vector<std::string>& options = {}) const {
    return watch_python(
        "import gc, numpy, onnxruntime\n"
        "x = {'input': numpy.ones((1, 3, 224, 224), 'float32')}\n"
        "cpu = ['CPUExecutionProvider']\n" +
            program,
        options);
  }
  // How many inferences have layers, the fewest and the most layers of these, and how many layers
  // are outside of a model.
  nlohmann::json layers() const {
    return query("t.xsp",
                 "WITH i AS (SELECT run_id, iteration, count(*) AS n FROM span WHERE level = 3 "
                 "GROUP BY ALL) SELECT count(*) AS inferences, min(n) AS least, max(n) AS most, "
                 "(SELECT count(*) FROM span WHERE level = 3 AND model_id IS NULL) AS outside "
                 "FROM i")[0];
  }
};

TEST_F(RunOnnxRuntimeTest, TheNodesOfASessionAreLayersAndTheAnswersStayTheSame) {
  const std::string program =
      "session = onnxruntime.InferenceSession('net.onnx', providers=cpu)\n"
      "answers = {session.run(None, x)[0].tobytes() for _ in range(12)}\n"
      "print(len(answers))\n";
  EXPECT_EQ(watch(program, {"--leveled=no"}).out, "1\n");
  const auto found = layers();
  EXPECT_EQ(found["inferences"], 12);
  EXPECT_EQ(found["least"], found["most"]);
  EXPECT_GT(found["least"], 50);
  EXPECT_EQ(found["outside"], 0);
  EXPECT_EQ(scalar("t.xsp", "SELECT count(*) FROM loss WHERE count > 0"), 0);
  // 2 x 32 x 112 x 112 x 27 flops: the first convolution, by its shapes.
  EXPECT_EQ(
      query("t.xsp",
            "SELECT type, input_shapes FROM (SELECT s.type, a.value AS input_shapes, "
            "s.start_ns FROM span s JOIN attribute a USING (run_id, span_id) WHERE "
            "s.level = 3 AND a.key = 'input_shapes') ORDER BY start_ns LIMIT 1")[0],
      (nlohmann::json{{"type", "Conv"}, {"input_shapes", "[[1,3,224,224],[32,3,3,3],[32]]"}}));
}

// Calls without layers run in the program's own session, without the profiler.
TEST_F(RunOnnxRuntimeTest, LevelsTakeTurnsAndEachLayerIsInItsCall) {
  watch(
      "session = onnxruntime.InferenceSession('net.onnx', providers=cpu)\n"
      "for _ in range(120): session.run(None, x)\n");
  const auto runs = query("t.xsp",
                          "SELECT r.levels, count(DISTINCT s.iteration) AS models, count(DISTINCT "
                          "l.iteration) AS layered FROM run r JOIN span s ON s.run_id = r.run_id "
                          "AND s.level = 2 LEFT JOIN span l ON l.run_id = r.run_id AND l.level = 3 "
                          "GROUP BY r.levels ORDER BY r.levels");
  ASSERT_EQ(runs.size(), 2u) << runs;
  EXPECT_EQ(runs[0]["layered"], 0) << runs;
  EXPECT_EQ(runs[1]["layered"], runs[1]["models"]) << runs;
  EXPECT_EQ(layers()["outside"], 0);
}

TEST_F(RunOnnxRuntimeTest, SessionsThatEndAndThreadsLoseNoLayers) {
  watch(
      "import threading\n"
      "def work():\n"
      "    session = onnxruntime.InferenceSession('net.onnx', providers=cpu)\n"
      "    for _ in range(4): session.run(None, x)\n"
      "work(); gc.collect()\n"
      "threads = [threading.Thread(target=work) for _ in range(2)]\n"
      "for one in threads: one.start()\n"
      "for one in threads: one.join()\n",
      {"--leveled=no"});
  EXPECT_EQ(layers()["inferences"], 12);
  EXPECT_EQ(layers()["least"], layers()["most"]);
  EXPECT_EQ(layers()["outside"], 0);
}

TEST_F(RunOnnxRuntimeTest, EachBlockThatAProgramRecordsHasItsOwnLayers) {
  record_python(
      "import numpy, onnxruntime, xsp\n"
      "x = {'input': numpy.ones((1, 3, 224, 224), 'float32')}\n"
      "session = onnxruntime.InferenceSession('net.onnx', providers=['CPUExecutionProvider'])\n"
      "for name in ('t.xsp', 'u.xsp'):\n"
      "    with xsp.profile(name):\n"
      "        for _ in range(4): session.run(None, x)\n");
  for (const char* file : {"t.xsp", "u.xsp"}) {
    const auto found = query(file,
                             "SELECT count(DISTINCT model_id) AS models, count(*) AS layers, "
                             "count(*) FILTER (model_id IS NULL) AS outside FROM span WHERE "
                             "level = 3")[0];
    EXPECT_EQ(found["models"], 4) << file;
    EXPECT_GT(found["layers"], 4 * 50) << file;
    EXPECT_EQ(found["outside"], 0) << file;
  }
}

TEST_F(RunOnnxRuntimeTest, ASessionThatHasNoTwinSaysWhy) {
  const Finished finished = watch(
      "options = onnxruntime.SessionOptions()\n"
      "options.execution_mode = onnxruntime.ExecutionMode.ORT_PARALLEL\n"
      "session = onnxruntime.InferenceSession('net.onnx', options, providers=cpu)\n"
      "print(len([session.run(None, x) for _ in range(3)]))\n",
      {"--leveled=no"});
  EXPECT_EQ(finished.out, "3\n");
  EXPECT_NE(finished.err.find("layers of onnxruntime are not recorded: the session runs nodes in "
                              "parallel"),
            std::string::npos)
      << finished.err;
}

}  // namespace
}  // namespace xsp::integration
