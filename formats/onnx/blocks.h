// Tensors that ONNX Runtime keeps in blocks of channels (its layout NCHWc).
//
// A block has as many channels as a register of the processor holds numbers, 8 or 16, and the last
// block is padded: a tensor of 8 channels has 16 in the graph that runs on a processor with
// AVX-512. The model's number of channels follows from the weights of the model's own layers, from
// the nodes that convert out of the layout, and from the nodes that keep the channels unchanged.
#ifndef XSP_FORMATS_ONNX_BLOCKS_H_
#define XSP_FORMATS_ONNX_BLOCKS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "formats/onnx/graph.h"
#include "formats/onnx/provenance.h"

namespace xsp::formats {

class Blocks {
 public:
  static constexpr int64_t kNotKnown = -1;
  static constexpr int64_t kNotPadded = 0;  // as many as in the executed graph

  // `model` and `provenance` may be null, as in the bodies of branches and loops.
  Blocks(const Graph& optimised, const Graph* model, const Provenance* provenance);

  // Returns the model's number of channels of a tensor of the optimised graph, or one of the
  // constants above; nothing if it is not kept in blocks.
  std::optional<int64_t> channels(const std::string& tensor) const;
  // Returns the model's shape of input `index` of a node, which is a weight; nothing if it is not
  // known.
  std::optional<std::vector<int64_t>> weight_shape(const Node& node, size_t index,
                                                   std::vector<int64_t> dimensions) const;

 private:
  bool learn(const std::string& tensor, int64_t channels);
  bool spread(const Node& node, int64_t channels);
  bool pass(const Node& node);
  void learn_from_poolings(const Graph& optimised);
  void learn_from_model(const Graph& optimised, const Graph& model, const Provenance& provenance);

  std::unordered_map<std::string, int64_t> channels_;  // for all tensors in blocks
};

// Returns the model's shape of a tensor in blocks, whose shape in the runtime is [N, C, H, W] or
// sometimes [N, C / block, H, W, block]. Returns nothing if the channels are not known, or do not
// match the shape.
std::optional<std::vector<int64_t>> without_blocks(const std::vector<int64_t>& shape,
                                                   int64_t channels);

}  // namespace xsp::formats

#endif  // XSP_FORMATS_ONNX_BLOCKS_H_
