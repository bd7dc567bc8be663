// BERT-base, uncased (Devlin et al. 2018), as Hugging Face's BertModel exports it: the encoder and
// the pooler. Batch and sequence are dynamic.
#include <limits>

#include "zoo/shared/recipe.h"

namespace xsp::zoo {
namespace {

constexpr int64_t kHidden = 768;
constexpr int64_t kHeads = 12;
constexpr int64_t kHeadSize = kHidden / kHeads;
constexpr int64_t kLayers = 12;
constexpr int64_t kVocabulary = 30522;
constexpr int64_t kPositions = 512;
constexpr int64_t kSequence = 128;
constexpr double kEpsilon = 1e-12;

// Adds ONNX's form of GELU before operator set 20: x / 2 * (1 + erf(x / sqrt 2)).
formats::Value gelu(formats::Builder& b, const std::string& name, const formats::Value& x) {
  formats::Value y = b.binary(name + "/Div", "Div", x, b.scalar(name + "/sqrt2", 1.41421356f));
  y = b.unary(name + "/Erf", "Erf", y);
  y = b.add(name + "/Add", y, b.scalar(name + "/one", 1));
  y = b.binary(name + "/Mul", "Mul", x, y);
  return b.binary(name + "/Mul_1", "Mul", y, b.scalar(name + "/half", 0.5f));
}

formats::Value heads(formats::Builder& b, const std::string& name, const formats::Value& x,
                     const std::vector<int64_t>& order) {
  const formats::Value split = b.reshape(name + "/Reshape", x, {0, 0, kHeads, kHeadSize}, kHidden);
  return b.transpose(name + "/Transpose", split, order);
}

formats::Value attention(formats::Builder& b, const std::string& name, const formats::Value& x,
                         const formats::Value& mask) {
  const std::string self = name + "/self";
  const formats::Value query = b.dense(self + "/query", x, kHidden);
  const formats::Value key = b.dense(self + "/key", x, kHidden);
  const formats::Value value = b.dense(self + "/value", x, kHidden);
  const formats::Value q = heads(b, self + "/query_heads", query, {0, 2, 1, 3});
  const formats::Value k = heads(b, self + "/key_heads", key, {0, 2, 3, 1});
  const formats::Value v = heads(b, self + "/value_heads", value, {0, 2, 1, 3});
  formats::Value scores = b.binary(self + "/MatMul", "MatMul", q, k);
  scores = b.binary(self + "/Div", "Div", scores, b.scalar(self + "/sqrt_head_size", 8));
  scores = b.add(self + "/Add", scores, mask);
  scores =
      b.node(self + "/Softmax", "Softmax", {scores}, {formats::attribute("axis", int64_t{-1})});
  formats::Value context = b.binary(self + "/MatMul_1", "MatMul", scores, v);
  context = b.transpose(self + "/Transpose", context, {0, 2, 1, 3});
  context = b.reshape(self + "/Reshape", context, {0, 0, kHidden}, kHidden);
  const formats::Value projected = b.dense(name + "/output/dense", context, kHidden);
  const formats::Value sum = b.add(name + "/output/Add", projected, x);
  return b.layer_norm(name + "/output/LayerNorm", sum, kEpsilon);
}

formats::Value layer(formats::Builder& b, const std::string& name, const formats::Value& x,
                     const formats::Value& mask) {
  const formats::Value attended = attention(b, name + "/attention", x, mask);
  formats::Value y = b.dense(name + "/intermediate/dense", attended, 4 * kHidden);
  y = gelu(b, name + "/intermediate/gelu", y);
  y = b.dense(name + "/output/dense", y, kHidden);
  const formats::Value sum = b.add(name + "/output/Add", y, attended);
  return b.layer_norm(name + "/output/LayerNorm", sum, kEpsilon);
}

// Returns the first `sequence` of the position ids, for the sequence length of the run.
formats::Value position_ids(formats::Builder& b, const std::string& name,
                            const formats::Value& input_ids) {
  std::vector<int64_t> positions(kPositions);
  for (size_t i = 0; i < positions.size(); ++i) positions[i] = static_cast<int64_t>(i);
  const formats::Value all = b.buffer(name + "/position_ids", {1, kPositions}, positions);
  const formats::Value shape = b.unary(name + "/Shape", "Shape", input_ids);
  const formats::Value length =
      b.gather(name + "/Gather", shape, b.constant(name + "/one", {1}), 0);
  const formats::Value start = b.constant(name + "/start", {0});
  const formats::Value axis = b.constant(name + "/axis", {1});
  return b.node(name + "/Slice", "Slice", {all, start, length, axis});
}

formats::Value embeddings(formats::Builder& b, const formats::Value& input_ids,
                          const formats::Value& token_type_ids) {
  const std::string name = "embeddings";
  const formats::Distribution normal =
      formats::with_variance(0.02 * 0.02);  // BERT's initialisation
  const auto table = [&](const std::string& part, int64_t rows) {
    formats::Value value = b.weight(name + "/" + part + "/weight", {rows, kHidden}, normal);
    value.channels = kHidden;
    return value;
  };
  const formats::Value words =
      b.gather(name + "/word_embeddings", table("word_embeddings", kVocabulary), input_ids, 0);
  const formats::Value types = b.gather(name + "/token_type_embeddings",
                                        table("token_type_embeddings", 2), token_type_ids, 0);
  const formats::Value places =
      b.gather(name + "/position_embeddings", table("position_embeddings", kPositions),
               position_ids(b, name, input_ids), 0);
  const formats::Value sum = b.add(name + "/Add", words, types);
  return b.layer_norm(name + "/LayerNorm", b.add(name + "/Add_1", sum, places), kEpsilon);
}

// Returns 0 for a token that counts, and the lowest number for one that does not; it is added to
// the scores.
formats::Value score_mask(formats::Builder& b, const formats::Value& attention_mask) {
  formats::Value mask =
      b.node("mask/Unsqueeze", "Unsqueeze", {attention_mask, b.constant("mask/axes", {1, 2})});
  mask =
      b.node("mask/Cast", "Cast", {mask}, {formats::attribute("to", int64_t{formats::kFloat32})});
  mask = b.binary("mask/Sub", "Sub", b.scalar("mask/one", 1), mask);
  const formats::Value lowest = b.scalar("mask/lowest", std::numeric_limits<float>::lowest());
  return b.binary("mask/Mul", "Mul", mask, lowest);
}

void bert_base(formats::Builder& b) {
  const std::vector<formats::Dimension> tokens = {formats::symbolic("batch"),
                                                  formats::symbolic("sequence")};
  b.default_dimension("sequence", kSequence);
  const formats::Value input_ids = b.input("input_ids", formats::kInt64, tokens);
  const formats::Value attention_mask = b.input("attention_mask", formats::kInt64, tokens);
  const formats::Value token_type_ids = b.input("token_type_ids", formats::kInt64, tokens);
  const formats::Value mask = score_mask(b, attention_mask);
  formats::Value x = embeddings(b, input_ids, token_type_ids);
  for (int64_t i = 0; i < kLayers; ++i) {
    x = layer(b, "encoder/layer/" + std::to_string(i), x, mask);
  }
  formats::Value first = b.gather("pooler/Gather", x, b.constant("pooler/first", {0}), 1);
  first = b.reshape("pooler/Reshape", first, {-1, kHidden}, kHidden);
  const formats::Value pooled =
      b.unary("pooler/activation", "Tanh", b.gemm("pooler/dense", first, kHidden));
  b.output(x, "last_hidden_state", formats::kFloat32,
           {formats::symbolic("batch"), formats::symbolic("sequence"), formats::fixed(kHidden)});
  b.output(pooled, "pooler_output", formats::kFloat32,
           {formats::symbolic("batch"), formats::fixed(kHidden)});
}

}  // namespace

std::vector<Recipe> bert_recipes() {
  return {
      {"bert_base", "BERT-base uncased", "text encoding",
       "Hugging Face BertModel: encoder and pooler, sequence of 128 by default", 109482240, 11.25,
       "Hugging Face bert-base-uncased; Jiao et al. 2020, table 1 (22.5 G flops at sequence 128)",
       bert_base}};
}

}  // namespace xsp::zoo
