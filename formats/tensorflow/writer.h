// Writes a Graph as a frozen graph of TensorFlow (a GraphDef, *.pb), with the same weights as the
// ONNX file.
//
// Images are batch x height x width x channels there, because TensorFlow's CPU kernels need that:
// an input is transposed once, and weights of convolutions are written transposed. Inputs and
// outputs have the ONNX file's names, shapes and order of axes. TensorFlow has no operator for a
// layer normalisation, so it becomes the nodes that Keras uses.
#ifndef XSP_FORMATS_TENSORFLOW_WRITER_H_
#define XSP_FORMATS_TENSORFLOW_WRITER_H_

#include <string>

#include "formats/file_output.h"
#include "formats/onnx/graph.h"

namespace xsp::formats {

// Returns kFailed, and names the operator, if one has no counterpart here.
Status write_tensorflow(const Graph& graph, const WeightSource& weights, const std::string& path,
                        const WriteOptions& options);

}  // namespace xsp::formats

#endif  // XSP_FORMATS_TENSORFLOW_WRITER_H_
