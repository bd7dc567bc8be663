// Writes a Graph as an ONNX file. The weights are generated while they are written, one piece at a
// time, so a model of any size takes little memory.
#ifndef XSP_FORMATS_ONNX_WRITER_H_
#define XSP_FORMATS_ONNX_WRITER_H_

#include <cstdint>
#include <string>

#include "formats/file_output.h"
#include "formats/onnx/graph.h"
#include "shared/base/result.h"

namespace xsp::formats {

// Works like write_pieces. Needs the initializers' dtype, dimensions and bytes.
Status write_graph(const Graph& graph, const WeightSource& weights, const std::string& path,
                   const WriteOptions& options);

// Returns the size of the file that write_graph would write.
uint64_t written_bytes(const Graph& graph);

}  // namespace xsp::formats

#endif  // XSP_FORMATS_ONNX_WRITER_H_
