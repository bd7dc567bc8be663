// Writes a Graph as a model of MXNet 1: NAME-symbol.json, which says the network, and beside it
// NAME-0000.params with its weights, the same as in the ONNX file.
//
// What cannot be said is refused, as for Caffe: pads that differ between two sides, and every
// operator but those of convolutional networks.
#ifndef XSP_MODELS_MXNET_WRITER_H_
#define XSP_MODELS_MXNET_WRITER_H_

#include <string>
#include <vector>

#include "models/file_output.h"
#include "models/onnx/graph.h"

namespace xsp::models {

struct MxnetModel {
  std::string symbol;
  std::vector<Piece> params;  // weights by the index of the graph's initializer
};

// kFailed if MXNet cannot say the graph, and why.
Result<MxnetModel> to_mxnet(const Graph& graph);

// `path` names either file. As write_pieces for each of the two.
Status write_mxnet(const Graph& graph, const WeightSource& weights, const std::string& path,
                   const WriteOptions& options);

}  // namespace xsp::models

#endif  // XSP_MODELS_MXNET_WRITER_H_
