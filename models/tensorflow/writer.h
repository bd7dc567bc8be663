// Writes a Graph as a frozen graph of TensorFlow (a GraphDef, *.pb), with the same weights as the
// ONNX file.
//
// Images are batch x height x width x channels there, as TensorFlow's CPU kernels want them: an
// input is transposed once, and weights of convolutions are written transposed. Inputs and outputs
// have the ONNX file's names, shapes and order of axes. A layer normalisation, which TensorFlow has
// no operator for, becomes the nodes that Keras makes of one.
#ifndef XSP_MODELS_TENSORFLOW_WRITER_H_
#define XSP_MODELS_TENSORFLOW_WRITER_H_

#include <string>

#include "models/file_output.h"
#include "models/onnx/graph.h"

namespace xsp::models {

// kFailed if there is an operator that has no counterpart here, and which.
Status write_tensorflow(const Graph& graph, const WeightSource& weights, const std::string& path,
                        const WriteOptions& options);

}  // namespace xsp::models

#endif  // XSP_MODELS_TENSORFLOW_WRITER_H_
