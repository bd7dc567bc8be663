// Tests the formats besides ONNX: which models of the zoo they can express, and which not.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "formats/stablehlo/converter.h"
#include "formats/tensorflow/convert.h"
#include "formats/wire/wire_fields.h"
#include "zoo/shared/built.h"
#include "zoo/shared/zoo.h"

namespace xsp::zoo {
namespace {

// Returns the text of all pieces, with zeros in place of weights.
std::string whole(const std::vector<formats::Piece>& pieces) {
  std::string text;
  for (const formats::Piece& piece : pieces) {
    text += piece.text;
    text.append(piece.weight_bytes, '\0');
  }
  return text;
}

constexpr const char* kConvertible[] = {"bert_base",    "densenet121",  "inception_v3",
                                        "mobilenet_v1", "mobilenet_v2", "resnet34",
                                        "resnet50",     "vgg16"};

TEST(TensorFlowFormat, NodesAreUniqueAndReadWhatIsThere) {
  for (const char* name : {"mobilenet_v2", "resnet50"}) {
    const formats::Builder builder = built(name);
    auto converted = formats::tf::convert(builder.graph());
    ASSERT_TRUE(converted.ok()) << converted.error().text;
    const std::string text = whole(converted->pieces);
    std::set<std::string> names;
    std::map<std::string, int> ops;
    formats::wire::Fields graph({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    while (graph.next()) {
      if (!graph.is(1)) continue;
      std::string own, op;
      std::vector<std::string> inputs;
      for (formats::wire::Fields node(graph.body()); node.next();) {
        if (node.is(1)) own = node.text();
        if (node.is(2)) op = node.text();
        if (node.is(3)) inputs.emplace_back(node.text());
      }
      for (const std::string& input : inputs) EXPECT_EQ(names.count(input), 1u) << input;
      EXPECT_TRUE(names.insert(own).second) << own;
      ++ops[op];
    }
    EXPECT_EQ(ops["Placeholder"], 1);
    EXPECT_EQ(ops["Transpose"], 1) << "the input alone";
    EXPECT_EQ(names.count("output"), 1u);
    const auto& weights = builder.graph().initializers;
    for (const formats::Node& node : builder.graph().nodes) {
      if (node.op_type == "Constant") continue;
      EXPECT_EQ(names.count(node.name), 1u) << node.name;
      if (node.op_type != "Gemm") continue;
      // The order is that of TensorFlow's own models: in x out.
      const auto weight = std::find_if(
          weights.begin(), weights.end(),
          [&](const formats::Tensor& tensor) { return tensor.name == node.inputs[1]; });
      EXPECT_EQ(converted->filters.count(static_cast<size_t>(weight - weights.begin())), 1u);
    }
  }
}

TEST(TensorFlowFormat, EveryModelButThoseOfUnknownOperators) {
  for (const char* name : kConvertible) {
    EXPECT_TRUE(formats::tf::convert(built(name).graph()).ok()) << name;
  }
  const auto refused = formats::tf::convert(built("gpt2_small").graph());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().text,
            "gpt2_small: its layer 'h/0/attn/Split' cannot be said in TensorFlow's format: there "
            "is no rule for Split: build it as ONNX");
}

TEST(StableHloFormat, EveryModelButThoseOfUnknownOperators) {
  const formats::Builder detector = built("ssd_mobilenet");
  const auto sizes = formats::infer_shapes(detector.graph(), {{"batch", 1}});
  ASSERT_TRUE(sizes.ok());
  const Status refused = formats::stablehlo::Converter(detector.graph(), *sizes).convert();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(
      refused.error().text,
      "ssd_mobilenet: its layer 'scores/Sigmoid' cannot be said in StableHLO: there is no rule "
      "for Sigmoid: build it as ONNX");
  std::vector<const char*> names(std::begin(kConvertible), std::end(kConvertible));
  names.push_back("gpt2_small");
  for (const char* name : names) {
    const formats::Builder builder = built(name);
    const auto values = formats::infer_shapes(builder.graph(), {{"batch", 1}});
    ASSERT_TRUE(values.ok());
    formats::stablehlo::Converter converter(builder.graph(), *values);
    const Status status = converter.convert();
    ASSERT_TRUE(status.ok()) << status.error().text;
    const std::vector<formats::Piece> pieces = converter.take();
    EXPECT_EQ(pieces[0].text.rfind("module @" + std::string(name) + " {\n", 0), 0u);
    EXPECT_EQ(pieces.back().text.substr(pieces.back().text.size() - 7), "\n  }\n}\n");
  }
}

TEST(StableHloFormat, WeightsAreTheirBytesAsDigits) {
  formats::Builder builder("small");
  const formats::Value x =
      builder.input("x", formats::kFloat32, {formats::symbolic("batch"), formats::fixed(2)});
  formats::Value weight = builder.weight("w", {4}, {0, 1});
  weight.channels = 2;
  const formats::Value y = builder.reshape("y", weight, {2, 2}, 2);
  builder.output(builder.binary("product", "MatMul", x, y), "out", formats::kFloat32,
                 {formats::symbolic("batch"), formats::fixed(2)});
  const std::string path =
      (std::filesystem::temp_directory_path() / ("xsp-small-" + std::to_string(::getpid())))
          .string();
  const ModelFormat* format = nullptr;
  for (const ModelFormat& one : model_formats()) {
    if (std::string(one.name) == "stablehlo") format = &one;
  }
  ASSERT_NE(format, nullptr);
  const auto counted = [](size_t, uint64_t offset, std::span<uint8_t> out) {
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<uint8_t>(0xa0 + offset + i);
  };
  ASSERT_TRUE(format->write(builder.graph(), counted, path, {}).ok());
  FILE* file = std::fopen(path.c_str(), "r");
  ASSERT_NE(file, nullptr);
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  std::filesystem::remove(path);
  EXPECT_NE(text.find("dense<\"0xA0A1A2A3A4A5A6A7A8A9AAABACADAEAF\"> : tensor<4xf32>"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace xsp::zoo
