// Tests the adapter `onnxruntime`, beyond the requirements on every adapter: names, provenance,
// options, errors.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <span>

#include "formats/onnx/builder.h"
#include "formats/onnx/writer.h"
#include "manifest.h"
#include "one_adapter.h"
#include "process/worker/npy.h"
#include "processor.h"
#include "trace_file.h"
#include "worker_process.h"
#include "xsp/plugin.h"

namespace xsp::contract {
namespace {

class OnnxRuntimeTest : public OneAdapter {
 protected:
  OnnxRuntimeTest() : OneAdapter("onnxruntime", "onnx") {}
};

std::vector<std::string> types(const TraceFile& file) {
  std::vector<std::string> all;
  for (const Span& layer : file.layers) all.push_back(layer.site.type);
  return all;
}

TEST_F(OnnxRuntimeTest, WithoutOptimisationTheModelsOwnLayersRun) {
  const TraceFile file = traced("tiny.onnx", {"--option", "graph_optimization=none"});
  const std::vector<std::string> once = {
      "Conv", "BatchNormalization", "Relu", "GlobalAveragePool", "Flatten", "Gemm", "Softmax"};
  std::vector<std::string> twice = once;
  twice.insert(twice.end(), once.begin(), once.end());
  EXPECT_EQ(types(file), twice);
  std::string inputs = "[]";  // of the first layer, which takes the caller's
  for (size_t i = 0; i < once.size(); ++i) {
    const trace::Site& site = file.layers[i].site;
    EXPECT_EQ(attribute(site, "source_layers"), "[\"" + site.name + "\"]");
    EXPECT_EQ(attribute(site, "input_layers"), inputs);
    inputs = "[\"" + site.name + "\"]";
  }
}

TEST_F(OnnxRuntimeTest, LayersInABranchNestInIt) {
  const TraceFile file = traced("branch.onnx");
  ASSERT_EQ(types(file),
            (std::vector<std::string>{"If", "MatMul", "Relu", "If", "MatMul", "Relu"}));
  EXPECT_TRUE(file.layers[0].holds(file.layers[1]));
  EXPECT_TRUE(file.layers[3].holds(file.layers[4]));
  EXPECT_EQ(attribute(file.layers[1].site, "input_shapes"), "[[1,4],[4,4]]");
  // The layer after the branch takes the result of the whole branch.
  EXPECT_FALSE(file.layers[0].holds(file.layers[2]));
  EXPECT_EQ(attribute(file.layers[2].site, "input_layers"),
            "[\"" + file.layers[0].site.name + "\"]");
}

TEST_F(OnnxRuntimeTest, TokensAndMasksAreMadeAndMultiplied) {
  Scratch folder;
  WorkerProcess worker(arguments("tokens.onnx", {"--input", "input_ids=2x5"}, "model"));
  ASSERT_EQ(worker.reply()[0], "ready");
  EXPECT_EQ(worker.said()[1],
            (Fields{"input", "attention_mask", "int64", "2,5", "1, as in a mask"}));
  worker.send("run\t1");
  ASSERT_EQ(worker.reply()[0], "ran");
  worker.send("save\t" + folder.path().string());
  const Fields saved = worker.reply();
  ASSERT_EQ(saved.size(), 3u);
  const auto array = process::read_npy(folder.path() / saved[2]);
  ASSERT_TRUE(array.ok());
  EXPECT_EQ(array->dimensions, (std::vector<int64_t>{2, 5}));
  const auto* values = reinterpret_cast<const int64_t*>(array->data.data());
  // The mask is 1, so that the product equals the tokens.
  for (size_t i = 0; i < 10; ++i) EXPECT_TRUE(values[i] >= 0 && values[i] < 100);
}

TEST_F(OnnxRuntimeTest, OptionsAreTakenAndCheckedByName) {
  for (const char* option :
       {"graph_optimization=basic", "provider=cpu", "execution_mode=parallel", "inter_op_threads=2",
        "memory_pattern=off", "memory_arena=off", "session.intra_op.allow_spinning=0"}) {
    const TraceFile file = traced("tiny.onnx", {"--option", option, "--threads", "2"});
    EXPECT_EQ(file.models.size(), 2u) << option;
    EXPECT_GE(file.layers.size(), 2 * 4u) << option;
  }
  EXPECT_EQ(failure("tiny.onnx", {"--option", "graph_optimization=most"}).substr(0, 9),
            "failed 1 ");
  const std::string no_provider = failure("tiny.onnx", {"--option", "provider=abacus"});
  EXPECT_EQ(no_provider.substr(0, 9), "failed 4 ");
  EXPECT_NE(no_provider.find("CPUExecutionProvider"), std::string::npos) << "it says what there is";
}

TEST_F(OnnxRuntimeTest, AnAbsentLibraryIsSaidToBeAbsent) {
  setenv("XSP_ONNXRUNTIME", "/no/such/libonnxruntime.so", 1);
  WorkerProcess worker({"--adapter", adapter_path("onnxruntime"), "--probe"});
  unsetenv("XSP_ONNXRUNTIME");
  const Fields reply = worker.reply();
  ASSERT_EQ(reply.size(), 3u);
  EXPECT_EQ(reply[0] + " " + reply[1], "failed 4");
  EXPECT_NE(reply[2].find("XSP_ONNXRUNTIME"), std::string::npos) << reply[2];
}

TEST_F(OnnxRuntimeTest, DamagedBytesCostOneLine) {
  Scratch folder;
  std::ifstream file(data("tiny.onnx"), std::ios::binary);
  const std::string good{std::istreambuf_iterator<char>(file), {}};
  // The first bytes contain the graph's structure; the weights are behind it.
  for (size_t at = 0; at < 640; at += 40) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1 << (at / 40 % 8)));
    const std::string path = folder.path() / "bad.onnx";
    std::ofstream(path, std::ios::binary) << bad;
    WorkerProcess worker(arguments(path));
    const Fields reply = worker.reply();
    ASSERT_FALSE(reply.empty()) << "the worker died of a bit at byte " << at;
    if (reply[0] == "ready") continue;  // for example a name: still a model
    ASSERT_EQ(reply.size(), 3u);
    EXPECT_EQ(reply[1], std::to_string(XSP_BAD_MODEL)) << reply[2];
    EXPECT_EQ(reply[2].rfind(path, 0), 0u) << reply[2];
    EXPECT_LT(reply[2].size(), 600u) << reply[2];
    EXPECT_EQ(WEXITSTATUS(worker.wait()), 1);
  }
}

// The runtime's graph of a model depends on the processor: it pads channels to blocks of 8 or of
// 16.
class OnnxRuntimeProcessorTest : public OnnxRuntimeTest,
                                 public testing::WithParamInterface<Processor> {
 protected:
  void SetUp() override {
    const std::string why = why_no_worker_on(GetParam());
    if (!why.empty()) GTEST_SKIP() << "skipped: " << why;
    on_.emplace(GetParam());
    OnnxRuntimeTest::SetUp();
  }

 private:
  std::optional<OnProcessor> on_;
};

TEST_P(OnnxRuntimeProcessorTest, FusedLayersAreTiedToTheModelsOwn) {
  const TraceFile file = traced("tiny.onnx", {"--batch", "2"});
  ASSERT_EQ(file.models.size(), 2u);
  EXPECT_EQ(counter(file.models[0].site, "layer_resolution_ns"), 1000);
  EXPECT_EQ(attribute(file.models[0].site, "provider"), "CPUExecutionProvider");
  EXPECT_EQ(attribute(file.models[0].site, "folded_layers"), "[]");
  const auto conv = std::find_if(file.layers.begin(), file.layers.end(),
                                 [](const Span& s) { return s.site.type == "Conv"; });
  ASSERT_NE(conv, file.layers.end());
  EXPECT_EQ(conv->site.name, "conv1");  // and not that of a tensor in blocks of channels
  EXPECT_EQ(attribute(conv->site, "source_layers"), "[\"conv1\",\"bn1\",\"relu1\"]");
  EXPECT_EQ(attribute(conv->site, "output_shapes"), "[[2,8,16,16]]");
  EXPECT_EQ(counter(conv->site, "output_bytes"), 2 * 8 * 16 * 16 * 4);
  EXPECT_EQ(counter(conv->site, "activation_bytes"), 2 * 3 * 16 * 16 * 4);
  EXPECT_EQ(counter(conv->site, "parameter_bytes"), (8 * 3 * 3 * 3 + 8) * 4);
  const auto gemm = std::find_if(file.layers.begin(), file.layers.end(),
                                 [](const Span& s) { return s.site.type == "Gemm"; });
  ASSERT_NE(gemm, file.layers.end());
  // Its weights are packed when the model is opened, and are missing from the runtime's own
  // profile.
  EXPECT_EQ(attribute(gemm->site, "input_shapes"), "[[2,8],[8,10],[10]]");
  EXPECT_EQ(counter(gemm->site, "parameter_bytes"), (8 * 10 + 10) * 4);
}

// 12 and 20 channels do not fill a whole number of blocks on any processor.
std::string padded_model(const Scratch& folder) {
  using formats::fixed;
  using formats::symbolic;
  formats::Builder b("padded");
  formats::Value x = b.input("x", formats::kFloat32,
                             {symbolic("batch"), fixed(3), symbolic("height"), symbolic("width")});
  x = b.relu("relu1", b.conv("conv1", x, 12, {3, 1, 1}));
  x = b.relu("relu2", b.batch_norm("bn2", b.conv("conv2", x, 20, {3, 1, 1})));
  x = b.add("add", b.conv("conv3", x, 20, {3, 1, 1}), x);
  x = b.conv("depthwise", x, 20, {3, 1, 1, 20});
  // Because of strides of 3, the runtime does not see that both have one shape: it adds them in
  // whole blocks.
  x = b.add("sum", b.conv("conv4", x, 12, {3, 3, 1}), b.conv("conv5", x, 12, {3, 3, 1}));
  b.output(b.global_average_pool("pool", x), "y", formats::kFloat32, {symbolic("batch")});
  const std::string path = folder.path() / "padded.onnx";
  const auto ones = [](size_t, uint64_t offset, std::span<uint8_t> out) {
    constexpr std::array<uint8_t, 4> kOne = {0, 0, 0x80, 0x3f};
    for (size_t i = 0; i < out.size(); ++i) out[i] = kOne[(offset + i) % 4];
  };
  EXPECT_TRUE(formats::write_graph(b.graph(), ones, path, {}).ok());
  return path;
}

TEST_P(OnnxRuntimeProcessorTest, PaddingIsNoPartOfTheModel) {
  Scratch folder;
  const std::string model = padded_model(folder);
  const Fields input = {"--input", "x=2x3x9x9"};
  Fields plain = input;
  plain.insert(plain.end(), {"--option", "graph_optimization=none"});
  std::map<std::string, trace::Site> own;
  for (const Span& layer : traced(model, plain).layers) own[layer.site.name] = layer.site;
  ASSERT_EQ(own.size(), 12u);
  size_t padded = 0;
  for (const Span& layer : traced(model, input).layers) {
    const trace::Site& site = layer.site;
    SCOPED_TRACE(site.name + " " + site.type + " " + attribute(site, "source_layers"));
    EXPECT_EQ(attribute(site, "padding"), "absent");
    padded += attribute(site, "padded_output_shapes") == "absent" ? 0 : 1;
    const std::string shape = attribute(site, "output_shapes");
    EXPECT_TRUE(shape.find(",16,") == std::string::npos &&
                shape.find(",24,") == std::string::npos && shape.find(",32,") == std::string::npos)
        << shape;
    const std::string sources = attribute(site, "source_layers");
    if (sources == "[]") continue;
    const size_t quote = sources.rfind('"', sources.size() - 3);
    const trace::Site& last = own[sources.substr(quote + 1, sources.size() - quote - 3)];
    EXPECT_EQ(shape, attribute(last, "output_shapes"));
    EXPECT_EQ(counter(site, "output_bytes"), counter(last, "output_bytes"));
    const trace::Site& first = own[sources.substr(2, sources.find('"', 2) - 2)];
    if (first.type != "Conv") continue;
    const std::string inputs = attribute(first, "input_shapes");
    EXPECT_EQ(attribute(site, "input_shapes").substr(0, inputs.size() - 1),
              inputs.substr(0, inputs.size() - 1));
  }
  EXPECT_GE(padded, 2 * 6u) << "the runtime does not keep these tensors in blocks";
}

INSTANTIATE_TEST_SUITE_P(Processors, OnnxRuntimeProcessorTest, testing::ValuesIn(processors()),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace xsp::contract
