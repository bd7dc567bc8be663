// GPT-2 small (Radford et al. 2019): one step of decoding. One new token attends to itself and to
// the past; the past's keys and values are inputs, and are outputs with one more entry. The
// embedding is tied: the same weight reads tokens and computes the logits. A single query attends
// to all keys, so there is no causal mask.
#include "zoo/shared/recipe.h"

namespace xsp::zoo {
namespace {

constexpr int64_t kHidden = 768;
constexpr int64_t kHeads = 12;
constexpr int64_t kHeadSize = kHidden / kHeads;
constexpr int64_t kLayers = 12;
constexpr int64_t kVocabulary = 50257;
constexpr int64_t kPositions = 1024;
constexpr int64_t kPast = 128;
constexpr double kEpsilon = 1e-5;
// GPT-2 scales the branches that are added to the residual stream by the number of such additions.
constexpr double kResidualGain = 1.0 / (2 * kLayers);

// Adds the approximation with which GPT-2 was trained: x / 2 * (1 + tanh(sqrt(2/pi) (x + 0.044715
// x^3))).
formats::Value gelu_tanh(formats::Builder& b, const std::string& name, const formats::Value& x) {
  formats::Value y = b.binary(name + "/Pow", "Pow", x, b.scalar(name + "/three", 3));
  y = b.binary(name + "/Mul", "Mul", y, b.scalar(name + "/cubic", 0.044715f));
  y = b.add(name + "/Add", x, y);
  y = b.binary(name + "/Mul_1", "Mul", y, b.scalar(name + "/sqrt_2_pi", 0.79788456f));
  y = b.unary(name + "/Tanh", "Tanh", y);
  y = b.add(name + "/Add_1", y, b.scalar(name + "/one", 1));
  const formats::Value half = b.binary(name + "/Mul_2", "Mul", x, b.scalar(name + "/half", 0.5f));
  return b.binary(name + "/Mul_3", "Mul", half, y);
}

// Adds Hugging Face's Conv1D: a Gemm on the flattened tokens.
formats::Value conv1d(formats::Builder& b, const std::string& name, const formats::Value& x,
                      int64_t features, double gain) {
  const formats::Distribution weights =
      formats::with_variance(gain / static_cast<double>(x.channels));
  const formats::Value flat = b.reshape(name + "/Reshape", x, {-1, x.channels}, x.channels);
  const formats::Value weight = b.weight(name + "/weight", {x.channels, features}, weights);
  const formats::Value bias = b.weight(name + "/bias", {features}, {0, 0.05});
  const formats::Value y = b.node(name + "/Gemm", "Gemm", {flat, weight, bias}, {}, features);
  return b.reshape(name + "/Reshape_1", y, {-1, 1, features}, features);
}

formats::Value heads(formats::Builder& b, const std::string& name, const formats::Value& x) {
  const formats::Value split = b.reshape(name + "/Reshape", x, {0, 0, kHeads, kHeadSize}, kHidden);
  return b.transpose(name + "/Transpose", split, {0, 2, 1, 3});
}

struct Cache {
  formats::Value key;
  formats::Value value;
};

// Attends over *cache with the new token appended, and stores the result in *cache.
formats::Value attention(formats::Builder& b, const std::string& name, const formats::Value& x,
                         Cache* cache) {
  const formats::Value joined = conv1d(b, name + "/c_attn", x, 3 * kHidden, 1);
  const formats::Value sizes = b.constant(name + "/sizes", {kHidden, kHidden, kHidden});
  const std::vector<formats::Value> parts =
      b.nodes(name + "/Split", "Split", {joined, sizes}, {formats::attribute("axis", int64_t{2})},
              {kHidden, kHidden, kHidden});
  const formats::Value query = heads(b, name + "/query", parts[0]);
  const formats::Value key = heads(b, name + "/key", parts[1]);
  const formats::Value value = heads(b, name + "/value", parts[2]);
  const std::vector<formats::Attribute> on_tokens = {formats::attribute("axis", int64_t{2})};
  cache->key = b.node(name + "/key_cache", "Concat", {cache->key, key}, on_tokens);
  cache->value = b.node(name + "/value_cache", "Concat", {cache->value, value}, on_tokens);
  const formats::Value keys = b.transpose(name + "/Transpose", cache->key, {0, 1, 3, 2});
  formats::Value scores = b.binary(name + "/MatMul", "MatMul", query, keys);
  scores = b.binary(name + "/Div", "Div", scores, b.scalar(name + "/sqrt_head_size", 8));
  scores =
      b.node(name + "/Softmax", "Softmax", {scores}, {formats::attribute("axis", int64_t{-1})});
  formats::Value context = b.binary(name + "/MatMul_1", "MatMul", scores, cache->value);
  context = b.transpose(name + "/Transpose_1", context, {0, 2, 1, 3});
  context = b.reshape(name + "/Reshape", context, {0, 0, kHidden}, kHidden);
  return conv1d(b, name + "/c_proj", context, kHidden, kResidualGain);
}

formats::Value block(formats::Builder& b, const std::string& name, const formats::Value& x,
                     Cache* cache) {
  formats::Value y = b.layer_norm(name + "/ln_1", x, kEpsilon);
  const formats::Value attended = b.add(name + "/Add", attention(b, name + "/attn", y, cache), x);
  y = b.layer_norm(name + "/ln_2", attended, kEpsilon);
  y = gelu_tanh(b, name + "/mlp/act", conv1d(b, name + "/mlp/c_fc", y, 4 * kHidden, 1));
  y = conv1d(b, name + "/mlp/c_proj", y, kHidden, kResidualGain);
  return b.add(name + "/Add_1", attended, y);
}

// The new token's position is the length of the past.
formats::Value position(formats::Builder& b, const formats::Value& table,
                        const formats::Value& past_key) {
  const formats::Value shape = b.unary("wpe/Shape", "Shape", past_key);
  const formats::Value length = b.gather("wpe/Gather", shape, b.constant("wpe/axis", {2}), 0);
  return b.gather("wpe", table, length, 0);
}

void gpt2_small(formats::Builder& b) {
  b.default_dimension("past_sequence", kPast);
  const formats::Value input_ids =
      b.input("input_ids", formats::kInt64, {formats::symbolic("batch"), formats::fixed(1)});
  std::vector<Cache> caches(kLayers);
  const std::vector<formats::Dimension> past = {formats::symbolic("batch"), formats::fixed(kHeads),
                                                formats::symbolic("past_sequence"),
                                                formats::fixed(kHeadSize)};
  for (size_t i = 0; i < caches.size(); ++i) {
    const std::string name = "past_key_values." + std::to_string(i);
    caches[i].key = b.input(name + ".key", formats::kFloat32, past);
    caches[i].value = b.input(name + ".value", formats::kFloat32, past);
  }
  // The weights have GPT-2's own initialisation; it gives logits of unit size, too, because the
  // last layer is normalised.
  formats::Value tokens =
      b.weight("wte/weight", {kVocabulary, kHidden}, formats::with_variance(0.02 * 0.02));
  formats::Value places =
      b.weight("wpe/weight", {kPositions, kHidden}, formats::with_variance(0.02 * 0.02));
  tokens.channels = kHidden;
  places.channels = kHidden;
  formats::Value x = b.gather("wte", tokens, input_ids, 0);
  x = b.add("Add", x, position(b, places, caches[0].key));
  for (size_t i = 0; i < caches.size(); ++i) x = block(b, "h/" + std::to_string(i), x, &caches[i]);
  x = b.layer_norm("ln_f", x, kEpsilon);
  const formats::Value head = b.transpose("lm_head/Transpose", tokens, {1, 0});
  const formats::Value logits = b.node("lm_head/MatMul", "MatMul", {x, head}, {}, kVocabulary);
  b.output(logits, "logits", formats::kFloat32,
           {formats::symbolic("batch"), formats::fixed(1), formats::fixed(kVocabulary)});
  const std::vector<formats::Dimension> present = {
      formats::symbolic("batch"), formats::fixed(kHeads), formats::symbolic("past_sequence + 1"),
      formats::fixed(kHeadSize)};
  for (size_t i = 0; i < caches.size(); ++i) {
    const std::string name = "present." + std::to_string(i);
    b.output(caches[i].key, name + ".key", formats::kFloat32, present);
    b.output(caches[i].value, name + ".value", formats::kFloat32, present);
  }
}

}  // namespace

std::vector<Recipe> gpt2_recipes() {
  return {{"gpt2_small", "GPT-2 small, one decoding step", "text generation",
           "Hugging Face GPT2LMHeadModel with past keys and values, past of 128 by default",
           124439808, 0.1244,
           "Hugging Face gpt2; Kaplan et al. 2020 (2 flops per parameter and token, attention not "
           "counted)",
           gpt2_small}};
}

}  // namespace xsp::zoo
