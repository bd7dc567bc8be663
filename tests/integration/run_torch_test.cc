// Tests xsp run: the work of PyTorch in a watched program.
#include <fstream>

#include "tests/integration/run_xsp.h"

namespace xsp::integration {
namespace {

class RunTorchTest : public WatchedTest {
 protected:
  void SetUp() override {
    WatchedTest::SetUp();
    if (IsSkipped()) return;
    if (std::system("/usr/bin/python3 -c 'import torch' 2>/dev/null") != 0) {
      GTEST_SKIP() << kPython << " has no torch";
    }
  }
  // Runs a program and returns its output.
  std::string watch(const std::string& program,
                    const std::vector<std::string>& options = {}) const {
    std::ofstream(folder / "program.py") << program;
    std::vector<std::string> arguments = {"run", "--leveled=no", "-o", "t.xsp"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.insert(arguments.end(), {"--", kPython, "program.py"});
    const Finished finished = run(arguments);
    EXPECT_EQ(finished.status, 0) << finished.err;
    return finished.out;
  }
};

constexpr const char* kTraining =
    "import json, torch\n"
    "torch.manual_seed(0)\n"
    "class Net(torch.nn.Module):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.conv = torch.nn.Conv2d(3, 8, 3)\n"
    "        self.head = torch.nn.Linear(288, 5)\n"
    "    def forward(self, x):\n"
    "        return self.head(self.conv(x).relu().flatten(1))\n"
    "net = Net()\n"
    "optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)\n"
    "images = torch.utils.data.TensorDataset(torch.rand(12, 3, 8, 8), torch.arange(12) % 5)\n"
    "batches = torch.utils.data.DataLoader(images, batch_size=4)\n"
    "def train():\n"
    "    for x, y in batches:\n"
    "        optimizer.zero_grad()\n"
    "        loss = torch.nn.functional.cross_entropy(net(x), y)\n"
    "        loss.backward()\n"
    "        optimizer.step()\n";

// The facts are torch's settings at the model's first call; 32-bit convolutions may run in TF32 by
// default.
TEST_F(RunTorchTest, SettingsOfTorchAreFacts) {
  const std::string model =
      "net = torch.nn.Linear(4, 8)\n"
      "for _ in range(5): net(torch.ones(3, 4))\n";
  const auto setting = [&](const char* name) {
    return scalar("t.xsp",
                  "SELECT value FROM evaluation WHERE key = 'setting." + std::string(name) + "'");
  };
  watch("import torch\n" + model);
  EXPECT_EQ(setting("cudnn_tf32"), "true");
  EXPECT_EQ(setting("matmul_tf32"), "false");
  watch(
      "import torch\n"
      "torch.backends.cudnn.allow_tf32 = False\n"
      "torch.backends.cuda.matmul.allow_tf32 = True\n" +
      model);
  EXPECT_EQ(setting("cudnn_tf32"), "false");
  EXPECT_EQ(setting("matmul_tf32"), "true");
}

TEST_F(RunTorchTest, OperatorsAreLayersInsideTheirModule) {
  watch(
      "import torch\n"
      "net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU())\n"
      "for _ in range(5): net(torch.ones(3, 4))\n");
  const auto inside =
      query("t.xsp",
            "SELECT s.name, s.type, p.name AS parent, count(*) AS calls FROM span s "
            "JOIN span p ON p.span_id = s.parent_id "
            "WHERE s.type IN ('aten::linear', 'aten::addmm', 'aten::relu') "
            "GROUP BY ALL ORDER BY s.name");
  ASSERT_EQ(inside.size(), 3u) << inside;
  const char* const kNames[] = {"0/addmm", "0/linear", "1/relu"};
  const char* const kParents[] = {"0/linear", "0", "1"};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(inside[i]["name"], kNames[i]);
    EXPECT_EQ(inside[i]["parent"], kParents[i]);
    EXPECT_EQ(inside[i]["calls"], 5);
  }
  EXPECT_EQ(scalar("t.xsp", "SELECT value FROM audit_fact WHERE name = 'unattributed'"), 0);
  // The operators of the program itself belong to no model.
  EXPECT_EQ(scalar("t.xsp",
                   "SELECT count(*) FROM span WHERE name = 'aten::ones' AND model_id IS NULL "
                   "AND depth = 0"),
            5);
}

// The flops follow from the shapes, in each of many calls, although only some of them have their
// tensors examined. A module that is called twice, with other shapes, is two layers.
TEST_F(RunTorchTest, FlopsFollowFromTheShapesOfOperators) {
  watch(
      "import torch\n"
      "class Net(torch.nn.Module):\n"
      "    def __init__(self):\n"
      "        super().__init__()\n"
      "        self.conv = torch.nn.Conv2d(4, 8, 3, stride=2, groups=2)\n"
      "        self.act = torch.nn.GELU()\n"
      "        self.head = torch.nn.Linear(72, 5)\n"
      "    def forward(self, x):\n"
      "        x = self.act(self.head(self.act(self.conv(x)).flatten(1)))\n"
      "        return torch.cat([x, x], 1)\n"
      "net = Net().eval()\n"
      "with torch.no_grad():\n"
      "    for _ in range(70): net(torch.ones(2, 4, 8, 8))\n");
  const auto facts =
      query("t.xsp",
            "SELECT s.name, count(DISTINCT s.span_id) AS calls, "
            "  max(a.value) FILTER (a.key = 'input_shapes') AS i, "
            "  max(a.value) FILTER (a.key = 'output_shapes') AS o, "
            "  max(a.value) FILTER (a.key = 'input_dtypes') AS t "
            "FROM span s JOIN attribute a USING (span_id) WHERE s.iteration IS NOT NULL AND s.type "
            "IN ('aten::conv2d', 'aten::gelu', 'aten::linear', 'aten::cat') GROUP BY s.name "
            "ORDER BY s.name");
  const char* const kExpected[][4] = {
      {"act/gelu", "[[2,8,3,3]]", "[[2,8,3,3]]", "[\"float32\"]"},
      {"act/gelu#2", "[[2,5]]", "[[2,5]]", "[\"float32\"]"},
      {"cat", "[[2,5],[2,5]]", "[[2,10]]", "[\"float32\",\"float32\"]"},
      {"conv/conv2d", "[[2,4,8,8],[8,2,3,3],[8]]", "[[2,8,3,3]]",
       "[\"float32\",\"float32\",\"float32\"]"},
      {"head/linear", "[[2,72],[5,72],[5]]", "[[2,5]]", "[\"float32\",\"float32\",\"float32\"]"}};
  ASSERT_EQ(facts.size(), 5u) << facts;
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(facts[i]["name"], kExpected[i][0]);
    EXPECT_EQ(facts[i]["calls"], 70) << kExpected[i][0];
    EXPECT_EQ(facts[i]["i"], kExpected[i][1]);
    EXPECT_EQ(facts[i]["o"], kExpected[i][2]);
    EXPECT_EQ(facts[i]["t"], kExpected[i][3]);
  }
  const Finished analysed = run({"analyze", "layer_flops", "t.xsp", "--format", "json"});
  ASSERT_EQ(analysed.status, 0) << analysed.err;
  double flops = 0;
  const auto layers = nlohmann::json::parse(analysed.out);
  for (const auto& row : layers) {
    EXPECT_EQ(row["unknown"], nullptr) << row;
    if (!row["flops"].is_null()) flops += row["flops"].get<double>();
  }
  // The sum has a convolution of 3x3 over two of the four channels, a product, and 4 flops per
  // element of GELU.
  EXPECT_EQ(flops, 2 * 144 * 2 * 9 + 2 * 10 * 72 + 4 * (144 + 10)) << layers;
}

// The arguments of a call do not reveal the shapes inside it: the shapes are those that were seen,
// or not known.
TEST_F(RunTorchTest, ShapesThatNoArgumentTellsOfAreNotTakenFromOtherCalls) {
  watch(
      "import torch\n"
      "class Net(torch.nn.Module):\n"
      "    def __init__(self):\n"
      "        super().__init__()\n"
      "        self.kept = torch.ones(1, 4)\n"
      "    def forward(self, x):\n"
      "        self.kept = torch.cat([self.kept, x])\n"
      "        return torch.exp(self.kept)\n"
      "net = Net()\n"
      "for _ in range(20): net(torch.ones(1, 4))\n");
  // The first calls are examined: those with one, two, three rows and so on.
  EXPECT_EQ(
      scalar("t.xsp",
             "SELECT list(value ORDER BY start_ns)[1:3]::VARCHAR FROM span s JOIN attribute a "
             "ON a.span_id = s.span_id AND key = 'output_shapes' "
             "WHERE s.type = 'aten::exp' AND iteration IS NOT NULL"),
      "['[[2,4]]', '[[3,4]]', '[[4,4]]']");
  // No two calls have the same shape, whether it was seen or not.
  EXPECT_EQ(scalar("t.xsp",
                   "SELECT max(n) FROM (SELECT count(*) AS n FROM span s JOIN attribute a "
                   "ON a.span_id = s.span_id AND key = 'output_shapes' "
                   "WHERE s.type = 'aten::exp' AND iteration IS NOT NULL GROUP BY value)"),
            1);
}

// The text grows word by word: every call is new, but most of its computations are not.
TEST_F(RunTorchTest, CallsThatNeverRepeatKeepTheShapesThatStayTheSame) {
  watch(
      "import torch\n"
      "class Net(torch.nn.Module):\n"
      "    def __init__(self):\n"
      "        super().__init__()\n"
      "        self.fc = torch.nn.Linear(4, 4)\n"
      "    def forward(self, x, mask, is_wide):\n"
      "        return self.fc(x) + torch.exp(mask).sum()\n"
      "net = Net()\n"
      "with torch.no_grad():\n"
      "    for i in range(120): net(torch.ones(1, 4), torch.ones(i + 1), False)\n");
  const auto sites = [this](const std::string& type, const std::string& key) {
    return query("t.xsp",
                 "SELECT count(*) AS n, count(value) AS known, count(DISTINCT value) AS "
                 "shapes FROM span s LEFT JOIN site_attribute a ON a.run_id = s.run_id AND "
                 "a.site_id = s.site_id AND key = '" +
                     key + "' WHERE s.type = '" + type + "' AND iteration IS NOT NULL")[0];
  };
  const auto linear = sites("aten::linear", "output_shapes");
  EXPECT_EQ(linear["n"], 120);
  EXPECT_EQ(linear["known"], 120);
  EXPECT_EQ(linear["shapes"], 1);
  const auto grown = sites("aten::exp", "output_shapes");
  EXPECT_EQ(grown["n"], 120);
  EXPECT_GE(grown["shapes"], 30);
  EXPECT_LE(grown["shapes"], 32);
  EXPECT_LT(grown["known"], 40);  // the others have none, rather than another call's
  // Every call has the same number of layers, though there are many more of them.
  const auto layers = nlohmann::json::parse(
      run({"query", "t.xsp",
           "SELECT count(DISTINCT n) AS counts FROM (SELECT count(*) AS n FROM span "
           "WHERE level = 3 AND iteration IS NOT NULL GROUP BY iteration)",
           "--format", "json"})
          .out);
  EXPECT_EQ(layers[0]["counts"], 1);
}

TEST_F(RunTorchTest, PhasesOfATrainingAreSpansAndWhatRunsInThemBelongsToModules) {
  watch(std::string(kTraining) + "train()\n");
  const auto nodes = query("t.xsp",
                           "SELECT s.type, m.name AS module, m.type AS class, count(*) AS calls "
                           "FROM span s JOIN span m ON m.span_id = s.parent_id "
                           "JOIN attribute a ON a.span_id = m.span_id AND a.key = 'phase' "
                           "WHERE a.value = 'backward' AND m.type IN ('Conv2d', 'Linear', 'Net') "
                           "GROUP BY ALL ORDER BY s.type");
  ASSERT_EQ(nodes.size(), 5u) << nodes;
  const char* const kNodes[] = {"AddmmBackward0", "ConvolutionBackward0", "ReluBackward0",
                                "ReshapeAliasBackward0", "TBackward0"};
  const char* const kModules[] = {"head", "conv", "Net", "Net", "head"};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(nodes[i]["type"], kNodes[i]);
    EXPECT_EQ(nodes[i]["module"], kModules[i]);
    EXPECT_EQ(nodes[i]["calls"], 3);
  }
  // The operators that a node calls also belong to the node's module.
  EXPECT_EQ(scalar("t.xsp",
                   "SELECT list(DISTINCT name)::VARCHAR FROM span "
                   "WHERE type = 'aten::convolution_backward'"),
            "[conv/convolution_backward]");
  // These are the phases themselves.
  const auto phases =
      query("t.xsp",
            "SELECT s.name, a.value AS phase, count(*) AS calls FROM span s "
            "JOIN attribute a ON a.span_id = s.span_id AND a.key = 'phase' "
            "WHERE s.type = 'phase' AND a.value <> 'gc' GROUP BY ALL ORDER BY s.name");
  ASSERT_EQ(phases.size(), 3u) << phases;
  const char* const kNames[] = {"SGD.step", "backward", "next batch"};
  const char* const kPhases[] = {"optimizer", "backward", "data"};
  const int kCalls[] = {3, 3, 4};  // the last batch reports the end of data
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(phases[i]["name"], kNames[i]);
    EXPECT_EQ(phases[i]["phase"], kPhases[i]);
    EXPECT_EQ(phases[i]["calls"], kCalls[i]);
  }
  // Every operator of a phase states the phase, regardless of its caller.
  EXPECT_EQ(scalar("t.xsp",
                   "SELECT count(*) FROM span s JOIN span p ON p.type = 'phase' "
                   "  AND s.start_ns BETWEEN p.start_ns AND p.start_ns + p.duration_ns "
                   "JOIN attribute pa ON pa.span_id = p.span_id AND pa.key = 'phase' "
                   "LEFT JOIN attribute a ON a.span_id = s.span_id AND a.key = 'phase' "
                   "WHERE s.level = 3 AND a.value IS DISTINCT FROM pa.value"),
            0);
}

// Each thread numbers the nodes that it creates: both threads have the same numbers here, created
// before any is used.
TEST_F(RunTorchTest, ABackwardPassBelongsToWhatItsOwnThreadCalled) {
  watch(
      "import threading, torch\n"
      "class One(torch.nn.Linear): pass\n"
      "class Other(torch.nn.Linear): pass\n"
      "barrier = threading.Barrier(2)\n"
      "def train(kind):\n"
      "    net = kind(4, 4)\n"
      "    for _ in range(3):\n"
      "        result = net(torch.ones(2, 4)).sum()\n"
      "        barrier.wait()\n"
      "        result.backward()\n"
      "        barrier.wait()\n"
      "threads = [threading.Thread(target=train, args=(kind,)) for kind in (One, Other)]\n"
      "for thread in threads: thread.start()\n"
      "for thread in threads: thread.join()\n");
  const auto nodes =
      query("t.xsp",
            "SELECT m.type AS module, count(*) AS calls, count(DISTINCT s.thread) AS threads "
            "FROM span s JOIN span m ON m.span_id = s.parent_id "
            "WHERE s.type = 'AddmmBackward0' GROUP BY ALL ORDER BY module");
  ASSERT_EQ(nodes.size(), 2u) << nodes;
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(nodes[i]["module"], i == 0 ? "One" : "Other");
    EXPECT_EQ(nodes[i]["calls"], 3);
    EXPECT_EQ(nodes[i]["threads"], 1);
  }
}

TEST_F(RunTorchTest, OperatorsAreCountedAsTorchsOwnProfilerCountsThem) {
  const std::string out = watch(std::string(kTraining) +
                                "import xsp\n"
                                "train()\n"
                                "with xsp.span('measured'): train()\n"
                                "with torch.profiler.profile() as profiler: train()\n"
                                "counts = {}\n"
                                "for event in profiler.events():\n"
                                "    counts[event.name] = counts.get(event.name, 0) + 1\n"
                                "print(json.dumps(counts))\n");
  const auto expected = nlohmann::json::parse(out);
  const auto counted =
      query("t.xsp",
            "SELECT s.type, count(*) AS calls FROM span s JOIN span m ON m.name = 'measured' "
            "WHERE s.level = 3 AND s.start_ns BETWEEN m.start_ns AND m.start_ns + m.duration_ns "
            "AND s.type NOT IN ('Conv2d', 'Linear', 'Net') GROUP BY s.type");
  EXPECT_GT(expected.size(), 50u);
  EXPECT_EQ(counted.size(), expected.size());
  for (const auto& row : counted) {
    const std::string type = row["type"];
    EXPECT_EQ(row["calls"], expected.value(type, 0)) << type;
  }
}

TEST_F(RunTorchTest, TheBatchIsTheFirstDimensionOfTheModelsInput) {
  const std::string net =
      "import torch\n"
      "class Net(torch.nn.Module):\n"
      "    def forward(self, flag, inputs): return inputs['x'] * 2\n"
      "net = Net()\n";
  watch(net + "for _ in range(8): net(True, inputs={'x': torch.ones(3, 4)})\n");
  EXPECT_EQ(scalar("t.xsp", "SELECT batch FROM run"), 3);
  EXPECT_EQ(scalar("t.xsp", "SELECT count(*) FROM evaluation WHERE key = 'not_measured.batch'"), 0);
  watch(net + "for i in range(8): net(True, inputs={'x': torch.ones(1 + i % 2, 4)})\n");
  EXPECT_EQ(scalar("t.xsp", "SELECT batch FROM run"), nullptr);
  EXPECT_EQ(scalar("t.xsp", "SELECT value FROM evaluation WHERE key = 'not_measured.batch'"),
            "the program's batches have from 1 to 2 inputs");
}

TEST_F(RunTorchTest, WhatPreparesBatchesAndJudgesResultsIsNoModel) {
  watch(
      "import torch\n"
      "scale = torch.nn.Softplus()\n"
      "class Data(torch.utils.data.Dataset):\n"
      "    def __len__(self): return 4\n"
      "    def __getitem__(self, i): return scale(torch.ones(3))\n"
      "net, loss = torch.nn.Linear(3, 2), torch.nn.MSELoss()\n"
      "for workers in (0, 1):\n"
      "    for x in torch.utils.data.DataLoader(Data(), batch_size=2, num_workers=workers):\n"
      "        loss(net(x), torch.zeros(2, 2))\n");
  const auto outermost =
      query("t.xsp",
            "SELECT type, level, count(*) AS calls FROM span WHERE depth = 0 "
            "AND type IN ('Linear', 'MSELoss', 'Softplus') GROUP BY ALL ORDER BY type");
  const char* const kTypes[] = {"Linear", "MSELoss", "Softplus"};
  const int kLevels[] = {2, 3, 3};
  ASSERT_EQ(outermost.size(), 3u) << outermost;
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(outermost[i]["type"], kTypes[i]);
    EXPECT_EQ(outermost[i]["level"], kLevels[i]);
    EXPECT_EQ(outermost[i]["calls"], 4);  // a worker thread's; here Softplus is within torch's own
                                          // range
  }
  EXPECT_EQ(scalar("t.xsp", "SELECT count(*) FROM span WHERE type = 'Softplus' AND level = 3"), 8);
}

// The wrapper of a call behaves like the function that it replaced.
TEST_F(RunTorchTest, ACallOfAModuleIsAsItWouldBeAlone) {
  const std::string printed = watch(
      "import inspect, torch\n"
      "class Net(torch.nn.Module):\n"
      "    'doc'\n"
      "    def __call__(self, *args, **kwargs): return 1 + super().__call__(*args, **kwargs)\n"
      "    def forward(self, x, *, by=1):\n"
      "        if by == 0: raise ValueError('by')\n"
      "        return x * by\n"
      "net, call = Net(), torch.nn.Module.__call__\n"
      "print(net(2), net(2, by=3), net(x=5), call(net, 7))\n"
      "for wrong in (lambda: net(1, by=0), lambda: call(), lambda: net(1, 2)):\n"
      "    try: wrong()\n"
      "    except (TypeError, ValueError) as error: print(type(error).__name__)\n"
      "print(list(map(torch.nn.Identity(), [1, 2])), call.__name__, callable(call))\n"
      "print(type(torch.nn.ReLU().__call__).__name__, inspect.signature(torch.nn.ReLU()))\n"
      "print(net(2))\n");
  EXPECT_EQ(printed,
            "3 7 6 7\nValueError\nTypeError\nTypeError\n[1, 2] _call_impl True\n"
            "method (*input, **kwargs)\n3\n");
  // Failed calls count, too; call() does not.
  EXPECT_EQ(scalar("t.xsp", "SELECT count(*) FROM span WHERE type = 'Net' AND depth = 0"), 7);
}

// torch.compile sees only into functions of Python: when it begins to trace, the call must be one.
// At its import, it remembers the unchanged call.
TEST_F(RunTorchTest, TheCompilerFindsACallThatItCanTrace) {
  std::filesystem::create_directories(folder / "_dynamo");
  std::ofstream(folder / "_dynamo/__init__.py")
      << "import torch\n"
         "class Handler:\n"
         "    def install_callbacks(self, number): return number + 1\n"
         "class eval_frame:\n"
         "    class _TorchDynamoContext:\n"
         "        def __call__(self, function): return function\n"
         "callback_handler, unpatched = Handler(), torch.nn.Module.__call__\n";
  const std::string printed = watch(
      "import torch, types\n"
      "torch.__path__.insert(0, '.')\n"
      "net, module = torch.nn.ReLU(), torch.nn.Module\n"
      "def show(): net(torch.ones(1)); return isinstance(module.__call__, types.FunctionType)\n"
      "print(show())\n"
      "import torch._dynamo as dynamo\n"
      "print(isinstance(dynamo.unpatched, types.FunctionType), show())\n"
      "print(dynamo.callback_handler.install_callbacks(1), show())\n"
      "print(dynamo.eval_frame._TorchDynamoContext()(2), show())\n"
      "print(module.__call__ is dynamo.unpatched)\n");
  EXPECT_EQ(printed, "False\nTrue False\n2 True\n2 True\nTrue\n");
  EXPECT_EQ(scalar("t.xsp", "SELECT count(*) FROM span WHERE type = 'ReLU' AND level = 2"), 4);
}

// A layer of a model that is gone is not one of a model that differs.
TEST_F(RunTorchTest, AModuleThatIsMadeAtEachCallIsOneLayer) {
  const std::string made = watch(
      "import gc, torch\n"
      "from xsp import _native\n"
      "class Net(torch.nn.Module):\n"
      "    def __init__(self, width):\n"
      "        super().__init__()\n"
      "        self.fc = torch.nn.Linear(4, width)\n"
      "    def forward(self, x):\n"
      "        one, two = torch.nn.Tanh(), torch.nn.Tanh()\n"
      "        return torch.nn.Softmax(dim=1)(two(one(self.fc(x))))\n"
      "def sites(): return _native.site(3, 'mark', '', True)\n"
      "def work(width, calls):\n"
      "    net = Net(width)\n"
      "    for _ in range(calls): net(torch.ones(2, 4))\n"
      "    gc.collect()\n"
      "with torch.no_grad():\n"
      "    for width in (4, 8): work(width, 5)\n"
      "    first = sites()\n"
      "    work(4, 60)\n"
      "    print(sites() - first)\n");
  EXPECT_LT(std::stoi(made), 30);
  const auto layers =
      query("t.xsp",
            "SELECT s.name, count(DISTINCT s.site_id) AS sites, count(*) AS calls, "
            "list(DISTINCT c.value ORDER BY c.value)::VARCHAR AS bytes FROM span s JOIN "
            "site_counter c USING (run_id, site_id) WHERE c.name = 'parameter_bytes' AND type IN "
            "('Linear', 'Softmax') GROUP BY s.name ORDER BY s.name");
  EXPECT_EQ(layers, nlohmann::json::parse(R"([
      {"name": "Softmax", "sites": 1, "calls": 70, "bytes": "[0.0]"},
      {"name": "fc", "sites": 2, "calls": 70, "bytes": "[80.0, 160.0]"}])"));
}

// As torch.nn.DataParallel does, which needs several devices.
TEST_F(RunTorchTest, TheReplicasThatAModelCallsOnThreadsAreNoModels) {
  const std::string program =
      "import torch, concurrent.futures as futures\n"
      "def replicate(module):\n"
      "    made = module._replicate_for_data_parallel()\n"
      "    for name, one in module._parameters.items(): made._parameters[name] = one\n"
      "    for name, one in module._modules.items(): made._modules[name] = replicate(one)\n"
      "    return made\n"
      "class Replica(torch.nn.Linear):\n"
      "    def forward(self, x): return torch.nn.Softmax(dim=1)(super().forward(x))\n"
      "class Parallel(torch.nn.Module):\n"
      "    def forward(self, x):\n"
      "        made = [replicate(self.module) for _ in range(3)]\n"
      "        with futures.ThreadPoolExecutor(3) as pool:\n"
      "            return list(pool.map(lambda one: one(x), made))\n"
      "net = Parallel()\n"
      "net.module = torch.nn.Sequential(Replica(4, 4))\n"
      "for _ in range(20): net(torch.ones(2, 4))\n";
  const auto calls = [this](const std::string& level) {
    return query("t.xsp",
                 "SELECT name, count(*) AS n, count(parent_id) = n AS is_inside FROM span WHERE "
                 "type IN ('Parallel', 'Sequential', 'Replica', 'Softmax') AND level = " +
                     level + " GROUP BY name ORDER BY name")
        .dump();
  };
  const char* const kModel = R"([{"is_inside":true,"n":20,"name":"Parallel"}])";
  watch(program);
  EXPECT_EQ(calls("2"), kModel);
  EXPECT_EQ(calls("3"),
            R"([{"is_inside":true,"n":60,"name":"Softmax"},{"is_inside":true,"n":60,"name":)"
            R"("module"},{"is_inside":true,"n":60,"name":"module.0"}])");
  watch(program, {"--levels", "model"});
  EXPECT_EQ(calls("2"), kModel);
  watch(program, {"--levels", "application"});
  EXPECT_EQ(scalar("t.xsp", "SELECT count(*) FROM span WHERE type = 'step'"), 20);
}

TEST_F(RunTorchTest, ALevelThatIsNotAskedForIsNotRecorded) {
  watch(std::string(kTraining) + "train()\n", {"--levels", "model"});
  EXPECT_EQ(scalar("t.xsp", "SELECT count(*) FROM span WHERE level = 2"), 3);
  EXPECT_EQ(scalar("t.xsp", "SELECT count(*) FROM span WHERE level = 3"), 0);
}

}  // namespace
}  // namespace xsp::integration
