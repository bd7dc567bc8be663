// Writes a Graph as a model of MXNet 1: NAME-symbol.json with the network, and beside it
// NAME-0000.params with its weights, which are those of the ONNX file.
//
// Graphs that the format cannot express are refused, as for Caffe: pads that differ between two
// sides, and every operator that is not part of convolutional networks.
#ifndef XSP_FORMATS_MXNET_WRITER_H_
#define XSP_FORMATS_MXNET_WRITER_H_

#include <string>
#include <vector>

#include "formats/file_output.h"
#include "formats/onnx/graph.h"

namespace xsp::formats {

struct MxnetModel {
  std::string symbol;
  std::vector<Piece> params;  // weights by the index of the graph's initializer
};

// Returns kFailed and the reason if MXNet cannot express the graph.
Result<MxnetModel> to_mxnet(const Graph& graph);

// `path` names either file. Works like write_pieces for each of the two.
Status write_mxnet(const Graph& graph, const WeightSource& weights, const std::string& path,
                   const WriteOptions& options);

}  // namespace xsp::formats

#endif  // XSP_FORMATS_MXNET_WRITER_H_
