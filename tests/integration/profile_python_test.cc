// Tests xsp profile on models that Python code makes: with the PyTorch that Debian packages, and
// with the TensorFlow and the JAX of PyPI.

#include <regex>

#include "tests/integration/packages.h"
#include "tests/integration/run_xsp.h"

namespace xsp::integration {
namespace {

// A long path ends a line of the output, wherever that falls.
std::string on_one_line(const std::string& text) {
  return std::regex_replace(text, std::regex("\\s+"), " ");
}

class ProfilePythonTest : public XspTest {
 protected:
  void SetUp() override {
    if (std::system("/usr/bin/python3 -c 'import torch' 2>/dev/null") != 0) {
      GTEST_SKIP() << kPython << " has no torch";
    }
    XspTest::SetUp();
    write_file("net.py",
               "import torch\n"
               "def build():\n"
               "    net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU())\n"
               "    return net, torch.full((3, 6), 0.5)\n"
               "def lazy():\n"
               "    return torch.nn.LazyLinear(8), torch.ones(3, 6)\n"
               "def exported():\n"
               "    class Exported(torch.nn.Linear):\n"
               "        def eval(self): raise NotImplementedError\n"
               "    return Exported(6, 8), torch.ones(3, 6)\n"
               "def number():\n"
               "    return 3\n"
               "def bare():\n"
               "    return torch.nn.Linear(6, 8)\n");
  }
  Finished profile(const std::string& model, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"profile", model, "--max-time", "1", "--no-peaks"};
    words.insert(words.end(), more.begin(), more.end());
    RunOptions options;
    options.environment = {{"XSP_PYTHON", kPython}, {"XDG_CACHE_HOME", folder / "cache"}};
    return run(words, options);
  }
};

TEST_F(ProfilePythonTest, AFunctionsModuleIsMeasuredOnItsExampleInputs) {
  const Finished finished = profile("net.py:build");
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(scalar("net.xsp", "SELECT value FROM evaluation WHERE key = 'framework'"), "torch");
  EXPECT_EQ(scalar("net.xsp", "SELECT min(batch) FROM run"), 3);
  EXPECT_EQ(
      scalar("net.xsp", "SELECT count(*) FROM span WHERE level = 3 AND name LIKE '%linear%'") > 0,
      true);
  // The line is broken where its paths end.
  EXPECT_NE(on_one_line(finished.out).find("float32[3,6] (of"), std::string::npos) << finished.out;
}

// A lazy module gets its parameters at its first call; modules of torch.export have no eval().
TEST_F(ProfilePythonTest, LazyAndExportedModulesAreMeasured) {
  for (const char* model : {"net.py:lazy", "net.py:exported"}) {
    const Finished finished = profile(model);
    ASSERT_EQ(finished.status, 0) << finished.err;
    EXPECT_EQ(scalar("net.xsp", "SELECT min(batch) FROM run"), 3) << model;
  }
}

TEST_F(ProfilePythonTest, ItsBatchMayBeAnother) {
  ASSERT_EQ(profile("net.py:build", {"--batch", "1,2"}).status, 0);
  EXPECT_EQ(scalar("net.xsp",
                   "SELECT string_agg(DISTINCT batch::VARCHAR, ',' ORDER BY "
                   "batch::VARCHAR) FROM run"),
            "1,2");
}

// A trace may hold the size of its example's batch. It would then compute something else for
// another, which shows in the shapes or the values of any of its outputs.
TEST_F(ProfilePythonTest, ABatchThatTheTraceFixedStaysAsItIs) {
  write_file(
      "fixed.py",
      "import torch\n"
      "class Net(torch.nn.Module):\n"
      "    def __init__(self, rest):\n"
      "        super().__init__()\n"
      "        self.rest = rest\n"
      "    def forward(self, x):\n"
      "        return x + 1, (self.rest(x, int(x.shape[0])),)\n"
      "def shape():\n"
      "    return Net(lambda x, n: x.reshape(n, -1)), torch.ones(4, 3, 4)\n"
      "def value():\n"
      "    return Net(lambda x, n: x.sum() / n), torch.ones(4, 3, 4)\n"
      "def random():\n"
      "    return Net(lambda x, n: torch.nn.functional.dropout(x, 0.5, True)), torch.ones(4, 3)\n");
  for (const char* model : {"fixed.py:shape", "fixed.py:value"}) {
    const Finished finished = profile(model, {"--batch", "8"});
    EXPECT_EQ(finished.status, 2) << model << '\n' << finished.out;
    EXPECT_EQ(error_lines(finished), 1) << finished.err;
    EXPECT_NE(finished.err.find("batch 8: the model's is fixed at 4"), std::string::npos)
        << finished.err;
  }
  // Values that the module does not repeat itself are not compared.
  const Finished finished = profile("fixed.py:random", {"--batch", "8"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(scalar("fixed.xsp", "SELECT min(batch) FROM run"), 8);
}

TEST_F(ProfilePythonTest, AMistakeIsOneLineThatSaysWhatToDo) {
  for (const auto& [model, said] : std::map<std::string, std::string>{
           {"net.py:nothing",
            "has no function nothing: name one of build, lazy, exported, number, bare"},
           {"net.py:number", "returns int, no torch.nn.Module"},
           {"net.py:bare", "return the module and a tuple of tensors"},
           {"torchvision/none", "torchvision"}}) {
    const Finished finished = profile(model);
    EXPECT_NE(finished.status, 0) << model;
    EXPECT_EQ(error_lines(finished), 1) << finished.err;
    EXPECT_NE(finished.err.find(said), std::string::npos) << finished.err;
    EXPECT_EQ(files(), (std::vector<std::string>{"cache", "net.py", "tmp"})) << model;
  }
}

// Returns the folder of a Python package of the tests; empty: it is not there.
std::string packages(const std::string& name) {
  const std::string folder = packages_of(name);
  return std::filesystem::exists(folder) ? folder : "";
}

class ProfileFunctionTest : public XspTest {
 protected:
  // Profiles with a Python that has one framework.
  Finished profile(const std::string& model, const std::string& framework,
                   const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"profile", model, "--max-time", "1", "--no-peaks"};
    words.insert(words.end(), more.begin(), more.end());
    RunOptions options;
    options.environment = {{"XSP_PYTHON", kPython}, {"PYTHONPATH", framework}};
    // Without a cache, the TensorFlow that runs the model is the one that made it.
    if (framework != packages("jax")) options.environment["XDG_CACHE_HOME"] = folder / "cache";
    return run(words, options);
  }
};

TEST_F(ProfileFunctionTest, AFunctionOfTensorFlowOrKerasIsMeasured) {
  const std::string tensorflow = packages("tensorflow_python");
  if (tensorflow.empty()) GTEST_SKIP() << "no TensorFlow for Python: tools/deps.sh";
  write_file("net.py",
             "import tensorflow as tf\n"
             "def build():\n"
             "    return tf.keras.Sequential([tf.keras.layers.Input((6,)),\n"
             "                                tf.keras.layers.Dense(8, activation='relu')])\n"
             "w = tf.Variable(tf.ones((6, 8)))\n"
             "@tf.function\n"
             "def product(x, y):\n"
             "    return tf.nn.relu(tf.matmul(x, w)) + y\n"
             "def pair():\n"
             "    return product, (tf.ones((3, 6)), tf.ones((3, 8)))\n"
             "def number():\n"
             "    return 3\n"
             "def bare():\n"
             "    return tf.keras.Sequential([tf.keras.layers.Dense(8)])\n");
  ASSERT_EQ(profile("net.py:build", tensorflow, {"--batch", "1,2"}).status, 0);
  EXPECT_EQ(scalar("net.xsp", "SELECT value FROM evaluation WHERE key = 'framework'"),
            "tensorflow");
  EXPECT_EQ(scalar("net.xsp", "SELECT count(DISTINCT batch) FROM run"), 2);
  const Finished finished = profile("net.py:pair", tensorflow);
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(scalar("net.xsp", "SELECT min(batch) FROM run"), 3);
  EXPECT_GT(scalar("net.xsp", "SELECT count(*) FROM span WHERE level = 3 AND type LIKE '%MatMul'"),
            0);
  EXPECT_NE(on_one_line(finished.out).find("float32[3,6] (of"), std::string::npos) << finished.out;
  for (const auto& [model, said] : std::map<std::string, std::string>{
           {"net.py:number", "returns int: return a Keras model or a tf.function"},
           {"net.py:bare", "returns no example inputs"}}) {
    const Finished wrong = profile(model, tensorflow);
    // Nothing that TensorFlow logs is printed with it.
    EXPECT_EQ(wrong.err.rfind("error: net.py:", 0), 0u) << wrong.err;
    EXPECT_EQ(std::count(wrong.err.begin(), wrong.err.end(), '\n'), 1) << wrong.err;
    EXPECT_NE(wrong.err.find(said), std::string::npos) << wrong.err;
  }
}

TEST_F(ProfileFunctionTest, AFunctionOfJaxIsMeasured) {
  const std::string jax = packages("jax");
  if (jax.empty()) GTEST_SKIP() << "no JAX for Python: tools/deps.sh";
  if (packages("pjrt").empty()) GTEST_SKIP() << "no XLA: tools/deps.sh";
  write_file("net.py",
             "import jax, jax.numpy as jnp\n"
             "@jax.jit\n"
             "def net(w, x, unused):\n"
             "    return jnp.tanh(x @ w['up'])\n"
             "def build():\n"
             "    return net, ({'up': jnp.ones((6, 8))}, jnp.full((3, 6), 0.5), jnp.ones(2))\n"
             "def bare():\n"
             "    return net\n");
  const Finished finished = profile("net.py:build", jax);
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(scalar("net.xsp", "SELECT value FROM evaluation WHERE key = 'framework'"), "pjrt");
  EXPECT_NE(on_one_line(finished.out).find("float32[3,6] (of"), std::string::npos) << finished.out;
  EXPECT_NE(finished.out.find("An inference takes"), std::string::npos) << finished.out;
  EXPECT_NE(finished.err.find("has no profiler: xsp run of a program in JAX has them"),
            std::string::npos)
      << finished.err;
  const Finished wrong = profile("net.py:bare", jax);
  EXPECT_EQ(error_lines(wrong), 1) << wrong.err;
  EXPECT_NE(wrong.err.find("returns no example inputs: return a JAX function"), std::string::npos)
      << wrong.err;
}

// If a file uses one framework, the error asks for that one only.
TEST_F(ProfileFunctionTest, WhatIsMissingIsTheFrameworkThatTheFileUses) {
  for (const auto& [import, said] : std::map<std::string, std::string>{
           {"import jax", "JAX is not installed in /usr/bin/python3: pip install jax"},
           {"from tensorflow import keras",
            "TensorFlow is not installed in /usr/bin/python3: pip install tensorflow-cpu"}}) {
    write_file("net.py", import + "\ndef build():\n    return 1\n");
    const Finished finished = profile("net.py:build", "");
    EXPECT_EQ(finished.status, 4);
    EXPECT_EQ(finished.err, "error: " + said + "\n");
  }
}

}  // namespace
}  // namespace xsp::integration
