#include <gtest/gtest.h>

#include "adapters/onnxruntime/layers.h"

namespace xsp::ort {
namespace {

using Shape = std::vector<int64_t>;

NodeEvent event_of(const char* name, const char* op_type, const char* inputs, const char* outputs) {
  NodeEvent event;
  event.name = name;
  event.op_type = op_type;
  event.input_shapes = inputs;
  event.output_shapes = outputs;
  event.activation_bytes = 100'000;
  event.output_bytes = 100'000;
  return event;
}

// Returns a convolution of a tensor in blocks with weights; both are padded.
GraphNode convolution(int64_t channels_in, int64_t channels_out) {
  GraphNode node;
  GraphNode::Input x, w;
  x.channels = channels_in;
  w.is_weight = true;
  w.value = {"float32", {16, 16, 3, 3}};
  w.bytes = 16 * 16 * 9 * 4;
  if (channels_out > 0) w.own_shape = Shape{channels_out, channels_in, 3, 3};
  node.inputs = {x, w};
  node.outputs = {channels_out};
  return node;
}

TEST(OnnxRuntimeTensors, PaddingIsTakenOffShapesAndBytes) {
  const NodeEvent event =
      event_of("y_nchwc", "Conv", R"([{"float":[1,16,8,8]}])", R"([{"float":[1,16,8,8]}])");
  const GraphNode node = convolution(12, 9);
  const Tensors tensors = tensors_of(event, &node);
  EXPECT_TRUE(tensors.is_known);
  ASSERT_EQ(tensors.inputs.size(), 2u);  // the weights are completed before they are unpadded
  EXPECT_EQ(tensors.inputs[0].shape, (Shape{1, 12, 8, 8}));
  EXPECT_EQ(tensors.inputs[1].shape, (Shape{9, 12, 3, 3}));
  EXPECT_EQ(tensors.outputs[0].shape, (Shape{1, 9, 8, 8}));
  EXPECT_EQ(tensors.padded_inputs[1].shape, (Shape{16, 16, 3, 3}));
  EXPECT_EQ(tensors.padded_outputs[0].shape, (Shape{1, 16, 8, 8}));
  EXPECT_EQ(tensors.parameter_bytes, 9 * 12 * 9 * 4);
  EXPECT_EQ(tensors.activation_bytes, 100'000 - 4 * 64 * 4);
  EXPECT_EQ(tensors.output_bytes, 100'000 - 7 * 64 * 4);
}

TEST(OnnxRuntimeTensors, WhatIsNotKnownIsTheRuntimesAndMarked) {
  const NodeEvent event =
      event_of("y_nchwc", "Conv", R"([{"float":[1,16,8,8]}])", R"([{"float":[1,16,8,8]}])");
  const GraphNode node = convolution(formats::Blocks::kNotKnown, formats::Blocks::kNotKnown);
  for (const GraphNode* known : {&node, static_cast<const GraphNode*>(nullptr)}) {
    const Tensors tensors = tensors_of(event, known);
    EXPECT_FALSE(tensors.is_known);
    EXPECT_EQ(tensors.outputs[0].shape, (Shape{1, 16, 8, 8}));
    EXPECT_EQ(tensors.outputs, tensors.padded_outputs);
    EXPECT_EQ(tensors.output_bytes, 100'000);
  }
  const NodeEvent plain = event_of("y", "Conv", R"([{"float":[1,16,8,8]}])", "[]");
  EXPECT_TRUE(tensors_of(plain, nullptr).is_known);
}

TEST(OnnxRuntimeTensors, ReorderingsTellThemselves) {
  struct Case {
    const char* op_type;
    const char* inputs;
    const char* outputs;
  };
  for (const Case& one :
       {Case{"ReorderInput", R"([{"float":[1,12,8,6]}])", R"([{"float":[1,16,8,6]}])"},
        Case{"ReorderInput", R"([{"float":[1,8,6,12]}])", R"([{"float":[1,16,8,6]}])"},
        Case{"ReorderOutput", R"([{"float":[1,16,8,6]}])", R"([{"float":[1,12,8,6]}])"},
        Case{"ReorderOutput", R"([{"float":[1,16,8,6]}])", R"([{"float":[1,8,6,12]}])"}}) {
    const Tensors tensors =
        tensors_of(event_of("r", one.op_type, one.inputs, one.outputs), nullptr);
    EXPECT_TRUE(tensors.is_known);
    const bool leads_in = std::string(one.op_type) == "ReorderInput";
    const Value& blocked = leads_in ? tensors.outputs[0] : tensors.inputs[0];
    EXPECT_EQ(blocked.shape, (Shape{1, 12, 8, 6})) << one.inputs << one.outputs;
  }
}

TEST(OnnxRuntimeTensors, ALayerHasTheModelsNameAndNotThatOfABlockedTensor) {
  const NodeEvent event = event_of("/out_nchwc", "Conv", "[]", "[]");
  GraphNode node;
  EXPECT_EQ(name_of(event, nullptr), "/out_nchwc");
  EXPECT_EQ(name_of(event, &node), "/out_nchwc");
  node.sources = {{"/conv1/Conv", "/relu1/Relu"}};
  EXPECT_EQ(name_of(event, &node), "/conv1/Conv");
  node.sources = std::vector<std::string>();  // the runtime added the node
  EXPECT_EQ(name_of(event, &node), "/out_nchwc");
}

}  // namespace
}  // namespace xsp::ort
