// Writes a Graph as a model of Caffe: a .prototxt with the network, and beside it a .caffemodel
// with its weights, which are those of the ONNX file.
//
// Graphs that Caffe cannot express are refused: pads that differ between two sides, and every
// operator that is not part of convolutional networks. Two things are written in OpenCV's form,
// which descendants of Caffe know: a layer of the type ReLU6, and `ceil_mode: false` for a pooling
// whose windows do not fit evenly, because Caffe's own rounds up. A batch normalisation becomes two
// layers, NAME and NAME/scale.
#ifndef XSP_FORMATS_CAFFE_WRITER_H_
#define XSP_FORMATS_CAFFE_WRITER_H_

#include <string>
#include <vector>

#include "formats/file_output.h"
#include "formats/onnx/graph.h"

namespace xsp::formats {

struct CaffeModel {
  std::string prototxt;
  std::vector<Piece> caffemodel;  // weights by the index of the graph's initializer
};

// Converts with a batch of 1. Returns kFailed and the reason if Caffe cannot express the graph.
Result<CaffeModel> to_caffe(const Graph& graph);

// `path` names either file. Works like write_pieces for each of the two.
Status write_caffe(const Graph& graph, const WeightSource& weights, const std::string& path,
                   const WriteOptions& options);

}  // namespace xsp::formats

#endif  // XSP_FORMATS_CAFFE_WRITER_H_
