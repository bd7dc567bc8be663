#include "desk/compare/align.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>

#include "desk/analyze/prelude.h"
#include "desk/analyze/run.h"
#include "desk/compare/types.h"
#include "tests/places.h"

namespace xsp::compare {
namespace {

using Layers = std::vector<AlignedLayer>;

// Returns "name:0,1=2 ...": the kind of match, the first side's layers, the second side's.
std::string pairs_of(const std::vector<Match>& matches) {
  std::string text;
  const auto list = [](const std::vector<size_t>& indices) {
    std::string joined;
    for (const size_t i : indices) joined += (joined.empty() ? "" : ",") + std::to_string(i);
    return joined;
  };
  for (const Match& one : matches) {
    text += (text.empty() ? "" : " ") + std::string(name_of(one.how)) + ":" + list(one.first) +
            "=" + list(one.second);
  }
  return text;
}
std::string aligned(const Layers& first, const Layers& second) {
  return pairs_of(align(first, second));
}

const Layers kPlain = {{"conv1", "Conv", {}, 100},
                       {"bn1", "BatchNormalization", {}, 100},
                       {"relu1", "Relu", {}, 100},
                       {"pool", "MaxPool", {}, 25},
                       {"fc", "Gemm", {}, 10}};

TEST(CompareAlign, AModelIsItself) {
  EXPECT_EQ(aligned(kPlain, kPlain), "name:0=0 name:1=1 name:2=2 name:3=3 name:4=4");
  EXPECT_EQ(aligned({}, {}), "");
}

TEST(CompareAlign, OneSideAloneHasNoCounterpart) {
  EXPECT_EQ(aligned({{"a", "Conv", {}, 1}}, {}), "none:0=");
  EXPECT_EQ(aligned({}, {{"a", "Conv", {}, 1}}), "none:=0");
}

TEST(CompareAlign, InsertedAndRemovedLayers) {
  Layers more = kPlain;
  more.insert(more.begin() + 3, {"extra", "Softmax", {}, 7});
  EXPECT_EQ(aligned(kPlain, more), "name:0=0 name:1=1 name:2=2 none:=3 name:3=4 name:4=5");
  EXPECT_EQ(aligned(more, kPlain), "name:0=0 name:1=1 name:2=2 none:3= name:4=3 name:5=4");
}

TEST(CompareAlign, ReorderedLayersKeepTheirNames) {
  const Layers turned = {kPlain[4], kPlain[2], kPlain[0], kPlain[1], kPlain[3]};
  EXPECT_EQ(aligned(kPlain, turned), "name:0=2 name:1=3 name:2=1 name:3=4 name:4=0");
}

TEST(CompareAlign, RenamedLayersGoByOrderAndType) {
  const Layers other = {{"c", "aten::conv2d", {}, 100},
                        {"b", "aten::batch_norm", {}, 100},
                        {"r", "aten::relu_", {}, 100},
                        {"p", "aten::max_pool2d", {}, 25},
                        {"l", "aten::linear", {}, 10}};
  EXPECT_EQ(aligned(kPlain, other), "order:0=0 order:1=1 order:2=2 order:3=3 order:4=4");
}

TEST(CompareAlign, SizeDecidesBetweenLayersOfOneType) {
  const Layers two = {{"a", "Conv", {}, 10}, {"b", "Conv", {}, 20}};
  EXPECT_EQ(aligned(two, {{"x", "Conv", {}, 20}}), "none:0= order:1=0");
  EXPECT_EQ(aligned(two, {{"x", "Conv", {}, 10}}), "order:0=0 none:1=");
}

TEST(CompareAlign, EqualNamesGoInTurn) {
  const Layers two = {{"relu", "Relu", {}, 10}, {"relu", "Relu", {}, 10}};
  const Layers three = {two[0], two[0], two[0]};
  EXPECT_EQ(aligned(two, three), "name:0=0 name:1=1 none:=2");
}

TEST(CompareAlign, AFusedLayerIsTheLayersItStandsFor) {
  const Layers fused = {{"relu1/out", "Conv", {"conv1", "bn1", "relu1"}, 100},
                        {"pool/out", "MaxPool", {"pool"}, 25},
                        {"reorder", "ReorderOutput", {}, 25},
                        {"fc", "Gemm", {"fc"}, 10}};
  EXPECT_EQ(aligned(kPlain, fused), "group:0,1,2=0 name:3=1 none:=2 name:4=3");
  EXPECT_EQ(aligned(fused, kPlain), "group:0=0,1,2 name:1=3 none:2= name:3=4");
}

TEST(CompareAlign, PathsOfModulesAgreeAcrossFrameworks) {
  const Layers torch = {{"layer1/0/conv1/_convolution", "aten::_convolution", {}, 9},
                        {"layer1/0/add_", "aten::add_", {}, 9},
                        {"layer1/1/conv1/_convolution", "aten::_convolution", {}, 9}};
  const Layers exported = {{"/layer1/layer1.1/conv1/Conv", "Conv", {}, 9},
                           {"/layer1/layer1.0/conv1/Conv", "Conv", {}, 9},
                           {"layer1/0/add", "Add", {}, 9}};
  EXPECT_EQ(aligned(torch, exported), "name:0=1 name:1=2 name:2=0");
}

TEST(CompareAlign, WhatFollowsAnotherOperatorWasFusedIntoIt) {
  const Layers fused = {
      {"c", "FusedConv", {}, 100}, {"p", "MaxPool", {}, 25}, {"l", "Gemm", {}, 10}};
  EXPECT_EQ(aligned(kPlain, fused), "group:0,1,2=0 order:3=1 order:4=2");
  EXPECT_EQ(aligned(fused, kPlain), "group:0=0,1,2 order:1=3 order:2=4");
}

TEST(CompareAlign, ButNotIntoTheSameOperator) {
  const Layers removed = {{"conv1", "Conv", {}, 100}, kPlain[3], kPlain[4]};
  EXPECT_EQ(aligned(kPlain, removed), "name:0=0 none:1= none:2= name:3=1 name:4=2");
}

TEST(CompareAlign, APartComputedOtherwiseIsAGroup) {
  const Layers whole = {
      {"in", "Gemm", {}, 8}, {"norm", "LayerNormalization", {}, 8}, {"out", "Gemm", {}, 8}};
  const Layers parts = {{"in", "Gemm", {}, 8}, {"m", "ReduceMean", {}, 1}, {"s", "Sub", {}, 8},
                        {"p", "Pow", {}, 8},   {"d", "Div", {}, 8},        {"out", "Gemm", {}, 8}};
  EXPECT_EQ(aligned(whole, parts), "name:0=0 group:1=1,2,3,4 name:2=5");
  // Without a match behind it, the end of the group is not known.
  EXPECT_EQ(aligned({whole[0], whole[1]}, {parts[0], parts[1]}), "name:0=0 none:=1 none:1=");
}

// For any input, every layer is in one match, and matches by order never cross others.
TEST(CompareAlign, EveryLayerIsInOneMatch) {
  std::mt19937 random(5);
  const char* types[] = {"Conv", "Relu", "aten::relu_", "Gemm", "aten::add_", "Softmax"};
  for (int trial = 0; trial < 300; ++trial) {
    Layers sides[2];
    for (Layers& side : sides) {
      const size_t count = random() % 30;
      for (size_t i = 0; i < count; ++i) {
        side.push_back({"n" + std::to_string(random() % 60),
                        types[random() % 6],
                        {},
                        static_cast<double>(random() % 3)});
        if (random() % 4 == 0) side.back().stands_for = {"n" + std::to_string(random() % 60), "x"};
      }
    }
    std::vector<size_t> seen[2];
    for (const Match& one : align(sides[0], sides[1])) {
      seen[0].insert(seen[0].end(), one.first.begin(), one.first.end());
      seen[1].insert(seen[1].end(), one.second.begin(), one.second.end());
      EXPECT_EQ(one.how == Matched::kNone, one.first.empty() || one.second.empty());
      EXPECT_FALSE(one.first.empty() && one.second.empty());
    }
    for (int side = 0; side < 2; ++side) {
      std::sort(seen[side].begin(), seen[side].end());
      ASSERT_EQ(seen[side].size(), sides[side].size());
      for (size_t i = 0; i < seen[side].size(); ++i) EXPECT_EQ(seen[side][i], i);
    }
  }
}

TEST(CompareAlign, ThousandsOfLayersWithoutAName) {
  Layers first, second;
  for (int i = 0; i < 3000; ++i) {
    first.push_back(
        {"a" + std::to_string(i), i % 3 == 0 ? "Conv" : "Gemm", {}, double(i % 50 + 1)});
    if (i % 100 != 0)
      second.push_back({"b" + std::to_string(i), first.back().type, {}, first.back().elements});
  }
  size_t ordered = 0;
  for (const Match& one : align(first, second)) ordered += one.how == Matched::kOrder ? 1 : 0;
  EXPECT_EQ(ordered, second.size());
}

TEST(CompareTypes, SpellingsOfOneOperatorAgree) {
  const std::vector<std::vector<const char*>> classes = {
      {"Conv", "FusedConv", "NhwcFusedConv", "aten::conv2d", "aten::_convolution", "Conv2D",
       "cudnn_convolution", "mkldnn_convolution", "Convolution", "convolution",
       "aten::cudnn_convolution_relu", "QLinearConv", "ConvInteger", "aoti_torch_cuda_convolution",
       "__cudnn$convForward"},
      {"MatMul", "Gemm", "FusedGemm", "aten::linear", "aten::addmm", "BatchMatMulV2", "dot_general",
       "QGemm", "QLinearMatMul", "MatMulInteger", "DynamicQuantizeMatMul",
       "com.microsoft::MatMulNBits", "aten::_int_mm", "aoti_torch_cuda_addmm_out",
       "aoti_torch_cpu_mm_out"},
      {"BatchNormalization", "aten::batch_norm", "FusedBatchNormV3",
       "_native_batch_norm_legit_no_training"},
      {"Relu", "ReLU", "aten::relu_", "Relu6", "Clip"},
      {"MaxPool", "aten::max_pool2d_with_indices"},
      {"Add", "AddV2", "BiasAdd", "aten::add_", "QLinearAdd"},
      {"GlobalAveragePool", "aten::adaptive_avg_pool2d", "QLinearGlobalAveragePool"},
      {"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "aten::dequantize"},
      {"Attention", "QAttention"}};
  for (size_t i = 0; i < classes.size(); ++i) {
    for (const char* type : classes[i]) {
      EXPECT_EQ(class_of_type(type), class_of_type(classes[i][0])) << type;
      EXPECT_TRUE(is_known_type(type)) << type;
    }
    for (size_t j = 0; j < i; ++j) {
      EXPECT_NE(class_of_type(classes[i][0]), class_of_type(classes[j][0]));
    }
  }
  EXPECT_EQ(class_of_type("com.vendor.MadeUp"), "madeup");
  EXPECT_EQ(class_of_type(""), "");
  // Code that a compiler generated around a convolution is none.
  EXPECT_NE(class_of_type("triton_poi_fused_convolution_relu_1"), "convolution");
  EXPECT_FALSE(is_known_type("relu1"));
}

// Tests that the prelude's table of operators has the same convolutions and matrix products.
TEST(CompareTypes, AgreeWithTheOperatorsOfThePrelude) {
  Result<store::Database> database = store::Database::in_memory();
  ASSERT_TRUE(database.ok());
  ASSERT_TRUE(analyze::load_prelude(*database).ok());
  const auto table = database->query(
      "SELECT operator, CASE WHEN rule IN ('conv', 'conv_last', 'depthwise_last', "
      "'quantised_conv') THEN 'convolution' WHEN rule IN ('conv_transpose', 'conv_last_input', "
      "'depthwise_last_input') THEN 'transposed convolution' ELSE 'matrix product' END "
      "FROM operator_cost WHERE rule IN ('conv', 'conv_last', 'depthwise_last', "
      "'conv_transpose', 'conv_last_input', 'depthwise_last_input', 'matmul', 'linear', 'addmm', "
      "'gemm', 'packed', 'quantised_conv', 'quantised_matmul', 'quantised_gemm') AND operator <> "
      "'FusedMatMulGrad'");
  ASSERT_TRUE(table.ok()) << table.error().text;
  ASSERT_GT(table->rows.size(), 20u);
  for (const auto& row : table->rows) {
    EXPECT_EQ(class_of_type(std::get<std::string>(row[0])), std::get<std::string>(row[1]))
        << std::get<std::string>(row[0]);
  }
}

// On processors that oneDNN supports, TensorFlow uses other operator names. The comparison and the
// table of operators must know them.
TEST(CompareTypes, OperatorsOfOneDnnAreWhatTheyStandFor) {
  Result<store::Database> database = store::Database::in_memory();
  ASSERT_TRUE(database.ok());
  ASSERT_TRUE(analyze::load_prelude(*database).ok());
  std::ifstream list(places::source("tests/data/tensorflow/onednn_operators.txt"));
  size_t count = 0;
  for (std::string line; std::getline(list, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t first = line.find(": ");
    const size_t second = line.find(": ", first + 2);
    ASSERT_NE(second, std::string::npos) << line;
    const std::string type = line.substr(0, first);
    EXPECT_EQ(class_of_type(type), line.substr(first + 2, second - first - 2)) << type;
    const auto table = database->query(
        "SELECT coalesce((SELECT rule FROM operator_cost WHERE operator = operator_of('" + type +
        "')), 'unknown')");
    ASSERT_TRUE(table.ok()) << table.error().text;
    EXPECT_EQ(std::get<std::string>(table->rows[0][0]), line.substr(second + 2)) << type;
    ++count;
  }
  EXPECT_GT(count, 100u);
}

}  // namespace
}  // namespace xsp::compare
