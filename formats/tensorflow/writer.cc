#include "formats/tensorflow/writer.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "formats/onnx/shapes.h"
#include "formats/tensorflow/convert.h"

namespace xsp::formats {
namespace {

constexpr uint64_t kMessageBytesMax = (uint64_t{1} << 31) - 1;  // limit of protocol buffers

// Converts a convolution's weights from ONNX's order, out x in x height x width, to TensorFlow's:
// height x width x in x out or, for a depthwise one, height x width x out (each of `in` 1). A
// matrix is such a filter without height and width.
void transpose_filter(const float* from, const std::vector<int64_t>& shape, float* to) {
  const int64_t outs = shape[0], ins = shape[1];
  const int64_t places = shape.size() == 2 ? 1 : shape[2] * shape[3];
  for (int64_t out = 0; out < outs; ++out) {
    for (int64_t in = 0; in < ins; ++in) {
      for (int64_t place = 0; place < places; ++place) {
        to[(place * ins + in) * outs + out] = from[(out * ins + in) * places + place];
      }
    }
  }
}

}  // namespace

Status write_tensorflow(const Graph& graph, const WeightSource& weights, const std::string& path,
                        const WriteOptions& options) {
  XSP_TRY(tf::Converted converted, tf::convert(graph));
  uint64_t bytes = 0;
  for (const Piece& piece : converted.pieces) bytes += piece.text.size() + piece.weight_bytes;
  if (bytes > kMessageBytesMax) {
    return failed(path + ": a frozen graph cannot be larger than 2 GB: choose a smaller model");
  }
  // A filter is generated as a whole, transposed, and returned in parts, which are requested in
  // order.
  std::optional<size_t> current;
  std::vector<float> made, transposed;
  const WeightSource source = [&](size_t index, uint64_t offset, std::span<uint8_t> out) {
    if (converted.filters.count(index) == 0) return weights(index, offset, out);
    const Tensor& tensor = graph.initializers[index];
    if (current != index) {
      made.resize(tensor.elements);
      transposed.resize(tensor.elements);
      weights(index, 0, {reinterpret_cast<uint8_t*>(made.data()), tensor.bytes});
      transpose_filter(made.data(), tensor.dimensions, transposed.data());
      current = index;
    }
    const auto* from = reinterpret_cast<const uint8_t*>(transposed.data()) + offset;
    std::copy(from, from + out.size(), out.begin());
  };
  return write_pieces(converted.pieces, source, path, options);
}

}  // namespace xsp::formats
