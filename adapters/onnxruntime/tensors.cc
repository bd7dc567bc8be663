// Restores the model's shapes of a node's inputs and outputs if the runtime pads them.
#include <algorithm>

#include "adapters/onnxruntime/layers.h"
#include "xsp/plugin.hpp"

namespace xsp::ort {
namespace {

int64_t bytes_of(const Value& value) {
  int64_t bytes = 0;
  for (uint32_t dtype = 1; dtype <= XSP_BFLOAT16; ++dtype) {
    if (value.dtype == dtype_name(dtype)) bytes = static_cast<int64_t>(dtype_bytes(dtype));
  }
  for (const int64_t size : value.shape) bytes *= size;
  return bytes;
}

// Returns how many bytes of the runtime's tensor are padding.
int64_t padding_bytes(const Value& padded, const Value& own) {
  return std::max<int64_t>(bytes_of(padded) - bytes_of(own), 0);
}

void subtract(int64_t bytes, int64_t* from) {
  if (*from >= 0) *from = std::max<int64_t>(*from - bytes, 0);
}

// Returns the channels of a tensor in blocks [N, C, H, W], of which `plain` is the copy in another
// layout: [N, C, H, W] or [N, H, W, C].
int64_t channels_of_copy(const Value& plain, const Value& blocked) {
  if (plain.shape.size() != 4 || blocked.shape.size() != 4) return formats::Blocks::kNotKnown;
  const bool is_last =
      !std::equal(plain.shape.begin() + 2, plain.shape.end(), blocked.shape.begin() + 2);
  return plain.shape[is_last ? 3 : 1];
}

// Gives a tensor in blocks the model's shape. Returns false if it is not known.
bool take_padding_off(int64_t channels, Value* value) {
  auto shape = formats::without_blocks(value->shape, channels);
  if (!shape) return false;
  value->shape = std::move(*shape);
  return true;
}

// A node that converts to or from the layout has the same tensor on both sides.
bool take_padding_off_copy(const NodeEvent& event, Tensors* tensors) {
  if (tensors->inputs.empty() || tensors->outputs.empty()) return false;
  const bool leads_in = event.op_type == "ReorderInput";
  const Value& plain = leads_in ? tensors->inputs[0] : tensors->outputs[0];
  Value& blocked = leads_in ? tensors->outputs[0] : tensors->inputs[0];
  return take_padding_off(channels_of_copy(plain, blocked), &blocked);
}

// Applies the graph's facts to the tensors. Returns false if some are missing.
bool take_padding_off_all(const GraphNode& node, Tensors* tensors) {
  const bool has_all = tensors->inputs.size() == node.inputs.size() &&
                       tensors->outputs.size() == node.outputs.size();
  bool is_known = true;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const GraphNode::Input& input = node.inputs[i];
    if (input.is_weight) {
      is_known &= input.own_shape.has_value();
      if (has_all && input.own_shape) tensors->inputs[i].shape = *input.own_shape;
    } else if (input.channels) {
      is_known &= has_all && take_padding_off(*input.channels, &tensors->inputs[i]);
    }
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i]) continue;
    is_known &= has_all && take_padding_off(*node.outputs[i], &tensors->outputs[i]);
  }
  return is_known;
}

// Guesses from the names whether the node pads, for a graph that is not known.
bool may_be_padded(const NodeEvent& event) {
  return event.name.find("_nchwc") != std::string_view::npos;
}

}  // namespace

Tensors tensors_of(const NodeEvent& event, const GraphNode* node) {
  Tensors tensors;
  tensors.inputs = parse_values(event.input_shapes);
  tensors.outputs = parse_values(event.output_shapes);
  tensors.parameter_bytes = event.parameter_bytes;
  tensors.activation_bytes = event.activation_bytes;
  tensors.output_bytes = event.output_bytes;
  if (node != nullptr) tensors.inputs = complete_inputs(tensors.inputs, *node);
  tensors.padded_inputs = tensors.inputs;
  tensors.padded_outputs = tensors.outputs;
  if (event.op_type == "ReorderInput" || event.op_type == "ReorderOutput") {
    tensors.is_known = take_padding_off_copy(event, &tensors);
  } else if (node != nullptr) {
    tensors.is_known = take_padding_off_all(*node, &tensors);
  } else {
    tensors.is_known = !may_be_padded(event);
  }
  if (node != nullptr) tensors.parameter_bytes = 0;
  for (size_t i = 0; node != nullptr && i < node->inputs.size(); ++i) {
    const GraphNode::Input& input = node->inputs[i];
    if (!input.is_weight) continue;
    const Value own{input.value.dtype, input.own_shape.value_or(input.value.shape)};
    tensors.parameter_bytes += input.bytes - padding_bytes(input.value, own);
  }
  for (size_t i = 0; i < tensors.inputs.size(); ++i) {
    const bool is_weight = node != nullptr && i < node->inputs.size() && node->inputs[i].is_weight;
    if (is_weight) continue;
    subtract(padding_bytes(tensors.padded_inputs[i], tensors.inputs[i]), &tensors.activation_bytes);
  }
  for (size_t i = 0; i < tensors.outputs.size(); ++i) {
    subtract(padding_bytes(tensors.padded_outputs[i], tensors.outputs[i]), &tensors.output_bytes);
  }
  return tensors;
}

}  // namespace xsp::ort
