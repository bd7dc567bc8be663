// Tests the adapter `opencv_dnn`, beyond the requirements on every adapter: fused layers, facts,
// options, errors.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "formats/onnx/builder.h"
#include "manifest.h"
#include "one_adapter.h"
#include "trace_file.h"
#include "worker_process.h"
#include "xsp/plugin.h"
#include "zoo/shared/zoo.h"

namespace xsp::contract {
namespace {

class OpencvTest : public OneAdapter {
 protected:
  OpencvTest() : OneAdapter("opencv_dnn", "") {}
};

TEST_F(OpencvTest, FusedLayersAreShownInTheirHost) {
  const TraceFile file = traced("caffe/tiny.prototxt", {"--batch", "2"});
  const std::vector<std::string> expected = {"conv1", "pool", "fc", "prob",
                                             "conv1", "pool", "fc", "prob"};
  ASSERT_EQ(names(file), expected);
  EXPECT_EQ(attribute(file.models[0].site, "provider"), "OpenCV CPU");
  const trace::Site& conv = file.layers[0].site;
  EXPECT_EQ(conv.type, "Convolution");
  EXPECT_EQ(attribute(conv, "source_layers"), "[\"conv1\",\"bn1\",\"scale1\",\"relu1\"]");
  EXPECT_EQ(attribute(conv, "input_shapes"), "[[2,3,16,16],[8,3,3,3]]");
  EXPECT_EQ(attribute(conv, "output_shapes"), "[[2,8,16,16]]");
  EXPECT_EQ(attribute(conv, "placed"), "absent");
  EXPECT_EQ(counter(conv, "parameter_bytes"), 8 * 3 * 3 * 3 * 4);
  EXPECT_EQ(counter(conv, "output_bytes"), 2 * 8 * 16 * 16 * 4);
  EXPECT_EQ(file.layers[1].site.type, "AvePooling");
  EXPECT_EQ(attribute(file.layers[2].site, "input_shapes"), "[[2,8,1,1],[10,8],[1,10]]");
}

TEST_F(OpencvTest, WithoutFusionTheModelsOwnLayersRun) {
  const TraceFile file = traced("caffe/tiny.caffemodel", {"--option", "fusion=0"});
  const std::vector<std::string> once = {"conv1", "bn1", "scale1", "relu1", "pool", "fc", "prob"};
  std::vector<std::string> twice = once;
  twice.insert(twice.end(), once.begin(), once.end());
  EXPECT_EQ(names(file), twice);
  for (const Span& layer : file.layers) {
    EXPECT_EQ(attribute(layer.site, "source_layers"), "[\"" + layer.site.name + "\"]");
  }
}

TEST_F(OpencvTest, LayersMayBePlacedByOpencvsOwnProfile) {
  const TraceFile file = traced("caffe/tiny.prototxt", {"--option", "layer_times=profile"});
  ASSERT_EQ(file.layers.size(), 8u);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_NE(attribute(file.layers[i].site, "placed"), "absent");
    if (i % 4 == 0) continue;
    EXPECT_EQ(file.layers[i].start_ns, file.layers[i - 1].end_ns);
  }
}

TEST_F(OpencvTest, OnnxFilesRunWithTheirOwnSignature) {
  Scratch folder;
  formats::Builder b("small");
  formats::Value x = b.input("x", formats::kFloat32,
                             {formats::symbolic("batch"), formats::fixed(3), formats::fixed(8)});
  x = b.flatten("flatten", b.relu("relu", x));
  b.output(x, "y", formats::kFloat32, {formats::symbolic("batch"), formats::fixed(24)});
  const std::string path = folder.path() / "small.onnx";
  ASSERT_TRUE(formats::write_graph(b.graph(), nullptr, path, {}).ok());
  WorkerProcess worker(arguments(path, {"--batch", "2"}));
  const Fields ready = worker.reply();
  ASSERT_EQ(ready[0], "ready") << ready[2];
  EXPECT_EQ(worker.said()[0],
            (Fields{"input", "x", "float32", "2,3,8", "random in (-1, 1), seed 1"}));
  worker.send("run\t1");
  EXPECT_EQ(worker.reply()[0], "ran");
  // This version does not support kernels whose size follows only from the weights' shapes.
  const std::string why = failure("onnx/tiny.onnx");
  EXPECT_EQ(why.substr(0, 9), "failed 2 ") << why;
  EXPECT_EQ(why.find(".cpp:"), std::string::npos) << why;
}

TEST_F(OpencvTest, OptionsAreTakenAndChecked) {
  const std::string model = data("caffe/tiny.prototxt");
  const std::string no_shape = data("caffe/no_shape.prototxt");
  EXPECT_EQ(traced(no_shape, {"--option", "inputs=data:1,3,8,8"}).layers.size(), 8u);
  const std::string no_weights = data("caffe/no_weights.prototxt");
  const std::string weights = "weights=" + data("caffe/tiny.caffemodel");
  EXPECT_EQ(traced(no_weights, {"--option", weights, "--threads", "2"}).layers.size(), 8u);
  for (const char* bad :
       {"fusion=2", "target=abacus", "layer_times=guessed", "inputs=data", "colour=red"}) {
    EXPECT_EQ(failure(model, {"--option", bad}).substr(0, 9), "failed 1 ") << bad;
  }
  EXPECT_EQ(failure(model, {"--option", "weights=/no/such"}).substr(0, 9), "failed 2 ");
}

TEST_F(OpencvTest, DamagedWeightsCostOneLine) {
  Scratch folder;
  std::ifstream file(data("caffe/tiny.caffemodel"), std::ios::binary);
  const std::string good{std::istreambuf_iterator<char>(file), {}};
  const std::string text = folder.path() / "bad.prototxt";
  std::filesystem::copy_file(data("caffe/tiny.prototxt"), text);
  for (size_t at = 0; at < 60; at += 6) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1 << (at / 6 % 8)));
    std::ofstream(folder.path() / "bad.caffemodel", std::ios::binary) << bad;
    WorkerProcess worker(arguments(text));
    const Fields reply = worker.reply();
    ASSERT_FALSE(reply.empty()) << "the worker died of a bit at byte " << at;
    if (reply[0] == "ready") continue;  // for example a name: still a model
    ASSERT_EQ(reply.size(), 3u);
    EXPECT_EQ(reply[1], std::to_string(XSP_BAD_MODEL)) << reply[2];
    EXPECT_LT(reply[2].size(), 600u) << reply[2];
  }
}

}  // namespace
}  // namespace xsp::contract
