// Tests xsp run with code that torch.compile generates. A package of torch's name stands for it:
// its "compiler" loads programs of the form that Inductor writes (2.4 to 2.11), with kernels that
// do nothing.
#include <filesystem>
#include <fstream>

#include "tests/integration/run_xsp.h"

namespace xsp::integration {
namespace {

constexpr const char* kTorch = R"(
import types
__version__ = '1.4.0'
class Module:
    _parameters = {}
    def named_modules(self): yield '', self
    def __call__(self, x): return self.forward(x)
class Optimizer:
    def __init__(self): pass
loss = types.SimpleNamespace(_Loss=type('_Loss', (Module,), {}))
nn = types.SimpleNamespace(Module=Module, modules=types.SimpleNamespace(loss=loss))
autograd = types.SimpleNamespace(backward=lambda: 1, grad=lambda: 2)
optim = types.SimpleNamespace(Optimizer=Optimizer)
_C = types.SimpleNamespace(_get_tracing_state=lambda: None)
)";

// The watched parts of the compiler: its entry, the loading of programs, and its reports about
// them.
constexpr const char* kCompiler = R"(
import importlib.util, types
from torch._inductor import codecache, config, debug, ir
def compile_fx_inner(graph, inputs, **options):
    if config.trace.provenance_tracking_level:
        getattr(debug, '_inductor_triton_kernel_to_post_grad_node_info', {}).update(graph.told)
    return codecache.PyCodeCache.load_by_key_path('key', graph.path).call
def compile_fx(model, inputs, inner_compile=compile_fx_inner):
    return inner_compile(model.lowered, inputs)
)";
constexpr const char* kCodeCache = R"(
import importlib.util
class PyCodeCache:
    @classmethod
    def load_by_key_path(cls, key, path, linemap=None, attrs=None):
        spec = importlib.util.spec_from_file_location(key, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
)";

constexpr const char* kProgramHead = R"(
# AOT ID: ['0_inference']
import contextlib, types
class Kernel:
    def run(self, *args, stream): args[0].append('kernel')
async_compile = types.SimpleNamespace(triton=lambda name, text, **how: Kernel())
extern_kernels = types.SimpleNamespace(
    addmm=lambda *args, out: out.append('addmm'), fails=lambda out: 1 / 0)
empty_strided_cuda = lambda *shape: []
get_raw_stream = lambda device: 7
# Topologically Sorted Source Nodes: [linear, relu], Original ATen: [aten.addmm, aten.relu]
triton_poi_fused_relu_0 = async_compile.triton('triton_poi_fused_relu_0', '''text''')
triton_per_fused_add_1 = async_compile.triton('triton_per_fused_add_1', '''text''')
)";
constexpr const char* kCall = R"(
def call(args):
    arg0_1, = args
    args.clear()
    with contextlib.nullcontext():
        buf0 = empty_strided_cuda((4, 8), (8, 1), 'float32')
        # Topologically Sorted Source Nodes: [norm, linear], Original ATen: [aten.addmm]
        extern_kernels.addmm(arg0_1, out=buf0)
        # Topologically Sorted Source Nodes: [norm, linear], Original ATen: [aten.addmm]
        # [Provenance debug handles] extern_kernels.addmm:1
        extern_kernels.addmm(arg0_1, out=buf0)
        buf1 = buf0; del buf0  # reuse
        # Topologically Sorted Source Nodes: [linear, relu], Original ATen: [aten.relu]
        # [Provenance debug handles] triton_poi_fused_relu_0:2
        stream0 = get_raw_stream(0)
        triton_poi_fused_relu_0.run(buf1, arg0_1, 32, stream=stream0)
        triton_per_fused_add_1.run(buf1, 32, stream=stream0)
    return (buf1, )
)";

constexpr const char* kProgram = R"(
import sys, types
import torch, torch._inductor.compile_fx as compiler
class Linear: pass
class ReLU: pass
def node(name, path=None, kind=None):
    stack = {'1': (path, kind)} if path else {}
    return types.SimpleNamespace(name=name, op='call_function', meta={'nn_module_stack': stack})
def graph(*nodes, **more):
    return types.SimpleNamespace(graph=types.SimpleNamespace(nodes=nodes), **more)
linear, relu = "L['self']._modules['fc'][0].up", "L['self'].act"
told = {'extern_kernels.addmm:1': ['addmm'], 'triton_poi_fused_relu_0:2': ['relu', 'view']}
lowered = graph(node('permute', linear, Linear), node('addmm', linear, Linear),
                node('view', linear, Linear), node('relu', relu, ReLU),
                path=sys.argv[1], told=told if len(sys.argv) > 2 else {})
model = graph(node('norm', "L['self'].norm", ReLU), node('linear', linear, Linear),
              node('relu', relu, ReLU), lowered=lowered)
class Net(torch.nn.Module):
    def forward(self, x): return compiled([x])
compiled = compiler.compile_fx(model, [])
net = Net()
for _ in range(3): print(net(1))
)";

class RunInductorTest : public WatchedTest {
 protected:
  void SetUp() override {
    WatchedTest::SetUp();
    if (IsSkipped()) return;
    std::filesystem::create_directories(folder / "torch/_inductor");
    write("torch/__init__.py", kTorch);
    write("torch/_inductor/__init__.py", "from torch._inductor import config\n");
    write("torch/_inductor/config.py",
          "import types\ntrace = types.SimpleNamespace(provenance_tracking_level=0)\n");
    write("torch/_inductor/debug.py", "_inductor_triton_kernel_to_post_grad_node_info = {}\n");
    write("torch/_inductor/ir.py", "class ExternKernel: codegen_comment = None\n");
    write("torch/_inductor/codecache.py", kCodeCache);
    write("torch/_inductor/compile_fx.py", kCompiler);
    write("program.py", kProgram);
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name) << text;
  }
  Finished watch(const std::string& call, bool is_told) const {
    write("generated.py", kProgramHead + call + "\n");
    std::vector<std::string> arguments = {"run", "--leveled=no", "-o",         "t.xsp",
                                          "--",  kPython,        "program.py", "generated.py"};
    if (is_told) arguments.emplace_back("told");
    RunOptions options;
    options.environment = {{"XDG_CACHE_HOME", (folder / "cache").string()}};
    Finished finished = run(arguments, options);
    EXPECT_EQ(finished.status, 0) << finished.err;
    return finished;
  }
  // Returns "name|type|modules" of the launches of one call, in order.
  std::vector<std::string> launches() const {
    const auto rows = query(
        "t.xsp",
        "SELECT concat_ws('|', any_value(name), any_value(type), coalesce(any_value(value) FILTER "
        "(key = 'source_layers'), '')) AS line FROM span s JOIN attribute a USING (run_id, "
        "span_id) WHERE level = 3 AND EXISTS (FROM attribute b WHERE b.run_id = s.run_id AND "
        "b.span_id = s.span_id AND b.key = 'compiled') GROUP BY s.site_id HAVING count(DISTINCT "
        "span_id) = 3 ORDER BY min(start_ns)");
    std::vector<std::string> lines;
    for (const auto& row : rows) lines.push_back(row["line"]);
    return lines;
  }
};

const std::vector<std::string> kExact = {"fc.0.up|Linear|[\"fc.0.up\"]",
                                         "fc.0.up|Linear|[\"fc.0.up\"]",
                                         "triton_poi_fused_relu_0|triton_poi_fused_relu|[\"act\"]",
                                         "triton_per_fused_add_1|triton_per_fused_add|"};

TEST_F(RunInductorTest, LaunchesNameTheModulesThatTheyStandForAlsoFromTheCache) {
  const std::string printed = "(['addmm', 'addmm', 'kernel', 'kernel'],)\n";
  EXPECT_EQ(watch(kCall, true).out, printed + printed + printed);
  EXPECT_EQ(launches(), kExact);
  // The program comes from Inductor's cache, without a report: the earlier report is remembered.
  EXPECT_EQ(watch(kCall, false).out, printed + printed + printed);
  EXPECT_EQ(launches(), kExact);
}

TEST_F(RunInductorTest, WithoutBeingToldTheCommentsTellOfTheForwardPass) {
  (void)watch(kCall, false);
  EXPECT_EQ(launches(), (std::vector<std::string>{
                            "fc.0.up|Linear|[\"fc.0.up\"]", "fc.0.up|Linear|[\"fc.0.up\"]",
                            "triton_poi_fused_relu_0|triton_poi_fused_relu|[\"fc.0.up\", \"act\"]",
                            "triton_per_fused_add_1|triton_per_fused_add|"}));
}

TEST_F(RunInductorTest, AProgramWithARunnerIsWatchedAndFailsAsItWouldAlone) {
  const std::string runner =
      "class Runner:\n"
      "    def __init__(self, partitions): self.partitions = partitions\n"
      "    def call(self, args):\n"
      "        try: extern_kernels.fails([])\n"
      "        except ZeroDivisionError as error: failed = error\n"
      "        extern_kernels.addmm(1, out=args[0:0])\n"
      "        partition0 = self.partitions[0](args)\n"
      "        return str(failed), partition0\n"
      "def partition_0(args):\n"
      "    buf0 = []\n"
      "    triton_poi_fused_relu_0.run(buf0, stream=0)\n"
      "    return buf0\n"
      "runner = Runner(partitions=[partition_0])\n"
      "call = runner.call\n";
  const std::string printed = "('division by zero', ['kernel'])\n";
  EXPECT_EQ(watch(runner, false).out, printed + printed + printed);
  EXPECT_EQ(launches(),
            (std::vector<std::string>{"extern_kernels.fails|extern_kernels.fails|",
                                      "extern_kernels.addmm|extern_kernels.addmm|",
                                      "triton_poi_fused_relu_0|triton_poi_fused_relu|"}));
}

TEST_F(RunInductorTest, WhatIsNotUnderstoodRunsAsItIs) {
  write("torch/_inductor/debug.py", "");
  EXPECT_EQ(watch("call = lambda args: args\n", false).out, "[1]\n[1]\n[1]\n");
  EXPECT_TRUE(launches().empty());
}

}  // namespace
}  // namespace xsp::integration
