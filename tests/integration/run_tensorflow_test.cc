// Tests xsp run: the work of TensorFlow and Keras from PyPI in a watched program, on the CPU.
#include "tests/integration/watched_python.h"

namespace xsp::integration {
namespace {

class RunTensorFlowTest : public WatchedPythonTest {
 protected:
  RunTensorFlowTest() : WatchedPythonTest({"tensorflow_python"}) {}
  Finished watch(const std::string& program, const std::vector<std::string>& options = {}) const {
    return watch_python(
        "import numpy as np, tensorflow as tf\n"
        "keras = tf.keras\n"
        "def net():\n"
        "    return keras.Sequential([keras.Input((16, 16, 3)),\n"
        "        keras.layers.Conv2D(8, 3, activation='relu', name='first'),\n"
        "        keras.layers.Flatten(), keras.layers.Dense(10, name='last')], name='tiny')\n"
        "x = np.ones((4, 16, 16, 3), 'float32')\n" +
            program,
        options);
  }
  // How many calls of the model have a layer of this type.
  nlohmann::json calls_with(const std::string& type) const {
    return scalar(
        "t.xsp",
        "SELECT count(DISTINCT model_id) FROM span WHERE level = 3 AND type LIKE '" + type + "'");
  }
};

TEST_F(RunTensorFlowTest, TheOperationsOfAFunctionAreLayersWithShapes) {
  const Finished finished = watch(
      "model = tf.function(net())\n"
      "answers = {model(x).numpy().tobytes() for _ in range(20)}\n"
      "print(len(answers))\n",
      {"--leveled=no"});
  EXPECT_EQ(finished.out, "1\n");
  EXPECT_EQ(scalar("t.xsp", "SELECT count(*) FROM span WHERE level = 2"), 20);
  EXPECT_EQ(calls_with("%Conv2D"), 20);
  EXPECT_EQ(calls_with("%MatMul"), 20);
  EXPECT_EQ(scalar("t.xsp", "SELECT count(*) FROM span WHERE level = 3 AND model_id IS NULL"), 0);
  EXPECT_EQ(scalar("t.xsp", "SELECT count(*) FROM loss WHERE count > 0 AND source <> 'stacks'"), 0);
  EXPECT_EQ(query("t.xsp",
                  "SELECT DISTINCT a.key, a.value FROM span s JOIN attribute a USING (run_id, "
                  "span_id) WHERE level = 3 AND type LIKE '%MatMul' AND key LIKE '%put_shapes' "
                  "ORDER BY key"),
            nlohmann::json::parse(R"([{"key":"input_shapes","value":"[[4,1568],[1568,10],[10]]"},)"
                                  R"({"key":"output_shapes","value":"[[4,10]]"}])"));
  // Layers lie in their call, and take no longer than it.
  EXPECT_EQ(scalar("t.xsp",
                   "SELECT count(*) FROM (SELECT m.span_id, m.duration_ns AS whole, sum(l.self_ns) "
                   "AS parts FROM span m JOIN span l ON l.run_id = m.run_id AND l.model_id = "
                   "m.span_id WHERE m.level = 2 AND l.level = 3 AND l.thread = m.thread GROUP BY "
                   "ALL) WHERE parts > whole"),
            0);
}

TEST_F(RunTensorFlowTest, KerasPredictsAndTrainsInStepsOfItsModel) {
  watch(
      "model = net()\n"
      "model.compile('sgd', 'mse')\n"
      "model.predict(np.concatenate([x] * 8), batch_size=4, verbose=0)\n"
      "model.fit(np.concatenate([x] * 8), np.ones((32, 10), 'float32'), batch_size=4, verbose=0)\n",
      {"--leveled=no"});
  EXPECT_EQ(
      query("t.xsp",
            "SELECT name, count(*) AS n FROM span WHERE level = 2 GROUP BY name ORDER BY name"),
      nlohmann::json::parse(R"([{"name":"tiny.predict","n":8},{"name":"tiny.train","n":8}])"));
  EXPECT_EQ(calls_with("%Conv2D"), 16);
  EXPECT_EQ(calls_with("%Conv2DBackpropFilter%"), 8);
}

TEST_F(RunTensorFlowTest, AModelThatIsCalledHasItsKerasLayersAndTheirOperations) {
  watch(
      "model = net()\n"
      "for _ in range(6): model(x)\n",
      {"--leveled=no"});
  EXPECT_EQ(scalar("t.xsp", "SELECT count(*) FROM span WHERE level = 2 AND name = 'tiny'"), 6);
  EXPECT_EQ(scalar("t.xsp",
                   "SELECT count(*) FROM span WHERE level = 3 AND name = 'first' AND type = "
                   "'Conv2D'"),
            6);
  EXPECT_EQ(scalar("t.xsp",
                   "SELECT count(*) FROM span o JOIN span l ON l.run_id = o.run_id AND l.span_id = "
                   "o.parent_id WHERE o.level = 3 AND o.name = 'Conv2D' AND l.name = 'first'"),
            6);
}

// Calls without layers run without the profiler.
TEST_F(RunTensorFlowTest, LevelsTakeTurnsAndASavedModelIsAModel) {
  watch(
      "model = net()\n"
      "model.export('saved', verbose=False)\n"
      "serve = tf.saved_model.load('saved').signatures['serving_default']\n"
      "name = list(serve.structured_input_signature[1])[0]\n"
      "for _ in range(200): serve(**{name: tf.constant(x)})\n");
  const auto runs = query("t.xsp",
                          "SELECT r.levels, count(DISTINCT s.iteration) AS models, count(DISTINCT "
                          "l.iteration) AS layered FROM run r JOIN span s ON s.run_id = r.run_id "
                          "AND s.level = 2 LEFT JOIN span l ON l.run_id = r.run_id AND l.level = 3 "
                          "GROUP BY r.levels ORDER BY r.levels");
  ASSERT_EQ(runs.size(), 2u) << runs;
  EXPECT_EQ(runs[0]["layered"], 0) << runs;
  EXPECT_EQ(runs[1]["layered"], runs[1]["models"]) << runs;
  EXPECT_EQ(scalar("t.xsp",
                   "SELECT count(*) FROM span WHERE level = 3 AND name LIKE '%PartitionedCall%'"),
            0);
}

TEST_F(RunTensorFlowTest, AProgramThatProfilesItselfHasItsProfile) {
  const Finished finished = watch(
      "import glob\n"
      "model = tf.function(net())\n"
      "for _ in range(5): model(x)\n"
      "tf.profiler.experimental.start('profile')\n"
      "for _ in range(5): model(x)\n"
      "tf.profiler.experimental.stop()\n"
      "print(len(glob.glob('profile/**/*.xplane.pb', recursive=True)))\n",
      {"--leveled=no"});
  EXPECT_EQ(finished.out, "1\n");
  EXPECT_NE(finished.err.find("the program uses TensorFlow's profiler itself"), std::string::npos)
      << finished.err;
  EXPECT_EQ(scalar("t.xsp", "SELECT count(*) FROM span WHERE level = 2"), 10);
  EXPECT_EQ(calls_with("%Conv2D"), 5);
}

TEST_F(RunTensorFlowTest, ThreadsHaveTheirOwnLayers) {
  watch(
      "import threading\n"
      "model = tf.function(net())\n"
      "model(x)\n"
      "def work():\n"
      "    for _ in range(10): model(x)\n"
      "threads = [threading.Thread(target=work) for _ in range(2)]\n"
      "for one in threads: one.start()\n"
      "for one in threads: one.join()\n",
      {"--leveled=no"});
  EXPECT_EQ(scalar("t.xsp", "SELECT count(*) FROM span WHERE level = 2"), 21);
  EXPECT_GE(calls_with("%Conv2D"), 18);
  EXPECT_EQ(scalar("t.xsp",
                   "SELECT count(*) FROM span l JOIN span m ON m.run_id = l.run_id AND m.span_id = "
                   "l.model_id WHERE l.level = 3 AND (l.start_ns < m.start_ns OR l.start_ns + "
                   "l.duration_ns > m.start_ns + m.duration_ns)"),
            0);
}

}  // namespace
}  // namespace xsp::integration
