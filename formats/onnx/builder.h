// A small language for networks: each call adds a node, as exporters write it, and returns the
// value that the node makes. Every node and every tensor has a name, made of its place in the
// network: node "layer1/0/conv1" has the weight "layer1/0/conv1/weight" and the output
// "layer1/0/conv1/out".
#ifndef XSP_FORMATS_ONNX_BUILDER_H_
#define XSP_FORMATS_ONNX_BUILDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "formats/onnx/graph.h"
#include "formats/onnx/weights.h"

namespace xsp::formats {

// Represents a tensor of the network. `channels` is the size of its axis 1 (images) or of its last
// axis (sequences), if the caller needs it to determine the size of weights.
struct Value {
  std::string name;
  int64_t channels = 0;
};

struct Window {
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t pad = 0;  // on all four sides
  int64_t groups = 1;
  bool bias = false;
  int64_t kernel_width = 0;  // if it differs from the height: 1x7, 7x1
  int64_t pad_width = -1;    // likewise
  int64_t pad_extra = 0;     // added below and right: TensorFlow's SAME pads unevenly
};

// Returns TensorFlow's window SAME: the output has ceil(size / stride) rows.
Window same_window(int64_t size, int64_t kernel, int64_t stride);

class Builder {
 public:
  // Gains: the operator behind a layer determines how large the layer's weights are, so that
  // activations neither grow nor vanish with depth.
  static constexpr double kBeforeRelu = 2;  // He: a ReLU drops half of the second moment
  static constexpr double kLinear = 1;

  explicit Builder(std::string name);

  Value input(const std::string& name, int32_t dtype, const std::vector<Dimension>& dimensions);
  void output(const Value& value, const std::string& name, int32_t dtype,
              const std::vector<Dimension>& dimensions);
  // Sets the value that a caller should use for a symbolic dimension if the user gives none.
  void default_dimension(const std::string& symbol, int64_t value);

  // Adds any operator with one output.
  Value node(const std::string& name, const std::string& op_type, const std::vector<Value>& inputs,
             const std::vector<Attribute>& attributes = {}, int64_t channels = 0);
  // Adds an operator with several outputs, each with its number of channels.
  std::vector<Value> nodes(const std::string& name, const std::string& op_type,
                           const std::vector<Value>& inputs,
                           const std::vector<Attribute>& attributes,
                           const std::vector<int64_t>& channels);

  Value weight(const std::string& name, const std::vector<int64_t>& dimensions,
               const Distribution& distribution);
  // Adds a table of integers, from which the network looks up values.
  Value buffer(const std::string& name, const std::vector<int64_t>& dimensions,
               const std::vector<int64_t>& values);
  // Adds a Constant node, as exporters write shapes and scalars.
  Value constant(const std::string& name, const std::vector<int64_t>& values);
  Value scalar(const std::string& name, float value);
  Value constant_floats(const std::string& name, const std::vector<int64_t>& dimensions,
                        const std::vector<float>& values);

  // Images: batch x channels x height x width.
  Value conv(const std::string& name, const Value& x, int64_t channels, const Window& window,
             double gain = kBeforeRelu);
  // `scale` is the middle of the learned scales; below 1 for the last one of a residual branch.
  Value batch_norm(const std::string& name, const Value& x, double epsilon = 1e-5,
                   double scale = 1);
  Value relu(const std::string& name, const Value& x);
  Value relu6(const std::string& name, const Value& x);
  Value max_pool(const std::string& name, const Value& x, const Window& window);
  Value average_pool(const std::string& name, const Value& x, const Window& window);
  Value global_average_pool(const std::string& name, const Value& x);
  Value flatten(const std::string& name, const Value& x);
  // Concatenates axis 1 of images.
  Value concat(const std::string& name, const std::vector<Value>& parts);

  // Multiplies two-dimensional x by a transposed weight, plus a bias: torch.nn.Linear.
  Value gemm(const std::string& name, const Value& x, int64_t features, double gain = kLinear);
  // Multiplies x of any rank by a weight, plus a bias: the same on sequences.
  Value dense(const std::string& name, const Value& x, int64_t features, double gain = kLinear);
  Value layer_norm(const std::string& name, const Value& x, double epsilon);
  Value add(const std::string& name, const Value& a, const Value& b);
  Value binary(const std::string& name, const std::string& op_type, const Value& a, const Value& b);
  Value unary(const std::string& name, const std::string& op_type, const Value& x);
  Value reshape(const std::string& name, const Value& x, const std::vector<int64_t>& dimensions,
                int64_t channels);
  Value transpose(const std::string& name, const Value& x, const std::vector<int64_t>& order);
  Value gather(const std::string& name, const Value& table, const Value& indices, int64_t axis);

  const Graph& graph() const { return graph_; }
  // Returns one for each initializer of the graph.
  const std::vector<Distribution>& distributions() const { return distributions_; }

 private:
  Graph graph_;
  std::vector<Distribution> distributions_;
};

Attribute attribute(const std::string& name, int64_t value);
Attribute attribute(const std::string& name, float value);
Attribute attribute(const std::string& name, const std::vector<int64_t>& values);

Dimension fixed(int64_t value);
Dimension symbolic(const std::string& symbol);

}  // namespace xsp::formats

#endif  // XSP_FORMATS_ONNX_BUILDER_H_
