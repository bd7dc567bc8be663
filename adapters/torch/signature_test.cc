#include "adapters/torch/signature.h"

#include <gtest/gtest.h>

namespace xsp::torch_adapter {
namespace {

TEST(Signature, LinesAreInputsAndOutputs) {
  Signature signature;
  EXPECT_EQ(parse_signature("input\tids\tint64\tbatch,128\ninput\tscale\tfloat32\t\n"
                            "output\ty\tbfloat16\tbatch,3\n",
                            &signature),
            "");
  ASSERT_EQ(signature.inputs.size(), 2u);
  ASSERT_EQ(signature.outputs.size(), 1u);
  EXPECT_EQ(signature.inputs[0].name, "ids");
  EXPECT_EQ(signature.inputs[0].dtype, static_cast<uint32_t>(XSP_INT64));
  EXPECT_EQ(signature.inputs[0].dimensions, (std::vector<int64_t>{-1, 128}));
  EXPECT_EQ(signature.inputs[0].symbols, (std::vector<std::string>{"batch", ""}));
  EXPECT_TRUE(signature.inputs[1].dimensions.empty());
  EXPECT_EQ(signature.outputs[0].dtype, static_cast<uint32_t>(XSP_BFLOAT16));
}

TEST(Signature, IntegersMayHaveALimit) {
  Signature signature;
  EXPECT_EQ(parse_signature("input rows int64 batch,26 <3; input n int32 <7", &signature), "");
  ASSERT_EQ(signature.inputs.size(), 2u);
  EXPECT_EQ(signature.inputs[0].below, 3u);
  EXPECT_EQ(signature.inputs[0].dimensions.size(), 2u);
  EXPECT_EQ(signature.inputs[1].below, 7u);
  EXPECT_TRUE(signature.inputs[1].dimensions.empty());
  Infos infos;
  infos.set(signature.inputs);
  EXPECT_EQ(infos.data()[0].below, 3u);
}

TEST(Signature, SpacesAndSemicolonsDo) {
  Signature signature;
  EXPECT_EQ(parse_signature(" input x float32 2,3 ; input y uint8 1", &signature), "");
  ASSERT_EQ(signature.inputs.size(), 2u);
  EXPECT_EQ(signature.inputs[1].name, "y");
}

TEST(Signature, SaysWhatIsWrong) {
  Signature signature;
  for (const char* text :
       {"inptu x float32 1", "input x float33 1", "input x float32 1,-2", "input x float32 1,,2",
        "input x float32 1 2", "input x", "input x int64 1 <", "input x int64 1 <0",
        "input x int64 1 <-2", "input x int64 1 <2 3", "input x float32 99999999999999999999",
        "input x float32 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"}) {
    EXPECT_NE(parse_signature(text, &signature), "") << text;
  }
}

TEST(Signature, TensorsAreHeldAgainstIt) {
  Signature signature;
  ASSERT_EQ(parse_signature("input x float32 batch,3", &signature), "");
  const int64_t good[] = {2, 3}, bad[] = {2, 4}, huge[] = {int64_t{1} << 62, 3};
  const float values[8] = {};
  xsp_tensor tensor{sizeof tensor, "x", XSP_FLOAT32, 2, good, values, 24};
  EXPECT_EQ(mismatch(signature.inputs[0], tensor), "");
  tensor.data_bytes = 23;
  EXPECT_NE(mismatch(signature.inputs[0], tensor), "");
  tensor.data_bytes = 32;
  tensor.dimensions = bad;
  EXPECT_NE(mismatch(signature.inputs[0], tensor), "");
  tensor.dimensions = huge;
  EXPECT_NE(mismatch(signature.inputs[0], tensor), "");
}

}  // namespace
}  // namespace xsp::torch_adapter
