#include "collectors/library_calls/plan_json.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace xsp::library_calls {
namespace {

// Returns the facts as text; commas separate the numbers of a list.
std::map<std::string, std::string> facts_of(const std::string& json) {
  Problem problem;
  add_plan_facts(json.c_str(), &problem);
  std::map<std::string, std::string> facts;
  for (const Problem::Value& value : problem) {
    std::string& text = facts[value.field->key];
    if (value.field->kind == FieldKind::kText) {
      text = reinterpret_cast<const char*>(static_cast<intptr_t>(value.value));
    } else {
      text += (text.empty() ? "" : ",") + std::to_string(value.value);
    }
  }
  return facts;
}

std::string tensor(const std::string& name, const std::string& type, const std::string& dimensions,
                   bool by_value = false) {
  return "{\"name\":\"" + name + "\",\"dataType\":\"CUDNN_DATA_" + type + "\",\"dim\":[" +
         dimensions + "],\"stride\":[1,1,1,1],\"isVirtual\":false,\"isByValue\":" +
         (by_value ? "true" : "false") + ",\"vectCount\":1}";
}

const std::string kConvolution =
    R"({"cudnnVersion":91900,"operationGraph":{"finalizeMode":"CONV_FORWARD","tensors":[)" +
    tensor("119", "HALF", "8,3,3,3") + "," + tensor("120", "HALF", "2,3,32,32") + "," +
    tensor("121", "FLOAT", "2,8,32,32") +
    R"(],"nodes":[{"operation":"CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR",)"
    R"("mode":"CUDNN_CROSS_CORRELATION","alpha":1.0,"pad":[1,1],"stride":[2,1],"dilation":[1,1],)"
    R"("X":"120","W":"119","Y":"121"},)"
    R"({"operation":"CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR","X":"121"}]},)"
    R"("GPUProfile":{"deviceName":"a \"}] b"},"engine":{"engineId":70,"knobChoices":{}}})";

TEST(PlanJsonTest, AConvolutionHasItsTensorsAndItsEngine) {
  const auto facts = facts_of(kConvolution);
  EXPECT_EQ(facts.at("operation"), "convolution_forward+pointwise");
  EXPECT_EQ(facts.at("x_shape"), "2,3,32,32");
  EXPECT_EQ(facts.at("x_dtype"), "float16");
  EXPECT_EQ(facts.at("w_shape"), "8,3,3,3");
  EXPECT_EQ(facts.at("y_shape"), "2,8,32,32");
  EXPECT_EQ(facts.at("y_dtype"), "float32");
  EXPECT_EQ(facts.at("padding"), "1,1");
  EXPECT_EQ(facts.at("stride"), "2,1");
  EXPECT_EQ(facts.at("engine"), "70");
}

TEST(PlanJsonTest, NumbersThatLieInThePlanAreNoTensors) {
  const auto facts =
      facts_of(R"({"operationGraph":{"tensors":[)" + tensor("0", "HALF", "2,4,64,32") + "," +
               tensor("5", "FLOAT", "1,1,1,1", true) +
               R"(],"nodes":[{"operation":"CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR",)"
               R"("Q":"0","scale":"5"}]},"engine":{"engineId":9}})");
  EXPECT_EQ(facts.at("operation"), "sdpa_fwd");
  EXPECT_EQ(facts.at("q_shape"), "2,4,64,32");
  EXPECT_EQ(facts.count("scale_shape"), 0u);
}

// Wherever the text is cut, and whatever its content, the parts that are there are read.
TEST(PlanJsonTest, AnyTextIsSurvived) {
  for (size_t size = 0; size <= kConvolution.size(); ++size) facts_of(kConvolution.substr(0, size));
  for (size_t at = 0; at < kConvolution.size(); ++at) {
    for (const char c : {'"', '{', ']', '\\', '9'}) {
      std::string changed = kConvolution;
      changed[at] = c;
      facts_of(changed);
    }
  }
  EXPECT_TRUE(facts_of("").empty());
  EXPECT_EQ(facts_of(R"({"engineId":3})").at("engine"), "3");
}

}  // namespace
}  // namespace xsp::library_calls
