#include "formats/image_nodes.h"

#include <vector>

namespace xsp::formats {

std::string read_window(const Node& node, ImageWindow* window) {
  const std::vector<int64_t> kernel = node.integers("kernel_shape");
  const std::vector<int64_t> strides = node.integers("strides");
  const std::vector<int64_t> pads = node.integers("pads");
  if (kernel.size() != 2) return "it is not of two dimensions";
  for (size_t d = 0; d < 2; ++d) {
    window->kernel[d] = kernel[d];
    if (!strides.empty()) window->stride[d] = strides[d];
    if (pads.empty()) continue;
    // The order is [top, left, bottom, right].
    if (pads[d] != pads[d + 2]) return "its pads differ between two sides";
    window->pad[d] = pads[d];
  }
  return "";
}

std::map<std::string, float> scalar_constants(const Graph& graph) {
  std::map<std::string, float> constants;
  for (const Node& node : graph.nodes) {
    const Attribute* value = node.attribute("value");
    if (node.op_type == "Constant" && value != nullptr && !value->tensor.empty() &&
        value->tensor[0].floats.size() == 1) {
      constants[node.outputs[0]] = value->tensor[0].floats[0];
    }
  }
  return constants;
}

bool is_relu6(const Node& node, const std::map<std::string, float>& constants) {
  const auto is = [&](size_t input, float value) {
    if (input >= node.inputs.size()) return false;
    const auto constant = constants.find(node.inputs[input]);
    return constant != constants.end() && constant->second == value;
  };
  return is(1, 0) && is(2, 6);
}

}  // namespace xsp::formats
