// Converts a graph of ONNX's operators to one of TensorFlow's: see writer.h.
#ifndef XSP_FORMATS_TENSORFLOW_CONVERT_H_
#define XSP_FORMATS_TENSORFLOW_CONVERT_H_

#include <unordered_set>
#include <vector>

#include "formats/file_output.h"
#include "formats/onnx/graph.h"
#include "shared/base/result.h"

namespace xsp::formats::tf {

struct Converted {
  std::vector<Piece> pieces;           // weights by the index of the graph's initializer
  std::unordered_set<size_t> filters;  // these weights are written as (height x width x) in x out
};
Result<Converted> convert(const Graph& graph);

}  // namespace xsp::formats::tf

#endif  // XSP_FORMATS_TENSORFLOW_CONVERT_H_
