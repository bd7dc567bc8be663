// Writes a Graph as a program of StableHLO's text form (*.mlir), which XLA's plugins compile, with
// the same weights as the ONNX file as constants.
//
// Shapes are fixed there: the batch is that of the options, other dynamic dimensions have the
// model's defaults. Images keep ONNX's order of axes. Every operation has the location of its
// layer.
#ifndef XSP_FORMATS_STABLEHLO_WRITER_H_
#define XSP_FORMATS_STABLEHLO_WRITER_H_

#include <string>

#include "formats/file_output.h"
#include "formats/onnx/graph.h"

namespace xsp::formats {

// Returns kFailed, and names the operator, if one has no counterpart here.
Status write_stablehlo(const Graph& graph, const WeightSource& weights, const std::string& path,
                       const WriteOptions& options);

}  // namespace xsp::formats

#endif  // XSP_FORMATS_STABLEHLO_WRITER_H_
