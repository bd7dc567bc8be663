// Questions about a node that writers of formats for convolutional networks ask.
#ifndef XSP_FORMATS_IMAGE_NODES_H_
#define XSP_FORMATS_IMAGE_NODES_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "formats/onnx/graph.h"

namespace xsp::formats {

// Describes the window of a convolution or a pooling: height, width.
struct ImageWindow {
  std::array<int64_t, 2> kernel{};
  std::array<int64_t, 2> stride{1, 1};
  std::array<int64_t, 2> pad{};  // on either side

  bool is_padded() const { return pad[0] > 0 || pad[1] > 0; }
};

// Reads the node's window. Returns an error if it does not have two dimensions with equal pads on
// both sides; empty if it does.
std::string read_window(const Node& node, ImageWindow* window);

// Returns the graph's constants of one number, by the name of the value.
std::map<std::string, float> scalar_constants(const Graph& graph);

// Returns whether a Clip limits values to the range from 0 to 6.
bool is_relu6(const Node& node, const std::map<std::string, float>& constants);

}  // namespace xsp::formats

#endif  // XSP_FORMATS_IMAGE_NODES_H_
