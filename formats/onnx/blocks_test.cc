#include "formats/onnx/blocks.h"

#include <gtest/gtest.h>

#include "formats/onnx/builder.h"
#include "zoo/shared/recipe.h"

namespace xsp::formats {
namespace {

using Names = std::vector<std::string>;
using Dims = std::vector<int64_t>;

// Builds a graph as a runtime makes it, written down node by node.
class Optimised {
 public:
  Optimised& node(const std::string& name, const std::string& op_type, const Names& inputs,
                  const Names& outputs, const std::string& domain = "com.microsoft.nchwc") {
    Node& node = graph_.nodes.emplace_back();
    node.name = name;
    node.op_type = op_type;
    node.domain = domain;
    node.inputs = inputs;
    node.outputs = outputs;
    return *this;
  }
  // Adds an attribute to the last node.
  Optimised& integer(const std::string& name, int64_t value) {
    Attribute& attribute = graph_.nodes.back().attributes.emplace_back();
    attribute.name = name;
    attribute.kind = AttributeKind::kInt;
    attribute.i = value;
    return *this;
  }
  Optimised& weight(const std::string& name, const Dims& dimensions) {
    Tensor& tensor = graph_.initializers.emplace_back();
    tensor.name = name;
    tensor.dimensions = dimensions;
    return *this;
  }
  const Graph& graph() const { return graph_; }
  Blocks blocks() const { return Blocks(graph_, nullptr, nullptr); }
  Blocks blocks(const Builder& model) const {
    const Provenance provenance = trace_provenance(model.graph(), graph_);
    return Blocks(graph_, &model.graph(), &provenance);
  }

 private:
  Graph graph_;
};

Value image(Builder& b, int64_t channels) {
  return b.input("x", kFloat32, {symbolic("batch"), fixed(channels), fixed(8), fixed(8)});
}

TEST(Blocks, TheModelsWeightsTellTheChannelsBetweenConvolutions) {
  Builder b("m");
  Value y = b.relu("relu1", b.conv("conv1", image(b, 3), 12, {3, 1, 1}));
  y = b.batch_norm("bn2", b.conv("conv2", y, 20, {3, 1, 1}));
  b.output(b.relu("relu3", b.conv("conv3", y, 24, {})), "y", kFloat32, {symbolic("batch")});
  Optimised o;
  o.weight("w1", {16, 3, 3, 3}).weight("w2", {32, 16, 3, 3}).weight("w3", {32, 32, 1, 1});
  o.weight("b2", {32});
  o.node("relu1/out_nchwc", "Conv", {"x", "w1"}, {"r0"});
  o.node("bn2/out_nchwc", "Conv", {"r0", "w2", "b2"}, {"r1"});
  o.node("conv3/out_nchwc", "Conv", {"r1", "w3"}, {"r2"});
  o.node("relu3", "Relu", {"r2"}, {"r3"}, "");
  o.node("out", "ReorderOutput", {"r3"}, {"y"}).integer("channels", 24);
  const Blocks blocks = o.blocks(b);
  EXPECT_EQ(blocks.channels("x"), std::nullopt);
  EXPECT_EQ(blocks.channels("y"), std::nullopt);
  EXPECT_EQ(blocks.channels("r0"), 12);
  EXPECT_EQ(blocks.channels("r1"), 20);
  EXPECT_EQ(blocks.channels("r2"), 24);
  EXPECT_EQ(blocks.channels("r3"), 24);
  const auto& nodes = o.graph().nodes;
  EXPECT_EQ(blocks.weight_shape(nodes[0], 1, {16, 3, 3, 3}), (Dims{12, 3, 3, 3}));
  EXPECT_EQ(blocks.weight_shape(nodes[1], 1, {32, 16, 3, 3}), (Dims{20, 12, 3, 3}));
  EXPECT_EQ(blocks.weight_shape(nodes[1], 2, {32}), Dims{20});
  EXPECT_EQ(blocks.weight_shape(nodes[2], 1, {32, 32, 1, 1}), (Dims{24, 20, 1, 1}));
}

TEST(Blocks, WithoutTheModelTheWayOutTells) {
  Optimised o;
  o.weight("w1", {16, 3, 3, 3}).weight("w2", {16, 16, 3, 3}).weight("w3", {16, 16, 3, 3});
  o.node("a", "Conv", {"x", "w1"}, {"r0"});
  o.node("b", "Conv", {"r0", "w2", "", "r2"}, {"r1"});
  o.node("c", "Relu", {"r0"}, {"r2"}, "");
  o.node("d", "Conv", {"r1", "w3"}, {"r3"});
  o.node("pool", "GlobalAveragePool", {"r1"}, {"r4"});
  o.node("out", "ReorderOutput", {"r4"}, {"y"}).integer("channels", 9);
  const Blocks blocks = o.blocks();
  // The pooling gets the number from its input, that one from the sum, and so on.
  for (const char* name : {"r4", "r1", "r2", "r0"}) EXPECT_EQ(blocks.channels(name), 9) << name;
  EXPECT_EQ(blocks.channels("r3"), Blocks::kNotKnown);
  EXPECT_EQ(blocks.weight_shape(o.graph().nodes[3], 1, {16, 16, 3, 3}), std::nullopt);
  EXPECT_EQ(blocks.weight_shape(o.graph().nodes[1], 1, {16, 16, 3, 3}), (Dims{9, 9, 3, 3}));
}

TEST(Blocks, DepthwiseAndLoneNormalisationsKeepTheirSecondDimension) {
  Builder b("m");
  Value y = b.conv("conv", image(b, 3), 12, {3, 1, 1});
  y = b.relu("relu", y);
  y = b.batch_norm("bn", y);
  y = b.conv("depthwise", y, 12, {3, 1, 1, 12});
  b.output(b.global_average_pool("pool", y), "y", kFloat32, {symbolic("batch")});
  Optimised o;
  o.weight("w1", {16, 3, 3, 3}).weight("w2", {16, 1, 1, 1}).weight("w3", {16, 1, 3, 3});
  o.node("relu/out_nchwc", "Conv", {"x", "w1"}, {"r0"});
  o.node("bn/out_bn_nchwc", "Conv", {"r0", "w2"}, {"r1"}).integer("group", 16);
  o.node("depthwise/out_nchwc", "Conv", {"r1", "w3"}, {"r2"}).integer("group", 16);
  o.node("out", "ReorderOutput", {"r2"}, {"depthwise/out"}).integer("channels", 12);
  o.node("pool", "GlobalAveragePool", {"depthwise/out"}, {"y"}, "");
  const Blocks blocks = o.blocks(b);
  for (const char* name : {"r0", "r1", "r2"}) EXPECT_EQ(blocks.channels(name), 12) << name;
  EXPECT_EQ(blocks.weight_shape(o.graph().nodes[1], 1, {16, 1, 1, 1}), (Dims{12, 1, 1, 1}));
  EXPECT_EQ(blocks.weight_shape(o.graph().nodes[2], 1, {16, 1, 3, 3}), (Dims{12, 1, 3, 3}));
}

TEST(Blocks, PoolingsThatLeadInAndConcatenationsAreNotPadded) {
  Optimised o;
  o.weight("w", {16, 16, 1, 1});
  o.node("in", "ReorderInput", {"x"}, {"r0"});
  o.node("pool", "MaxPool", {"r0"}, {"r1"});
  o.node("conv", "Conv", {"r1", "w"}, {"r2"});
  o.node("concat", "Concat", {"r1", "r2"}, {"r3"}, "");
  for (const char* name : {"r0", "r1", "r2", "r3"}) {
    EXPECT_EQ(o.blocks().channels(name), Blocks::kNotPadded) << name;
  }
  EXPECT_EQ(o.blocks().weight_shape(o.graph().nodes[2], 1, {16, 16, 1, 1}), (Dims{16, 16, 1, 1}));
}

TEST(Blocks, WeightsThatDoNotFitAreNotBelieved) {
  Builder b("m");
  b.output(b.conv("conv", image(b, 3), 8, {3, 1, 1}), "y", kFloat32, {symbolic("batch")});
  Optimised o;
  o.weight("w", {256, 3, 3, 3});
  o.node("conv/out_nchwc", "Conv", {"x", "w"}, {"r0"});
  EXPECT_EQ(o.blocks(b).channels("r0"), Blocks::kNotKnown);
}

TEST(Blocks, AGraphOutsideTheLayoutHasNone) {
  Builder b("m");
  b.output(b.conv("conv", image(b, 3), 8, {3, 1, 1}), "y", kFloat32, {symbolic("batch")});
  const Provenance same = trace_provenance(b.graph(), b.graph());
  const Blocks blocks(b.graph(), &b.graph(), &same);
  EXPECT_EQ(blocks.channels("conv/out"), std::nullopt);
  EXPECT_EQ(blocks.weight_shape(b.graph().nodes[0], 1, {8, 3, 3, 3}), (Dims{8, 3, 3, 3}));
}

TEST(Blocks, ShapesLoseTheirPaddingAndTheirBlocks) {
  EXPECT_EQ(without_blocks({2, 16, 8, 8}, 12), (Dims{2, 12, 8, 8}));
  EXPECT_EQ(without_blocks({2, 1, 8, 8, 16}, 12), (Dims{2, 12, 8, 8}));
  EXPECT_EQ(without_blocks({2, 2, 8, 8, 16}, Blocks::kNotPadded), (Dims{2, 32, 8, 8}));
  EXPECT_EQ(without_blocks({2, 16, 8, 8}, Blocks::kNotPadded), (Dims{2, 16, 8, 8}));
  EXPECT_EQ(without_blocks({2, 16, 8, 8}, Blocks::kNotKnown), std::nullopt);
  EXPECT_EQ(without_blocks({2, 16, 8, 8}, 17), std::nullopt);
  EXPECT_EQ(without_blocks({2, 256, 8, 8}, 12), std::nullopt);
  EXPECT_EQ(without_blocks({2, INT64_MAX, 8, 8, 16}, 12), std::nullopt);
  EXPECT_EQ(without_blocks({2, INT64_MIN, 8, 8, 16}, 12), std::nullopt);
  EXPECT_EQ(without_blocks({16}, 12), std::nullopt);
}

}  // namespace
}  // namespace xsp::formats
