#include "formats/onnx/provenance.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "formats/onnx/builder.h"
#include "formats/onnx/reader.h"

namespace xsp::formats {
namespace {

using Names = std::vector<std::string>;

// Builds a runtime's graph of a model, written down node by node.
class RuntimeGraph {
 public:
  RuntimeGraph& node(const std::string& name, const std::string& op_type, const Names& inputs,
                     const Names& outputs) {
    Node node;
    node.name = name;
    node.op_type = op_type;
    node.inputs = inputs;
    node.outputs = outputs;
    graph_.nodes.push_back(node);
    return *this;
  }
  RuntimeGraph& weight(const std::string& name) {
    graph_.initializers.emplace_back().name = name;
    return *this;
  }
  const Graph& graph() const { return graph_; }

 private:
  Graph graph_;
};

Value photo(Builder& b, int64_t channels) {
  return b.input("x", kFloat32, {symbolic("batch"), fixed(channels), fixed(8), fixed(8)});
}

void finish(Builder& b, const Value& y) { b.output(y, "y", kFloat32, {symbolic("batch")}); }

Fate fate_of(const Provenance& p, const std::string& name) {
  for (const OriginalNode& original : p.originals) {
    if (original.name == name) return original.fate;
  }
  ADD_FAILURE() << name << " is not there";
  return Fate::kRemoved;
}

// Returns two residual blocks: conv1 relu1 conv2 + shortcut relu2, twice.
Builder residual() {
  Builder b("residual");
  Value x = photo(b, 4);
  for (const char* block : {"a/", "b/"}) {
    const std::string name = block;
    Value y = b.relu(name + "relu1", b.conv(name + "conv1", x, 4, {3, 1, 1}));
    y = b.batch_norm(name + "bn2", b.conv(name + "conv2", y, 4, {3, 1, 1}));
    x = b.relu(name + "relu2", b.add(name + "add", y, x));
  }
  finish(b, b.global_average_pool("pool", x));
  return b;
}

TEST(Provenance, AGraphThatWasNotChangedStandsForItself) {
  const Builder b = residual();
  const Provenance p = trace_provenance(b.graph(), b.graph());
  for (size_t i = 0; i < p.originals.size(); ++i) {
    EXPECT_EQ(p.originals[i].fate, Fate::kExecuted);
    EXPECT_EQ(p.names(i), Names{p.originals[i].name});
  }
}

TEST(Provenance, FusedNodesThatKeepTheirOutputsNames) {
  const Builder b = residual();
  RuntimeGraph o;
  o.node("a/conv1", "FusedConv", {"x", "w"}, {"a/relu1/out"});
  o.node("a/conv2", "FusedConv", {"a/relu1/out", "w2", "bias", "x"}, {"a/relu2/out"});
  o.node("b/conv1", "FusedConv", {"a/relu2/out", "w3"}, {"b/relu1/out"});
  o.node("b/conv2", "Conv", {"b/relu1/out", "w4"}, {"b/bn2/out"});
  o.node("b/add", "Add", {"b/bn2/out", "a/relu2/out"}, {"b/add/out"});
  o.node("b/relu2", "Relu", {"b/add/out"}, {"b/relu2/out"});
  o.node("pool", "GlobalAveragePool", {"b/relu2/out"}, {"y"});
  const Provenance p = trace_provenance(b.graph(), o.graph());
  EXPECT_EQ(p.names(0), (Names{"a/conv1", "a/relu1"}));
  EXPECT_EQ(p.names(1), (Names{"a/conv2", "a/bn2", "a/add", "a/relu2"}));
  EXPECT_EQ(p.names(3), (Names{"b/conv2", "b/bn2"}));
  EXPECT_EQ(p.names(4), Names{"b/add"});
  EXPECT_EQ(fate_of(p, "b/add"), Fate::kExecuted);
  EXPECT_EQ(fate_of(p, "a/add"), Fate::kFused);
}

TEST(Provenance, ChangedLayoutsHideTheNamesOfTensors) {
  const Builder b = residual();
  RuntimeGraph o;
  o.node("ReorderInput", "ReorderInput", {"x"}, {"r0"});
  o.node("a/relu1/out_nchwc", "Conv", {"r0", "w"}, {"r1"});
  // The node has the name of the batch normalisation; it also adds the shortcut and applies the
  // ReLU.
  o.node("a/bn2/out_nchwc", "Conv", {"r1", "w2", "bias", "r0"}, {"r2"});
  o.node("b/relu1/out_nchwc_token_7", "Conv", {"r2", "w3"}, {"r3"});
  o.node("b/bn2/out_nchwc", "Conv", {"r3", "w4", "bias", "r2"}, {"r4"});
  o.node("y_nchwc", "GlobalAveragePool", {"r4"}, {"r5"});
  o.node("ReorderOutput", "ReorderOutput", {"r5"}, {"y"});
  const Provenance p = trace_provenance(b.graph(), o.graph());
  EXPECT_EQ(p.names(0), Names{});
  EXPECT_EQ(p.names(1), (Names{"a/conv1", "a/relu1"}));
  EXPECT_EQ(p.names(2), (Names{"a/conv2", "a/bn2", "a/add", "a/relu2"}));
  EXPECT_EQ(p.names(3), (Names{"b/conv1", "b/relu1"}));
  EXPECT_EQ(p.names(4), (Names{"b/conv2", "b/bn2", "b/add", "b/relu2"}));
  EXPECT_EQ(p.names(5), Names{"pool"});
  EXPECT_EQ(p.names(6), Names{});
}

TEST(Provenance, AReorderingMayAbsorbATranspose) {
  Builder b("m");
  const Value y = b.conv("conv", photo(b, 4), 8, {});
  finish(b, b.transpose("transpose", y, {0, 2, 3, 1}));
  RuntimeGraph o;
  o.node("conv/out_nchwc", "Conv", {"x", "w"}, {"r0"});
  o.node("ReorderOutput", "ReorderOutput", {"r0"}, {"y"});
  const Provenance p = trace_provenance(b.graph(), o.graph());
  EXPECT_EQ(p.names(0), Names{"conv"});
  EXPECT_EQ(p.names(1), Names{"transpose"});
}

TEST(Provenance, ConstantsAndWhatFollowsFromThemAreFolded) {
  Builder b("m");
  const Value table = b.weight("table", {4, 8}, {0, 1});
  const Value turned = b.transpose("turn", table, {1, 0});
  const Value x = b.input("x", kFloat32, {symbolic("batch"), fixed(8)});
  const Value shape = b.unary("shape", "Shape", x);
  const Value width = b.gather("width", shape, b.constant("one", {1}), 0);
  Value y = b.node("product", "MatMul", {x, turned});
  y = b.binary("scaled", "Mul", y, b.node("cast", "Cast", {width}));
  finish(b, y);
  RuntimeGraph o;
  o.weight("turn/out").weight("cast/out");
  o.node("product", "MatMul", {"x", "turn/out"}, {"product/out"});
  o.node("scaled", "Mul", {"product/out", "cast/out"}, {"y"});
  const Provenance p = trace_provenance(b.graph(), o.graph());
  EXPECT_EQ(p.names(0), Names{"product"});
  EXPECT_EQ(p.names(1), Names{"scaled"});
  for (const char* folded : {"turn", "shape", "width", "one", "cast"}) {
    EXPECT_EQ(fate_of(p, folded), Fate::kFolded) << folded;
  }
}

TEST(Provenance, EqualNodesAreExecutedOnce) {
  Builder b("m");
  const Value x = photo(b, 4);
  const Value first = b.unary("first", "Exp", x);
  const Value second = b.unary("second", "Exp", x);
  finish(b, b.add("sum", b.unary("tanh", "Tanh", first), second));
  RuntimeGraph o;
  o.node("first", "Exp", {"x"}, {"first/out"});
  o.node("tanh", "Tanh", {"first/out"}, {"tanh/out"});
  o.node("sum", "Add", {"tanh/out", "first/out"}, {"y"});
  const Provenance p = trace_provenance(b.graph(), o.graph());
  EXPECT_EQ(p.names(0), (Names{"first", "second"}));
  EXPECT_EQ(p.names(2), Names{"sum"});
}

TEST(Provenance, WhatIsSkippedBelongsToItsReader) {
  Builder b("m");
  const Value x = photo(b, 4);
  const Value same = b.unary("same", "Identity", x);
  finish(b, b.relu("relu", same));
  b.unary("unused", "Exp", x);
  RuntimeGraph o;
  o.node("relu", "Relu", {"x"}, {"y"});
  const Provenance p = trace_provenance(b.graph(), o.graph());
  EXPECT_EQ(p.names(0), (Names{"same", "relu"}));
  EXPECT_EQ(fate_of(p, "unused"), Fate::kRemoved);
}

TEST(Provenance, FusionsWithNamesOfTheRuntimesOwn) {
  Builder b("m");
  const Value x = b.input("x", kFloat32, {symbolic("batch"), fixed(8)});
  Value y = b.dense("dense", {"x", 8}, 8);
  y = b.binary("gelu/Mul", "Mul", y, b.unary("gelu/Erf", "Erf", y));
  finish(b, y);
  RuntimeGraph o;
  o.node("dense/MatMul", "MatMul", {"x", "dense/weight"}, {"dense/MatMul/out"});
  o.node("BiasGelu", "BiasGelu", {"dense/MatMul/out", "dense/bias"}, {"y"});
  const Provenance p = trace_provenance(b.graph(), o.graph());
  EXPECT_EQ(p.names(0), Names{"dense/MatMul"});
  EXPECT_EQ(p.names(1), (Names{"dense/Add", "gelu/Erf", "gelu/Mul"}));
}

TEST(Provenance, NodesWithoutNamesAreCalledByTheirPlace) {
  Builder b("m");
  finish(b, b.relu("", photo(b, 4)));
  RuntimeGraph o;
  o.node("", "Relu", {"x"}, {"y"});
  EXPECT_EQ(trace_provenance(b.graph(), o.graph()).names(0), Names{"Relu_0"});
}

TEST(Provenance, AForeignGraphStandsForNothing) {
  const Builder b = residual();
  RuntimeGraph o;
  o.node("other", "Exp", {"somewhere"}, {"else"});
  o.node("", "Exp", {}, {});
  const Provenance p = trace_provenance(b.graph(), o.graph());
  EXPECT_EQ(p.names(0), Names{});
  EXPECT_EQ(fate_of(p, "a/conv1"), Fate::kRemoved);
}

}  // namespace
}  // namespace xsp::formats
