// Writes a Graph as an ONNX file. The weights are made while they are written, a piece at a time,
// so a model of any size takes little memory.
#ifndef XSP_MODELS_ONNX_WRITER_H_
#define XSP_MODELS_ONNX_WRITER_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/result.h"
#include "models/onnx/graph.h"

namespace xsp::models {

// Fills `out` with the values of initializer `index` of the graph, from its byte `offset` on.
// `offset` and the size are multiples of 16. Not called for tensors which hold their values.
using WeightSource = std::function<void(size_t index, uint64_t offset, std::span<uint8_t> out)>;

struct WriteOptions {
  bool replace = false;  // an existing file at `path`; otherwise that is an error
  // Told how far the writing is; false stops it (kInterrupted).
  std::function<bool(uint64_t done_bytes, uint64_t total_bytes)> progress;
};

// Writes to a temporary file beside `path`, and renames it at the end: whoever looks sees no file,
// or all of it, and a failure leaves nothing. Needs the initializers' dtype, dimensions and bytes.
Status write_graph(const Graph& graph, const WeightSource& weights, const std::string& path,
                   const WriteOptions& options);

// The size of the file that write_graph would write.
uint64_t written_bytes(const Graph& graph);

}  // namespace xsp::models

#endif  // XSP_MODELS_ONNX_WRITER_H_
