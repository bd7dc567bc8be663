// GPT-2 small (Radford et al. 2019): one step of decoding. One new token attends to itself and to
// the past; the past's keys and values are inputs, and are outputs with one more entry. The
// embedding is tied: the same weight reads tokens and computes the logits. A single query attends
// to all keys, so there is no causal mask.
#include "zoo/shared/recipe.h"

namespace xsp::models {
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
Value gelu_tanh(Builder& b, const std::string& name, const Value& x) {
  Value y = b.binary(name + "/Pow", "Pow", x, b.scalar(name + "/three", 3));
  y = b.binary(name + "/Mul", "Mul", y, b.scalar(name + "/cubic", 0.044715f));
  y = b.add(name + "/Add", x, y);
  y = b.binary(name + "/Mul_1", "Mul", y, b.scalar(name + "/sqrt_2_pi", 0.79788456f));
  y = b.unary(name + "/Tanh", "Tanh", y);
  y = b.add(name + "/Add_1", y, b.scalar(name + "/one", 1));
  const Value half = b.binary(name + "/Mul_2", "Mul", x, b.scalar(name + "/half", 0.5f));
  return b.binary(name + "/Mul_3", "Mul", half, y);
}

// Adds Hugging Face's Conv1D: a Gemm on the flattened tokens.
Value conv1d(Builder& b, const std::string& name, const Value& x, int64_t features, double gain) {
  const Distribution weights = with_variance(gain / static_cast<double>(x.channels));
  const Value flat = b.reshape(name + "/Reshape", x, {-1, x.channels}, x.channels);
  const Value weight = b.weight(name + "/weight", {x.channels, features}, weights);
  const Value bias = b.weight(name + "/bias", {features}, {0, 0.05});
  const Value y = b.node(name + "/Gemm", "Gemm", {flat, weight, bias}, {}, features);
  return b.reshape(name + "/Reshape_1", y, {-1, 1, features}, features);
}

Value heads(Builder& b, const std::string& name, const Value& x) {
  const Value split = b.reshape(name + "/Reshape", x, {0, 0, kHeads, kHeadSize}, kHidden);
  return b.transpose(name + "/Transpose", split, {0, 2, 1, 3});
}

struct Cache {
  Value key;
  Value value;
};

// Attends over *cache with the new token appended, and stores the result in *cache.
Value attention(Builder& b, const std::string& name, const Value& x, Cache* cache) {
  const Value joined = conv1d(b, name + "/c_attn", x, 3 * kHidden, 1);
  const Value sizes = b.constant(name + "/sizes", {kHidden, kHidden, kHidden});
  const std::vector<Value> parts =
      b.nodes(name + "/Split", "Split", {joined, sizes}, {attribute("axis", int64_t{2})},
              {kHidden, kHidden, kHidden});
  const Value query = heads(b, name + "/query", parts[0]);
  const Value key = heads(b, name + "/key", parts[1]);
  const Value value = heads(b, name + "/value", parts[2]);
  const std::vector<Attribute> on_tokens = {attribute("axis", int64_t{2})};
  cache->key = b.node(name + "/key_cache", "Concat", {cache->key, key}, on_tokens);
  cache->value = b.node(name + "/value_cache", "Concat", {cache->value, value}, on_tokens);
  const Value keys = b.transpose(name + "/Transpose", cache->key, {0, 1, 3, 2});
  Value scores = b.binary(name + "/MatMul", "MatMul", query, keys);
  scores = b.binary(name + "/Div", "Div", scores, b.scalar(name + "/sqrt_head_size", 8));
  scores = b.node(name + "/Softmax", "Softmax", {scores}, {attribute("axis", int64_t{-1})});
  Value context = b.binary(name + "/MatMul_1", "MatMul", scores, cache->value);
  context = b.transpose(name + "/Transpose_1", context, {0, 2, 1, 3});
  context = b.reshape(name + "/Reshape", context, {0, 0, kHidden}, kHidden);
  return conv1d(b, name + "/c_proj", context, kHidden, kResidualGain);
}

Value block(Builder& b, const std::string& name, const Value& x, Cache* cache) {
  Value y = b.layer_norm(name + "/ln_1", x, kEpsilon);
  const Value attended = b.add(name + "/Add", attention(b, name + "/attn", y, cache), x);
  y = b.layer_norm(name + "/ln_2", attended, kEpsilon);
  y = gelu_tanh(b, name + "/mlp/act", conv1d(b, name + "/mlp/c_fc", y, 4 * kHidden, 1));
  y = conv1d(b, name + "/mlp/c_proj", y, kHidden, kResidualGain);
  return b.add(name + "/Add_1", attended, y);
}

// The new token's position is the length of the past.
Value position(Builder& b, const Value& table, const Value& past_key) {
  const Value shape = b.unary("wpe/Shape", "Shape", past_key);
  const Value length = b.gather("wpe/Gather", shape, b.constant("wpe/axis", {2}), 0);
  return b.gather("wpe", table, length, 0);
}

void gpt2_small(Builder& b) {
  b.default_dimension("past_sequence", kPast);
  const Value input_ids = b.input("input_ids", kInt64, {symbolic("batch"), fixed(1)});
  std::vector<Cache> caches(kLayers);
  const std::vector<Dimension> past = {symbolic("batch"), fixed(kHeads), symbolic("past_sequence"),
                                       fixed(kHeadSize)};
  for (size_t i = 0; i < caches.size(); ++i) {
    const std::string name = "past_key_values." + std::to_string(i);
    caches[i].key = b.input(name + ".key", kFloat32, past);
    caches[i].value = b.input(name + ".value", kFloat32, past);
  }
  // The weights have GPT-2's own initialisation; it gives logits of unit size, too, because the
  // last layer is normalised.
  Value tokens = b.weight("wte/weight", {kVocabulary, kHidden}, with_variance(0.02 * 0.02));
  Value places = b.weight("wpe/weight", {kPositions, kHidden}, with_variance(0.02 * 0.02));
  tokens.channels = kHidden;
  places.channels = kHidden;
  Value x = b.gather("wte", tokens, input_ids, 0);
  x = b.add("Add", x, position(b, places, caches[0].key));
  for (size_t i = 0; i < caches.size(); ++i) x = block(b, "h/" + std::to_string(i), x, &caches[i]);
  x = b.layer_norm("ln_f", x, kEpsilon);
  const Value head = b.transpose("lm_head/Transpose", tokens, {1, 0});
  const Value logits = b.node("lm_head/MatMul", "MatMul", {x, head}, {}, kVocabulary);
  b.output(logits, "logits", kFloat32, {symbolic("batch"), fixed(1), fixed(kVocabulary)});
  const std::vector<Dimension> present = {symbolic("batch"), fixed(kHeads),
                                          symbolic("past_sequence + 1"), fixed(kHeadSize)};
  for (size_t i = 0; i < caches.size(); ++i) {
    const std::string name = "present." + std::to_string(i);
    b.output(caches[i].key, name + ".key", kFloat32, present);
    b.output(caches[i].value, name + ".value", kFloat32, present);
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

}  // namespace xsp::models
