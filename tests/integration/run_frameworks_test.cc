// Tests xsp run with frameworks of which it sees only whole models. Packages of their names stand
// for them.
#include <fstream>

#include "tests/integration/run_xsp.h"

namespace xsp::integration {
namespace {

class RunFrameworksTest : public WatchedTest {
 protected:
  Finished watched(const std::string& program) const {
    write_file("program.py", program);
    const Finished finished = run({"run", "-o", "t.xsp", "--", kPython, "program.py"});
    EXPECT_EQ(finished.status, 0) << finished.err;
    EXPECT_EQ(finished.err.find("is not watched"), std::string::npos) << finished.err;
    return finished;
  }
  std::string watch(const std::string& program) const { return watched(program).out; }
  nlohmann::json models() const {
    return query("t.xsp",
                 "SELECT name, type, level, count(*) AS calls FROM span WHERE level IN (2, 3) "
                 "GROUP BY ALL ORDER BY level, name");
  }
};

TEST_F(RunFrameworksTest, EveryRunOfAnOnnxRuntimeSessionIsAModel) {
  write_file("onnxruntime.py",
             "__version__ = '9.9'\n"
             "class InferenceSession:\n"
             "    def __init__(self, path): self._model_path = path\n"
             "    def run(self, output_names, input_feed, run_options=None):\n"
             "        if input_feed is None: raise ValueError('no feed')\n"
             "        return [sum(input_feed)]\n");
  const std::string out = watch(
      "import onnxruntime\n"
      "class Tensor:\n"
      "    shape = (3, 4)\n"
      "session = onnxruntime.InferenceSession('models/tiny.onnx')\n"
      "for _ in range(4): session.run(None, {1: Tensor()})\n"
      "print(session.run(None, input_feed={2: Tensor()}))\n"
      "try: session.run(None, None)\n"
      "except ValueError as error: print(error)\n");
  EXPECT_EQ(out, "[2]\nno feed\n");
  const auto all = models();
  ASSERT_EQ(all.size(), 1u) << all;
  EXPECT_EQ(all[0]["name"], "tiny");
  EXPECT_EQ(all[0]["type"], "InferenceSession");
  EXPECT_EQ(all[0]["calls"], 6);
  EXPECT_EQ(scalar("t.xsp", "SELECT framework || framework_version FROM run"), "onnxruntime9.9");
  // One run had no input, so the number per inference is not known for all.
  EXPECT_EQ(scalar("t.xsp", "SELECT batch FROM run"), nullptr);
}

TEST_F(RunFrameworksTest, EveryCallOfAFunctionThatJaxCompiledIsAModel) {
  write_file("jax.py",
             "__version__ = '9.9'\n"
             "class _Compiled:\n"
             "    def __init__(self, function): self.function, self.__name__ = function, 'net'\n"
             "    def __call__(self, *args): return self.function(*args)\n"
             "    def lower(self): return 'lowered'\n"
             "def jit(function=None, **options):\n"
             "    return _Compiled(function) if function else lambda f: _Compiled(f)\n");
  const std::string out = watch(
      "import functools, jax\n"
      "@jax.jit\n"
      "def inner(x): return x + 1\n"
      "class Net:\n"
      "    @functools.partial(jax.jit, static_argnums=0)\n"
      "    def apply(self, x): return inner(x) * 2\n"
      "net = Net()\n"
      "print([net.apply(i) for i in range(3)], inner(5), inner.lower(), jax.jit()(abs)(-1))\n");
  EXPECT_EQ(out, "[2, 4, 6] 6 lowered 1\n");
  const auto all = models();
  ASSERT_EQ(all.size(), 2u) << all;
  EXPECT_EQ(all[0]["type"], "jit");
  EXPECT_EQ(all[0]["calls"], 5);
  EXPECT_EQ(all[1]["level"], 3);  // a compiled function in another
  EXPECT_EQ(all[1]["calls"], 3);
  EXPECT_EQ(scalar("t.xsp", "SELECT framework FROM run"), "jax");
}

TEST_F(RunFrameworksTest, OfATorchThatIsNotUnderstoodModulesAreRecordedAndTheReasonIsKept) {
  write_file("torch.py",
             "import types\n"
             "__version__ = '1.4.0'\n"
             "class Module:\n"
             "    _parameters = {}\n"
             "    def named_modules(self):\n"
             "        yield '', self\n"
             "        yield from vars(self).items()\n"
             "    def __call__(self, x): return self.forward(x)\n"
             "class Optimizer:\n"
             "    def __init__(self): pass\n"
             "loss = types.SimpleNamespace(_Loss=type('_Loss', (Module,), {}))\n"
             "nn = types.SimpleNamespace(Module=Module, modules=types.SimpleNamespace(loss=loss))\n"
             "autograd = types.SimpleNamespace(backward=lambda: 1, grad=lambda: 2)\n"
             "optim = types.SimpleNamespace(Optimizer=Optimizer)\n"
             "_C = types.SimpleNamespace(_get_tracing_state=lambda: None)\n");
  const Finished finished = watched(
      "import torch\n"
      "class Inner(torch.nn.Module):\n"
      "    def forward(self, x): return x + 1\n"
      "class Net(torch.nn.Module):\n"
      "    def __init__(self): self.inner = Inner()\n"
      "    def forward(self, x): return self.inner(x)\n"
      "net = Net()\n"
      "print([net(i) for i in range(3)])\n");
  EXPECT_EQ(finished.out, "[1, 2, 3]\n");
  const std::string note =
      "operators of torch 1.4.0 are not recorded: how its observers are called is not known of "
      "this release";
  EXPECT_NE(finished.err.find(note), std::string::npos) << finished.err;
  // On a busy machine there are further notes.
  EXPECT_EQ(
      scalar("t.xsp",
             "SELECT count(*) FROM evaluation WHERE key LIKE 'note.%' AND value = '" + note + "'"),
      1);
  const auto all = models();
  ASSERT_EQ(all.size(), 2u) << all;
  EXPECT_EQ(all[0]["name"], "Net");
  EXPECT_EQ(all[1]["name"], "inner");
  EXPECT_EQ(all[1]["calls"], 3);
}

}  // namespace
}  // namespace xsp::integration
