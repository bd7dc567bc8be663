// Tests that the layers which ONNX Runtime fuses in the zoo's transformers are traced to the
// model's own.
#include <gtest/gtest.h>

#include "formats/onnx/provenance.h"
#include "formats/onnx/reader.h"
#include "tests/places.h"
#include "zoo/shared/built.h"

namespace xsp::zoo {
namespace {

using Names = std::vector<std::string>;

formats::Fate fate_of(const formats::Provenance& p, const std::string& name) {
  for (const formats::OriginalNode& original : p.originals) {
    if (original.name == name) return original.fate;
  }
  ADD_FAILURE() << name << " is not there";
  return formats::Fate::kRemoved;
}

// The graphs that ONNX Runtime 1.31.1 makes of the transformers of the zoo, without their weights:
// written by its optimized_model_filepath, with initializers of 1 KiB and more in another file.
formats::Provenance of_transformer(const std::string& name, const formats::Graph& model) {
  const std::string path = places::source("tests/data/optimised/") + name + ".onnx";
  const Result<formats::Graph> optimised = formats::read_graph(path);
  if (!optimised.ok()) {
    ADD_FAILURE() << optimised.error().text;
    return {};
  }
  const formats::Provenance p = formats::trace_provenance(model, *optimised);
  for (const formats::OriginalNode& original : p.originals) {
    EXPECT_NE(original.fate, formats::Fate::kRemoved) << original.name;
    EXPECT_LE(original.executed_as.size(), 1u) << original.name;
  }
  for (size_t i = 0; i < optimised->nodes.size(); ++i) {
    EXPECT_FALSE(p.stands_for[i].empty()) << optimised->nodes[i].name;
  }
  return p;
}

Names executed_with(const formats::Provenance& p, const std::string& name) {
  for (const formats::OriginalNode& original : p.originals) {
    if (original.name == name) return p.names(original.executed_as.at(0));
  }
  return {};
}

TEST(Fusions, OfBert) {
  const formats::Graph model = built("bert_base").graph();
  const formats::Provenance p = of_transformer("bert_base", model);
  ASSERT_EQ(p.originals.size(), model.nodes.size());
  const std::string layer = "encoder/layer/7/";
  EXPECT_EQ(executed_with(p, layer + "attention/self/MatMul"),
            (Names{layer + "attention/self/MatMul", layer + "attention/self/Div"}));
  EXPECT_EQ(executed_with(p, layer + "intermediate/gelu/Erf"),
            (Names{layer + "intermediate/dense/Add", layer + "intermediate/gelu/Div",
                   layer + "intermediate/gelu/Erf", layer + "intermediate/gelu/Add",
                   layer + "intermediate/gelu/Mul", layer + "intermediate/gelu/Mul_1"}));
  EXPECT_EQ(executed_with(p, layer + "output/LayerNorm"), Names{layer + "output/LayerNorm"});
  EXPECT_EQ(fate_of(p, layer + "intermediate/gelu/half"), formats::Fate::kFolded);
}

TEST(Fusions, OfGpt2) {
  const formats::Graph model = built("gpt2_small").graph();
  const formats::Provenance p = of_transformer("gpt2_small", model);
  ASSERT_EQ(p.originals.size(), model.nodes.size());
  const std::string attention = "h/3/attn/";
  EXPECT_EQ(executed_with(p, attention + "MatMul"),
            (Names{attention + "Transpose", attention + "MatMul", attention + "Div"}));
  EXPECT_EQ(executed_with(p, "h/3/mlp/act/Tanh").size(), 8u);
  EXPECT_EQ(fate_of(p, "lm_head/Transpose"), formats::Fate::kFolded);
  EXPECT_EQ(fate_of(p, "lm_head/MatMul"), formats::Fate::kExecuted);
}

}  // namespace
}  // namespace xsp::zoo
