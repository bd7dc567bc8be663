#include "adapters/tensorrt/layers.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "tests/contract/trace_file.h"
#include "xsp/xsp.h"

namespace xsp::tensorrt {
namespace {

using Names = std::vector<std::string>;

Layer layer(const std::string& name, std::vector<std::string> sources) {
  Layer one;
  one.name = name;
  one.type = "kgen";
  one.sources = std::move(sources);
  return one;
}

formats::Node node(const char* name, const char* op_type) {
  formats::Node one;
  one.name = name;
  one.op_type = op_type;
  return one;
}

TEST(TensorRtLayers, EqualRangesFollowTheOrderOfTheEngine) {
  Layers layers;
  layers.describe({layer("add_myl0_1", {}), layer("fc", {}), layer("add_myl0_3", {})}, {});
  EXPECT_EQ(layers.count(), 3u);
  for (int run = 0; run < 2; ++run) {
    layers.begin_run();
    EXPECT_EQ(layers.site_of_range("{ForeignNode[add...add]}"), 0u);
    EXPECT_EQ(layers.site_of_range("add"), layers.site("add_myl0_1"));
    EXPECT_EQ(layers.site_of_range("fc"), layers.site("fc"));
    EXPECT_EQ(layers.site_of_range("add"), layers.site("add_myl0_3"));
  }
  // A run that was broken off leaves nothing behind.
  layers.begin_run();
  EXPECT_EQ(layers.site_of_range("add"), layers.site("add_myl0_1"));
  layers.begin_run();
  EXPECT_EQ(layers.site_of_range("add"), layers.site("add_myl0_1"));
  EXPECT_EQ(layers.site("add"), 0u);
}

// Records to a file, and returns its spans.
contract::TraceFile recorded(const std::function<void()>& work) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("tensorrt_layers_test_" + std::to_string(getpid()) + ".xtrace");
  const std::string text = path.string();
  xsp_options options{};
  options.struct_size = sizeof options;
  options.path = text.c_str();
  EXPECT_EQ(xsp_start(&options), 0);
  work();
  EXPECT_EQ(xsp_stop(), 0);
  contract::TraceFile file = contract::read_trace(text);
  std::filesystem::remove(path);
  return file;
}

TEST(TensorRtLayers, ProfiledLayersStandOneAfterAnotherAndEndWithTheirRun) {
  Layers layers;
  layers.describe({layer("first", {}), layer("second", {})}, {});
  Recorder recorder(&layers);
  const int64_t begin_ns = xsp_now_ns();
  const contract::TraceFile file = recorded([&] {
    recorder.reportLayerTime("first", 0.002F);
    recorder.reportLayerTime("second", 0.003F);
    recorder.end_run(begin_ns, begin_ns + 10'000);
    recorder.reportLayerTime("first", 0.009F);  // longer than its run
    recorder.reportLayerTime("second", 0.003F);
    recorder.end_run(begin_ns + 20'000, begin_ns + 30'000);
    recorder.emit(7);
    recorder.emit(7);  // nothing is left
  });
  ASSERT_EQ(file.layers.size(), 4u);
  const auto start_of = [&](size_t i) { return file.layers[i].start_ns - file.layers[0].start_ns; };
  const auto duration_of = [&](size_t i) {
    return file.layers[i].end_ns - file.layers[i].start_ns;
  };
  EXPECT_EQ(file.layers[0].site.name, "first");
  EXPECT_EQ(file.layers[1].site.name, "second");
  EXPECT_NEAR(static_cast<double>(duration_of(0)), 2000, 2);
  EXPECT_NEAR(static_cast<double>(start_of(1)), 2000, 2);
  EXPECT_NEAR(static_cast<double>(duration_of(1)), 3000, 2);
  // The run before ended 10 us before this one began; its layers began 5 us after it.
  EXPECT_NEAR(static_cast<double>(start_of(2)), 15'000, 2);
  EXPECT_NEAR(static_cast<double>(duration_of(2)), 7000, 2) << "clipped to its run";
  EXPECT_NEAR(static_cast<double>(duration_of(3)), 3000, 2);
}

TEST(TensorRtLayers, ProfiledTimesAreCountersOfTheirLayers) {
  Layers layers;
  layers.describe({layer("counted", {})}, {});
  Recorder recorder(&layers);
  const contract::TraceFile file = recorded([&] {
    for (const float milliseconds : {0.001F, 0.005F, 0.002F}) {
      recorder.reportLayerTime("counted", milliseconds);
      recorder.end_run(0, 0);
    }
    recorder.add_counters();
    recorder.reportLayerTime("counted", 0.004F);
    const int64_t now_ns = xsp_now_ns();
    recorder.end_run(now_ns, now_ns + 10'000);
    recorder.emit(7);
  });
  ASSERT_EQ(file.layers.size(), 1u) << "the runs that were counted have no spans";
  EXPECT_NEAR(contract::counter(file.layers[0].site, "iprofiler_ns"), 2000, 1);
}

// Returns the site of a layer, as it is recorded.
trace::Site site_of(const Layer& one, const Model& model) {
  Layers layers;
  layers.describe({one}, model);
  Recorder recorder(&layers);
  const contract::TraceFile file = recorded([&] {
    recorder.reportLayerTime(one.name.c_str(), 0.001F);
    const int64_t now_ns = xsp_now_ns();
    recorder.end_run(now_ns, now_ns + 10'000);
    recorder.emit(7);
  });
  return file.layers.size() == 1 ? file.layers[0].site : trace::Site{};
}

Tensor tensor(const char* name, std::vector<int64_t> dimensions) {
  return {name, "float16", "Row major linear FP16", std::move(dimensions), name[0] == 'c'};
}

TEST(TensorRtLayers, AFusedConvolutionHasTheModelsWeightsAndTheSummand) {
  Model model;
  model.graph.nodes = {node("conv", "Conv"), node("add", "Add")};
  model.graph.nodes[0].inputs = {"x", "w"};
  model.graph.nodes[0].outputs = {"y"};
  model.graph.initializers.resize(1);
  model.graph.initializers[0].name = "w";
  model.values["x"] = {formats::kFloat32, {1, 8, 7, 7}, false, {}};
  model.values["w"] = {formats::kFloat32, {16, 8, 1, 1}, false, {}};
  model.values["y"] = {formats::kFloat32, {1, 16, 7, 7}, false, {}};
  Layer fused = layer("conv + add (described)", {"conv", "add"});
  fused.type = "CaskConvolution";
  fused.tactic = "sm90_xmma";
  fused.inputs = {tensor("x", {1, 8, 7, 7}), tensor("summand", {1, 16, 7, 7})};
  fused.outputs = {tensor("z", {1, 16, 7, 7})};
  fused.weight_bytes = 2 * 16 * 8;
  const trace::Site site = site_of(fused, model);
  EXPECT_EQ(site.type, "Conv");
  EXPECT_EQ(contract::attribute(site, "input_shapes"), "[[1,8,7,7],[16,8,1,1],[1,16,7,7]]");
  EXPECT_EQ(contract::attribute(site, "input_dtypes"), R"(["float16","float16","float16"])");
  EXPECT_EQ(contract::attribute(site, "output_shapes"), "[[1,16,7,7]]");
  EXPECT_EQ(contract::attribute(site, "source_layers"), R"(["conv","add"])");
  EXPECT_EQ(contract::attribute(site, "tactic"), "sm90_xmma");
  EXPECT_EQ(contract::attribute(site, "precision"), "float16");
  EXPECT_EQ(contract::counter(site, "parameter_bytes"), 2 * 16 * 8);
  EXPECT_EQ(contract::counter(site, "activation_bytes"), 2 * (8 + 16) * 49);
  EXPECT_EQ(contract::counter(site, "output_bytes"), 2 * 16 * 49);
}

TEST(TensorRtLayers, SeveralProductsInOneAreAProduct) {
  Model model;
  model.graph.nodes = {node("q", "MatMul"), node("k", "MatMul")};
  Layer fused = layer("q+k_myl0_2", {"q", "k"});
  fused.type = "gemm";
  fused.inputs = {tensor("x", {1, 128, 768}), tensor("constant", {2, 768, 768})};
  fused.outputs = {tensor("y", {2, 128, 768})};
  const trace::Site site = site_of(fused, model);
  EXPECT_EQ(site.type, "MatMul");
  EXPECT_EQ(contract::attribute(site, "input_shapes"), "[[1,128,768],[2,768,768]]");
  EXPECT_EQ(contract::counter(site, "parameter_bytes"), 2 * 2 * 768 * 768);
  EXPECT_EQ(contract::counter(site, "activation_bytes"), 2 * 128 * 768);
}

TEST(TensorRtLayers, ConvolutionsSideBySideAreOneWithTheChannelsOfAll) {
  Model model;
  model.graph.nodes = {node("a", "Conv"), node("b", "Conv"), node("relu", "Relu")};
  for (size_t i = 0; i < 2; ++i) {
    model.graph.nodes[i].inputs = {"x", i == 0 ? "wa" : "wb"};
    model.graph.nodes[i].outputs = {i == 0 ? "ya" : "yb"};
  }
  model.graph.initializers.resize(2);
  model.graph.initializers[0].name = "wa";
  model.graph.initializers[1].name = "wb";
  model.values["x"] = {formats::kFloat32, {1, 8, 7, 7}, false, {}};
  model.values["wa"] = {formats::kFloat32, {16, 8, 1, 1}, false, {}};
  model.values["wb"] = {formats::kFloat32, {4, 8, 1, 1}, false, {}};
  model.values["ya"] = {formats::kFloat32, {1, 16, 7, 7}, false, {}};
  model.values["yb"] = {formats::kFloat32, {1, 4, 7, 7}, false, {}};
  Layer fused = layer("a || b + relu", {"a", "b", "relu"});
  fused.type = "CaskConvolution";
  fused.inputs = {tensor("x", {1, 8, 7, 7})};
  fused.outputs = {tensor("z", {1, 20, 7, 7})};
  trace::Site site = site_of(fused, model);
  EXPECT_EQ(site.type, "Conv");
  EXPECT_EQ(contract::attribute(site, "input_shapes"), "[[1,8,7,7],[20,8,1,1]]");
  EXPECT_EQ(contract::attribute(site, "output_shapes"), "[[1,20,7,7]]");

  // A convolution with another kernel cannot be computed beside it, so its work is not told.
  model.values["wb"].shape = {4, 8, 3, 3};
  site = site_of(fused, model);
  EXPECT_EQ(contract::attribute(site, "input_shapes"), "[[1,8,7,7]]");

  model.graph.nodes[1].inputs[0] = "another tensor";
  site = site_of(fused, model);
  EXPECT_EQ(site.type, "CaskConvolution");
  EXPECT_EQ(contract::attribute(site, "input_shapes"), "[[1,8,7,7]]");
}

TEST(TensorRtLayers, AGeneratedKernelHasTheTypeOfItsReduction) {
  Model model;
  model.graph.nodes = {node("rows", "Gather"), node("add", "Add"),
                       node("norm", "LayerNormalization")};
  model.graph.nodes[2].inputs = {"sum", "scale"};
  model.graph.nodes[2].outputs = {"y"};
  model.graph.initializers.resize(1);
  model.graph.initializers[0].name = "scale";
  model.values["sum"] = {formats::kFloat32, {1, 128, 768}, false, {}};
  model.values["scale"] = {formats::kFloat32, {768}, false, {}};
  model.values["y"] = {formats::kFloat32, {1, 128, 768}, false, {}};
  Layer fused = layer("__myl_GatAddMea", {"rows", "add", "norm"});
  fused.type = "kgen";
  fused.inputs = {tensor("ids", {1, 128}), tensor("summand", {1, 128, 768}),
                  tensor("constant", {30'522, 768})};
  fused.outputs = {tensor("z", {1, 128, 768})};
  const trace::Site site = site_of(fused, model);
  EXPECT_EQ(site.type, "LayerNormalization");
  // The kernel reads only those rows of the table that are asked for.
  EXPECT_EQ(contract::attribute(site, "input_shapes"), "[[1,128,768],[768],[1,128,768]]");
  EXPECT_EQ(contract::attribute(site, "tensorrt_type"), "kgen");
}

TEST(TensorRtLayers, TheWorkIsThatOfTheOnlyProductTheOnlyReductionOrTheOnlyNode) {
  formats::Graph graph;
  graph.nodes = {node("conv", "Conv"),      node("relu", "Relu"),   node("q", "MatMul"),
                 node("k", "MatMul"),       node("add", "Add"),     node("mean", "ReduceMean"),
                 node("max", "ReduceMean"), node("soft", "Softmax")};
  const auto work = [&](Names sources) {
    const Work found = work_of(layer("x", std::move(sources)), graph);
    Names names = {found.type};
    for (const formats::Node* one : found.nodes) names.push_back(one->name);
    return names;
  };
  EXPECT_EQ(work({"conv", "relu"}), (Names{"Conv", "conv"}));
  EXPECT_EQ(work({"add", "q"}), (Names{"MatMul", "q"}));
  EXPECT_EQ(work({"relu"}), (Names{"Relu", "relu"}));
  EXPECT_EQ(work({"relu", "add"}), (Names{"Relu+Add"}));
  EXPECT_EQ(work({"q", "k"}), (Names{"MatMul"}));
  EXPECT_EQ(work({"add", "soft", "relu"}), (Names{"Softmax", "soft"}));
  EXPECT_EQ(work({"mean", "max", "add"}), (Names{"ReduceMean"}));
  EXPECT_EQ(work({"mean", "soft"}), (Names{"ReduceMean+Softmax"}));
  EXPECT_EQ(work({"not there"}), (Names{""}));
  EXPECT_EQ(work({}), (Names{""}));
  Layer unknown = layer("x", {});
  unknown.sources.reset();
  EXPECT_TRUE(work_of(unknown, graph).nodes.empty());
}

}  // namespace
}  // namespace xsp::tensorrt
