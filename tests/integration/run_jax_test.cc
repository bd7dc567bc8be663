// Tests xsp run: the work of JAX in a watched program, on the CPU.
#include <fstream>

#include "tests/integration/watched_python.h"

namespace xsp::integration {
namespace {

class RunJaxTest : public WatchedPythonTest {
 protected:
  RunJaxTest() : WatchedPythonTest({"jax"}) {}
  Finished watch(const std::string& program, std::vector<std::string> options = {}) const {
    options.emplace_back("--leveled=no");
    return watch_python(program, options);
  }
};

constexpr const char* kNet =
    "import jax, jax.numpy as jnp\n"
    "@jax.jit\n"
    "def net(w, x):\n"
    "    with jax.named_scope('up'):\n"
    "        x = jnp.tanh(x @ w['up'])\n"
    "    with jax.named_scope('down'):\n"
    "        return jax.nn.softmax(x @ w['down'])\n"
    "w = {'up': jnp.ones((256, 512)) / 256, 'down': jnp.ones((512, 256)) / 512}\n"
    "x = jnp.ones((64, 256))\n";

TEST_F(RunJaxTest, InstructionsOfXlaAreLayersOfTheFunctionThatTheyWereMadeOf) {
  const Finished finished =
      watch(std::string(kNet) +
            "for _ in range(20): x = net(w, x)\n"
            "def steps(x): return jax.lax.fori_loop(0, 3, lambda i, x: x @ w['up'][:, :256], x)\n"
            "steps = jax.jit(steps)\n"
            "for _ in range(4): y = steps(x)\n"
            "print(x.shape, float(x.sum()) > 0)\n");
  EXPECT_EQ(finished.out, "(64, 256) True\n");
  EXPECT_EQ(scalar("t.xsp",
                   "SELECT count(*) FROM evaluation WHERE key LIKE 'note.%' AND value LIKE "
                   "'jax was kept from dispatching asynchronously%'"),
            1);
  EXPECT_EQ(scalar("t.xsp", "SELECT count(*) FROM span WHERE level = 2 AND name = 'net'"), 20);
  // The first call compiles, and is over before XLA's program is known.
  const char* const kProducts =
      "SELECT count(*) FROM span s WHERE level = 3 AND EXISTS (FROM attribute a WHERE a.run_id = "
      "s.run_id AND a.span_id = s.span_id AND key = 'source_layers' AND value LIKE "
      "'%jit(net)/down/dot_general%')";
  EXPECT_GE(scalar("t.xsp", kProducts), 19);
  EXPECT_EQ(
      scalar("t.xsp",
             "SELECT count(*) FROM span s JOIN attribute a USING (run_id, span_id) WHERE "
             "level = 3 AND key = 'source' AND value NOT SIMILAR TO '.*(program.py|jax).*:[0-9]+'"),
      0);
  EXPECT_EQ(scalar("t.xsp",
                   "SELECT min(value) FROM span s JOIN attribute a USING (run_id, span_id) WHERE "
                   "level = 3 AND key = 'output_dtypes'"),
            "[\"float32\"]");
  // Layers lie in the call that they belong to, and those of a loop lie in the loop.
  EXPECT_EQ(scalar("t.xsp",
                   "SELECT count(*) FROM span l JOIN span m ON m.run_id = l.run_id AND m.span_id = "
                   "l.model_id JOIN attribute a ON a.run_id = l.run_id AND a.span_id = l.span_id "
                   "WHERE l.level = 3 AND a.key = 'hlo_module' AND a.value <> 'jit_' || m.name"),
            0);
  EXPECT_GE(scalar("t.xsp",
                   "SELECT count(*) FROM span l JOIN span w ON w.run_id = l.run_id AND w.span_id = "
                   "l.parent_id WHERE l.level = 3 AND w.type = 'while'"),
            6);
  EXPECT_EQ(
      scalar("t.xsp",
             "SELECT count(*) FROM (SELECT m.span_id, m.duration_ns AS whole, sum(l.self_ns) AS "
             "parts "
             "FROM span m JOIN span l ON l.run_id = m.run_id AND l.model_id = m.span_id "
             "WHERE m.level = 2 AND l.level = 3 AND l.thread = m.thread GROUP BY ALL) "
             "WHERE parts > whole"),
      0);
}

TEST_F(RunJaxTest, ThreadsHaveTheirOwnAndNothingIsLostWhereAProgramLeavesAtOnce) {
  const Finished finished = watch(std::string(kNet) +
                                  "import os, threading\n"
                                  "def work():\n"
                                  "    for _ in range(10): net(w, x)\n"
                                  "net(w, x)\n"
                                  "threads = [threading.Thread(target=work) for _ in range(2)]\n"
                                  "for one in threads: one.start()\n"
                                  "for one in threads: one.join()\n"
                                  "os._exit(0)\n");
  // All 21 are there, unless the profile was read while another thread was in a call.
  EXPECT_GE(scalar("t.xsp", "SELECT count(DISTINCT model_id) FROM span WHERE level = 3"), 18);
  EXPECT_EQ(scalar("t.xsp",
                   "SELECT count(DISTINCT l.thread) FROM span l JOIN span m ON m.run_id = l.run_id "
                   "AND m.span_id = l.model_id WHERE l.level = 3 AND l.thread = m.thread"),
            3);
}

TEST_F(RunJaxTest, AProgramThatProfilesItselfHasItsProfile) {
  const Finished finished =
      watch(std::string(kNet) +
            "import glob\n"
            "for _ in range(5): x = net(w, x)\n"
            "with jax.profiler.trace('profile'):\n"
            "    for _ in range(5): x = net(w, x)\n"
            "print(len(glob.glob('profile/**/*.xplane.pb', recursive=True)))\n");
  EXPECT_EQ(finished.out, "1\n");
  EXPECT_NE(finished.err.find("the program uses JAX's profiler itself"), std::string::npos)
      << finished.err;
  EXPECT_EQ(scalar("t.xsp", "SELECT count(*) FROM span WHERE level = 2"), 10);
  EXPECT_GE(scalar("t.xsp", "SELECT count(DISTINCT model_id) FROM span WHERE level = 3"), 4);
  EXPECT_LE(scalar("t.xsp", "SELECT count(DISTINCT model_id) FROM span WHERE level = 3"), 5);
}

TEST_F(RunJaxTest, EachBlockThatAProgramRecordsHasItsOwnLayers) {
  record_python(
      "import jax, xsp\n"
      "with xsp.profile('t.xsp'): pass\n" +
      std::string(kNet) +
      "for name in ('t.xsp', 'u.xsp'):\n"
      "    with xsp.profile(name):\n"
      "        for _ in range(5): net(w, x).block_until_ready()\n");
  for (const char* file : {"t.xsp", "u.xsp"}) {
    const auto found =
        query(file,
              "SELECT count(*) AS layers, min(start_ns) > (SELECT min(start_ns) "
              "FROM span WHERE level = 2) AS is_within FROM span WHERE level = 3")[0];
    EXPECT_GE(found["layers"], 8) << file;  // the first call compiles, which a session may miss
    EXPECT_EQ(found["is_within"], true) << file;
  }
}

// A device keeps to what the option was at its first use.
TEST_F(RunJaxTest, AnOptionOfJaxIsChangedForABlockAlone) {
  record_python(
      "import jax, xsp\n"
      "def option(): return jax.config.values['jax_cpu_enable_async_dispatch']\n"
      "def recorded():\n"
      "    with xsp.profile('t.xsp'): return option()\n"
      "before = option()\n"
      "assert before and not recorded() and option(), before\n"
      "assert not recorded() and option()\n"
      "jax.devices()\n"
      "assert recorded() and option()\n");
}

// XLA's text of modules, in its older form and on a GPU; no JAX is needed.
class RunHloTest : public WatchedTest {};

TEST_F(RunHloTest, TheTextOfAModuleSaysWhatItsInstructionsAre) {
  std::ofstream(folder / "program.py") << R"(
from xsp.watch.jax import hlo
text = """HloModule jit_f, is_scheduled=true

%fused_add (param_0.1: f32[4,8], param_1: f32[8]) -> f32[4,8] {
  %param_0.1 = f32[4,8]{1,0} parameter(0)
  %param_1 = f32[8]{0} parameter(1)
  %broadcast.2 = f32[4,8]{1,0} broadcast(%param_1), dimensions={1}, \
metadata={op_name="jit(f)/up/add"}
  ROOT %add.3 = f32[4,8]{1,0} add(%param_0.1, %broadcast.2), \
metadata={op_name="jit(f)/up/tanh"}
}

ENTRY %main.9 (w__q__.1: f32[16,8], x.1: f32[4,16]) -> f32[4,8] {
  %w__q__.1 = f32[16,8]{1,0} parameter(0), \
metadata={op_name="w[\\'q\\']"}
  %x.1 = f32[4,16]{1,0} parameter(1)
  %constant_5 = bf16[1024,2]{1,0} constant({...})
  %cublas-gemm.1 = (f32[4,8]{1,0}, s8[4194304]{0}) custom-call(%x.1, %w__q__.1), \
custom_call_target="__cublas$gemm", metadata={op_name="jit(f)/dot_general" \
source_file="/a/model.py" source_line=12}, backend_config={"gemm_backend_config":{"alpha_real":1}}
  %get-tuple-element.1 = f32[4,8]{1,0} get-tuple-element(%cublas-gemm.1), index=0
  ROOT %loop_add_fusion = f32[4,8]{1,0} fusion(%get-tuple-element.1, %w__q__.1), \
kind=kLoop, calls=%fused_add
}
"""
module = hlo.Module(text)
number = hlo.module_id(b"\x0a\x01f\x28\x96\x01")
print(list(module.executed()), hlo.constant_bytes(text), number)
opcode, facts, numbers, is_control = module.describe("cublas-gemm.1")
shapes = facts["input_shapes"]
print(opcode, facts["source"], facts["op_name"], shapes, facts["output_dtypes"], is_control)
opcode, facts, numbers, is_control = module.describe("loop_add_fusion")
print(opcode, facts["source_layers"], facts["fused"], numbers, "source" in facts)
print(module.describe("fusion.77"))
)";
  const Finished finished = run({"run", "-o", "t.xsp", "--", kPython, "program.py"});
  EXPECT_EQ(finished.out,
            "['cublas-gemm.1', 'loop_add_fusion'] 4096 150\n"
            "__cublas$gemm /a/model.py:12 jit(f)/dot_general [[4,16],[16,8]] [\"float32\"] False\n"
            "fusion [\"jit(f)/up/add\", \"jit(f)/up/tanh\"] broadcast add {'output_bytes': 128, "
            "'activation_bytes': 640} False\n"
            "None\n")
      << finished.err;
}

TEST_F(RunHloTest, AProductThatXlaDividedHasTheSourceOfWhatAddsItsParts) {
  std::ofstream(folder / "program.py") << R"(
from xsp.watch.jax import hlo
module = hlo.Module("""HloModule jit_f

%sum_of_parts (p.1: f32[2,4,3]) -> f32[2,3] {
  %p.1 = f32[2,4,3]{2,1,0} parameter(0)
  ROOT %reduce.1 = f32[2,3]{1,0} reduce(%p.1), metadata={op_name="jit(f)/fc/dot_general"}
}

ENTRY %main (x: f32[2,3], w: f32[3,3]) -> f32[2,3] {
  %x = f32[2,3]{1,0} parameter(0)
  %w = f32[3,3]{1,0} parameter(1)
  %gemm.1 = (f32[2,4,3]{2,1,0}, s8[64]{0}) custom-call(%x, %w), custom_call_target="__cublas$gemm"
  %part = f32[2,4,3]{2,1,0} get-tuple-element(%gemm.1), index=0
  %fusion.1 = f32[2,3]{1,0} fusion(%part), kind=kLoop, calls=%sum_of_parts
  %dot.2 = f32[2,3]{1,0} dot(%x, %w)
  %a = f32[2,3]{1,0} add(%dot.2, %fusion.1), metadata={op_name="jit(f)/a"}
  ROOT %b = f32[2,3]{1,0} add(%dot.2, %a), metadata={op_name="jit(f)/b"}
}
""")
for name in ("gemm.1", "dot.2", "a"):
    print(module.describe(name)[1].get("source_layers"))
)";
  const Finished finished = run({"run", "-o", "t.xsp", "--", kPython, "program.py"});
  EXPECT_EQ(finished.out, "[\"jit(f)/fc/dot_general\"]\nNone\n[\"jit(f)/a\"]\n")
      << finished.err << "a product that two instructions read has the source of neither";
}

}  // namespace
}  // namespace xsp::integration
