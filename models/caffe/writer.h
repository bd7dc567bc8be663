// Writes a Graph as a model of Caffe: a .prototxt, which says the network, and beside it a
// .caffemodel with its weights, the same as in the ONNX file.
//
// What Caffe lacks is refused: pads that differ between two sides, and every operator but those of
// convolutional networks. Two things are said as OpenCV says them, which descendants of Caffe know:
// a layer of the type ReLU6, and `ceil_mode: false` for a pooling whose windows do not fit evenly,
// as Caffe's own rounds up. A batch normalisation becomes two layers, NAME and NAME/scale.
#ifndef XSP_MODELS_CAFFE_WRITER_H_
#define XSP_MODELS_CAFFE_WRITER_H_

#include <string>
#include <vector>

#include "models/file_output.h"
#include "models/onnx/graph.h"

namespace xsp::models {

struct CaffeModel {
  std::string prototxt;
  std::vector<Piece> caffemodel;  // weights by the index of the graph's initializer
};

// With a batch of 1. kFailed if Caffe cannot say the graph, and why.
Result<CaffeModel> to_caffe(const Graph& graph);

// `path` names either file. As write_pieces for each of the two.
Status write_caffe(const Graph& graph, const WeightSource& weights, const std::string& path,
                   const WriteOptions& options);

}  // namespace xsp::models

#endif  // XSP_MODELS_CAFFE_WRITER_H_
