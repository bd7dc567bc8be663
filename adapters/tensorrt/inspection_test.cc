#include "adapters/tensorrt/inspection.h"

#include <gtest/gtest.h>

namespace xsp::tensorrt {
namespace {

using Names = std::vector<std::string>;

// Two layers of ResNet-50 and one of BERT, as TensorRT 10.6 describes them, without the parts that
// are not read.
constexpr const char* kEngine = R"({"Layers": [
  {"Name": "conv1 + relu", "LayerType": "CaskConvolution",
   "Inputs": [{"Name": "input", "Location": "Device", "Dimensions": [1,3,224,224],
     "Format/Datatype": "Channel major FP32 format where channel % 4 == 0"}],
   "Outputs": [{"Name": "out", "Location": "Device", "Dimensions": [1,64,112,112],
     "Format/Datatype": "Row major linear FP16"}],
   "ParameterType": "Convolution", "Weights": {"Type": "Half", "Count": 9408},
   "Bias": {"Type": "Float", "Count": 64}, "TacticName": "sm80_xmma", "StreamId": 0,
   "Metadata": "[ONNX Layer: conv1]\u001e[ONNX Layer: relu]"},
  {"Name": "fc_myl57_1", "LayerType": "gemm",
   "Inputs": [{"Name": "x", "Dimensions": [1,2048], "Format/Datatype": "Float"},
     {"Name": "__mye519_dconst", "Dimensions": [2048,1000], "Format/Datatype": "Float"},
     {"Name": "__mye510fc_alpha", "Dimensions": [1], "Format/Datatype": "Float"},
     {"Name": "__mye511fc_beta", "Dimensions": [1], "Format/Datatype": "Float"}],
   "Outputs": [{"Name": "output", "Dimensions": [1,1000], "Format/Datatype": "Float"}],
   "TacticName": "sm50_gemv", "StreamId": 0, "Metadata": "[ONNX Layer: a]\u001f[ONNX Layer: b]"},
  "bare"], "Bindings": ["input"]})";

TEST(TensorRtInspection, LayersHaveTheirFacts) {
  const std::vector<Layer> layers = read_inspection(kEngine);
  ASSERT_EQ(layers.size(), 3u);
  EXPECT_EQ(layers[0].name, "conv1 + relu");
  EXPECT_EQ(layers[0].type, "CaskConvolution");
  EXPECT_EQ(layers[0].operation, "Convolution");
  EXPECT_EQ(layers[0].tactic, "sm80_xmma");
  ASSERT_EQ(layers[0].inputs.size(), 1u);
  EXPECT_EQ(layers[0].inputs[0].dtype, "float32");
  EXPECT_EQ(layers[0].inputs[0].dimensions, (std::vector<int64_t>{1, 3, 224, 224}));
  EXPECT_EQ(layers[0].outputs.at(0).dtype, "float16");
  EXPECT_EQ(layers[0].weight_bytes, 2 * 9408 + 4 * 64);
  EXPECT_EQ(layers[0].sources, (Names{"conv1", "relu"}));
  ASSERT_EQ(layers[1].inputs.size(), 2u) << "factors are no inputs of the model";
  EXPECT_FALSE(layers[1].inputs[0].is_constant);
  EXPECT_TRUE(layers[1].inputs[1].is_constant);
  EXPECT_EQ(layers[1].sources, (Names{"a", "b"}));
  EXPECT_EQ(layers[2].name, "bare");
  EXPECT_FALSE(layers[2].sources.has_value());
}

TEST(TensorRtInspection, AMalformedTextHasNoLayers) {
  for (const char* text : {"", "[]", "{", "{\"Layers\": 3}", "{\"Layers\": [3, null]}"}) {
    EXPECT_TRUE(read_inspection(text).empty()) << text;
  }
}

TEST(TensorRtInspection, MetadataNamesTheModelsLayers) {
  EXPECT_EQ(sources_of("[ONNX Layer: conv1]\x1e[ONNX Layer: relu]"), (Names{"conv1", "relu"}));
  EXPECT_EQ(sources_of("[ONNX Layer: a[0]]"), (Names{"a[0]"}));
  EXPECT_EQ(sources_of("[ONNX Layer: twice]\x1e[ONNX Layer: twice]"), (Names{"twice"}));
  EXPECT_EQ(sources_of(""), Names{});
  EXPECT_EQ(sources_of("[ONNX Layer: cut"), Names{});
}

TEST(TensorRtInspection, RangesHaveNoNumbers) {
  EXPECT_EQ(range_of("fc_myl57_1"), "fc");
  EXPECT_EQ(range_of("__myl_DivErfAddMulMul_myl0_9"), "__myl_DivErfAddMulMul");
  EXPECT_EQ(range_of("__myl_Tan"), "__myl_Tan");
  EXPECT_EQ(range_of("conv1 + bn1"), "conv1 + bn1");
  EXPECT_EQ(range_of("x_myl1"), "x_myl1");
  EXPECT_EQ(range_of("x_myla_1"), "x_myla_1");
  EXPECT_EQ(range_of(""), "");
}

TEST(TensorRtInspection, FormatsHaveTypes) {
  EXPECT_EQ(dtype_of_format("Row major linear BFloat16"), "bfloat16");
  EXPECT_EQ(dtype_of_format("Channel major FP16 format where channel % 8 == 0"), "float16");
  EXPECT_EQ(dtype_of_format("Int64"), "int64");
  EXPECT_EQ(dtype_of_format("something else"), "");
}

}  // namespace
}  // namespace xsp::tensorrt
