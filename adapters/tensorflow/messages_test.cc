#include "adapters/tensorflow/messages.h"

#include <gtest/gtest.h>

#include "adapters/tensorflow/layers.h"
#include "formats/wire/wire.h"

namespace xsp::tf {
namespace {

using formats::wire::put_bytes;
using formats::wire::put_integer;

Bytes bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string node(const std::string& name, const std::string& op,
                 const std::vector<std::string>& inputs) {
  std::string text;
  put_bytes(&text, 1, name);
  put_bytes(&text, 2, op);
  for (const std::string& input : inputs) put_bytes(&text, 3, input);
  return text;
}

// Returns x -> conv (weight) -> bn (weight + one) -> relu; no node reads `unused`.
GraphDef small_graph() {
  std::string graph;
  for (const std::string& one :
       {node("relu", "Relu", {"bn:0"}), node("x", "Placeholder", {}), node("weight", "Const", {}),
        node("conv", "Conv2D", {"x", "weight"}), node("sum", "Add", {"weight", "weight"}),
        node("bn", "FusedBatchNormV3", {"conv", "weight", "sum", "^x"}),
        node("unused", "Abs", {"x"})}) {
    put_bytes(&graph, 1, one);
  }
  return read_graph(bytes_of(graph));
}

std::string stats(const std::string& name, const std::string& label, int64_t start_ns,
                  int64_t duration_ns) {
  std::string dimension, shape, tensor, output, memory, text;
  put_integer(&dimension, 1, 7);
  put_bytes(&shape, 2, dimension);
  put_integer(&tensor, 1, 1);
  put_bytes(&tensor, 2, shape);
  put_bytes(&output, 3, tensor);
  put_integer(&memory, 2, 64);
  put_bytes(&text, 1, name);
  put_integer(&text, 2, start_ns / 1000);
  put_integer(&text, 5, duration_ns / 1000);
  put_bytes(&text, 6, memory);
  put_bytes(&text, 7, output);
  put_bytes(&text, 8, label);
  put_integer(&text, 13, start_ns);
  put_integer(&text, 16, duration_ns);
  return text;
}

std::string device(const std::string& name, const std::vector<std::string>& nodes) {
  std::string device_stats, step_stats, metadata;
  put_bytes(&device_stats, 1, name);
  for (const std::string& one : nodes) put_bytes(&device_stats, 2, one);
  put_bytes(&step_stats, 1, device_stats);
  put_bytes(&metadata, 1, step_stats);
  return metadata;
}

constexpr const char* kCpu = "/job:localhost/replica:0/task:0/device:CPU:0";

TEST(TensorFlowMessages, ExecutionsAreReadInOrderOfTheirBeginning) {
  const std::string metadata =
      device(kCpu, {stats("b", "[cpu 1.2MB 1.2MB] b = Op(a:1, ^c)", 5'000'200, 3'100),
                    stats("a", "a = Const()", 5'000'100, 50)}) +
      device("/host:CPU", {stats("b", "b", 5'000'200, 3'100)});
  const auto executions = read_executions(bytes_of(metadata));
  ASSERT_EQ(executions.size(), 2u);
  EXPECT_EQ(executions[0].node, "a");
  EXPECT_EQ(op_of(executions[0]), "Const");
  EXPECT_TRUE(inputs_of(executions[0]).empty());
  EXPECT_EQ(op_of(executions[1]), "Op");
  EXPECT_EQ(inputs_of(executions[1]), std::vector<std::string_view>{"a:1"});
  EXPECT_EQ(executions[1].start_ns, 5'000'200);
  EXPECT_EQ(executions[1].end_ns, 5'003'300);
  EXPECT_EQ(executions[1].allocated_bytes, 64);
  ASSERT_EQ(executions[1].outputs.size(), 1u);
  EXPECT_EQ(executions[1].outputs[0].dimensions, std::vector<int64_t>{7});
  EXPECT_EQ(executions[1].outputs[0].bytes(), 28);
}

TEST(TensorFlowMessages, WhatBreaksOffIsReadAsFarAsItGoes) {
  const std::string metadata = device(kCpu, {stats("a", "a = Op()", 1000, 10)});
  for (size_t size = 0; size < metadata.size(); ++size) {
    const std::string cut = metadata.substr(0, size);
    EXPECT_LE(read_executions(bytes_of(cut)).size(), 1u);
    EXPECT_TRUE(read_graph(bytes_of(cut)).nodes.size() <= 1);
    (void)read_saved_model(bytes_of(cut));
  }
}

TEST(TensorFlowMessages, ShapesThatAreNotKnownHaveNoSize) {
  EXPECT_EQ((Value{1, true, {2, 3}}).bytes(), 24);
  EXPECT_EQ((Value{1, true, {}}).bytes(), 4);
  EXPECT_EQ((Value{1, true, {-1, 3}}).bytes(), -1);
  EXPECT_EQ((Value{1, false, {}}).bytes(), -1);
  EXPECT_EQ((Value{7, true, {2}}).bytes(), -1);  // text
  EXPECT_EQ((Value{1, true, {int64_t{1} << 40, int64_t{1} << 40}}).bytes(), -1);
}

TEST(TensorFlowProvenance, AFusedNodeStandsForAllBetweenItsInputsAndItself) {
  const GraphDef own = small_graph();
  const Provenance provenance(own);
  ASSERT_TRUE(provenance.is_known());
  const std::vector<std::string> all = {"conv", "bn", "relu"};
  EXPECT_EQ(provenance.sources("relu", {"_arg_x_0_0", "weight"}), all);
  EXPECT_EQ(provenance.sources("relu", {"bn"}), std::vector<std::string>{"relu"});
  EXPECT_TRUE(provenance.sources("relu-0-LayoutOptimizer", {"bn"}).empty());
  EXPECT_EQ(provenance.folded(), std::vector<std::string>{"sum"});
  EXPECT_EQ(provenance.removed({"conv", "bn", "relu"}), std::vector<std::string>{"unused"});
}

}  // namespace
}  // namespace xsp::tf
