#include "formats/onnx/blocks.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace xsp::formats {
namespace {

constexpr std::string_view kDomain = "com.microsoft.nchwc";
constexpr int64_t kBlockMax = 64;  // channels; more than in any processor's block

bool is_blocked(const Node& node) { return node.domain == kDomain; }

bool is_convolution(const Node& node) {
  return node.op_type == "Conv" || node.op_type == "FusedConv";
}

bool is_blocked_convolution(const Node& node) {
  return is_blocked(node) && node.op_type == "Conv" && node.inputs.size() >= 2 &&
         !node.outputs.empty();
}

bool leads_in(const Node& node) { return node.op_type == "ReorderInput"; }
bool leads_out(const Node& node) { return node.op_type == "ReorderOutput"; }

bool is_pooling(const Node& node) {
  return node.op_type.size() >= 4 && node.op_type.substr(node.op_type.size() - 4) == "Pool";
}

// Returns whether this number of channels becomes `padded` in whole blocks.
bool suits(int64_t channels, int64_t padded) {
  return channels > 0 && channels <= padded && padded - channels < kBlockMax;
}

using Shapes = std::unordered_map<std::string, std::vector<int64_t>>;

// Returns the shapes of a graph's weights, including those of its nodes Constant.
Shapes weight_shapes(const Graph& graph) {
  Shapes shapes;
  for (const Tensor& tensor : graph.initializers) shapes[tensor.name] = tensor.dimensions;
  for (const Node& node : graph.nodes) {
    const Attribute* value = node.attribute("value");
    if (node.op_type != "Constant" || value == nullptr || value->tensor.empty()) continue;
    if (!node.outputs.empty()) shapes[node.outputs[0]] = value->tensor[0].dimensions;
  }
  return shapes;
}

// Holds the numbers of input and output channels of a layer of the model, by its weights.
struct Own {
  int64_t in = Blocks::kNotKnown;
  int64_t out = Blocks::kNotKnown;
};

Own own_channels(const Node& node, const Shapes& weights) {
  if (is_blocked(node) || node.inputs.size() < 2) return {};
  const auto found = weights.find(node.inputs[1]);
  if (found == weights.end() || found->second.empty()) return {};
  const std::vector<int64_t>& shape = found->second;
  if (node.op_type == "BatchNormalization") return {shape[0], shape[0]};
  if (!is_convolution(node) || shape.size() < 2) return {};
  const int64_t groups = node.integer("group", 1);
  const bool is_sane = groups > 0 && groups < INT32_MAX && shape[1] > 0 && shape[1] < INT32_MAX;
  return {is_sane ? shape[1] * groups : Blocks::kNotKnown, shape[0]};
}

}  // namespace

Blocks::Blocks(const Graph& optimised, const Graph* model, const Provenance* provenance) {
  for (const Node& node : optimised.nodes) {
    const bool continues =
        is_blocked(node) || std::any_of(node.inputs.begin(), node.inputs.end(),
                                        [&](const auto& name) { return channels(name); });
    if (!continues || leads_out(node)) continue;
    for (const std::string& output : node.outputs) {
      if (!output.empty()) channels_.emplace(output, kNotKnown);
    }
  }
  if (channels_.empty()) return;
  if (model != nullptr && provenance != nullptr) learn_from_model(optimised, *model, *provenance);
  learn_from_poolings(optimised);
  for (bool learned = true; learned;) {
    learned = false;
    for (const Node& node : optimised.nodes) learned |= pass(node);
    for (auto node = optimised.nodes.rbegin(); node != optimised.nodes.rend(); ++node) {
      learned |= pass(*node);
    }
  }
}

std::optional<int64_t> Blocks::channels(const std::string& tensor) const {
  const auto found = channels_.find(tensor);
  return found != channels_.end() ? std::optional(found->second) : std::nullopt;
}

// Notes the channels of a tensor in blocks. Returns false if they were known already.
bool Blocks::learn(const std::string& tensor, int64_t channels) {
  const auto found = channels_.find(tensor);
  if (found == channels_.end() || found->second != kNotKnown || channels < 0) return false;
  found->second = channels;
  return channels != kNotKnown;
}

void Blocks::learn_from_model(const Graph& optimised, const Graph& model,
                              const Provenance& provenance) {
  const Shapes own_weights = weight_shapes(model);
  const Shapes weights = weight_shapes(optimised);
  for (size_t i = 0; i < optimised.nodes.size(); ++i) {
    const Node& node = optimised.nodes[i];
    if (!is_blocked_convolution(node)) continue;
    const auto filter = weights.find(node.inputs[1]);
    if (filter == weights.end() || filter->second.empty()) continue;
    // A separate batch normalisation has become a convolution, too.
    Own own;
    bool has_convolution = false;
    for (const size_t source : provenance.stands_for[i]) {
      const Node& layer = model.nodes[source];
      const Own found = own_channels(layer, own_weights);
      if (!suits(found.out, filter->second[0])) continue;
      if (has_convolution && !is_convolution(layer)) continue;
      has_convolution = is_convolution(layer);
      own = found;
    }
    learn(node.outputs[0], own.out);
    learn(node.inputs[0], own.in);
  }
}

// Notes the channels of all tensors around a node.
bool Blocks::spread(const Node& node, int64_t channels) {
  bool learned = false;
  for (const auto* names : {&node.inputs, &node.outputs}) {
    for (const std::string& name : *names) learned |= learn(name, channels);
  }
  return learned;
}

// Notes the channels of the tensors around a node. Returns true if it found new ones.
bool Blocks::pass(const Node& node) {
  const auto known = [&](const std::string& name) { return channels(name).value_or(kNotKnown); };
  if (node.inputs.empty() || node.outputs.empty()) return false;
  if (leads_out(node)) return learn(node.inputs[0], node.integer("channels", kNotKnown));
  if (leads_in(node)) return false;
  if (is_blocked_convolution(node)) {
    // The fourth input is added to the result.
    if (node.inputs.size() < 4) return false;
    return learn(node.inputs[3], known(node.outputs[0])) ||
           learn(node.outputs[0], known(node.inputs[3]));
  }
  // Only whole blocks are concatenated.
  if (node.op_type == "Concat") return spread(node, kNotPadded);
  // All tensors of a sum, an activation or a pooling have the same channels.
  int64_t channels = kNotKnown;
  for (const std::string& name : node.inputs) channels = std::max(channels, known(name));
  for (const std::string& name : node.outputs) channels = std::max(channels, known(name));
  return spread(node, channels);
}

// A pooling uses the layout only if it needs no padding, or if its input has the layout.
void Blocks::learn_from_poolings(const Graph& optimised) {
  std::set<std::string_view> led_in;
  for (const Node& node : optimised.nodes) {
    if (leads_in(node) && !node.outputs.empty()) led_in.insert(node.outputs[0]);
    if (is_pooling(node) && !node.inputs.empty() && led_in.count(node.inputs[0]) > 0) {
      learn(node.inputs[0], kNotPadded);
    }
  }
}

std::optional<std::vector<int64_t>> Blocks::weight_shape(const Node& node, size_t index,
                                                         std::vector<int64_t> dimensions) const {
  if (!is_blocked_convolution(node) || index == 0 || index > 2 || dimensions.empty()) {
    return dimensions;
  }
  const int64_t out = channels(node.outputs[0]).value_or(kNotKnown);
  if (out == kNotKnown) return std::nullopt;
  if (out != kNotPadded) {
    if (!suits(out, dimensions[0])) return std::nullopt;
    dimensions[0] = out;
  }
  if (index == 2 || dimensions.size() < 2 || node.integer("group", 1) > 1) return dimensions;
  const std::optional<int64_t> in = channels(node.inputs[0]);
  if (!in || *in == kNotPadded) return dimensions;
  if (!suits(*in, dimensions[1])) return std::nullopt;
  dimensions[1] = *in;
  return dimensions;
}

std::optional<std::vector<int64_t>> without_blocks(const std::vector<int64_t>& shape,
                                                   int64_t channels) {
  if (shape.size() != 4 && shape.size() != 5) return std::nullopt;
  const int64_t block = shape.size() == 5 ? shape[4] : 1;
  if (channels == Blocks::kNotKnown || block < 1 || block > kBlockMax || shape[1] < 0 ||
      shape[1] > INT64_MAX / kBlockMax) {
    return std::nullopt;
  }
  const int64_t padded = shape[1] * block;
  if (channels != Blocks::kNotPadded && !suits(channels, padded)) return std::nullopt;
  return std::vector<int64_t>{shape[0], channels == Blocks::kNotPadded ? padded : channels,
                              shape[2], shape[3]};
}

}  // namespace xsp::formats
