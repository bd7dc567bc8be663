// Computes the shapes of a graph's values once its dynamic dimensions are known, and the arithmetic
// of each node.
#ifndef XSP_FORMATS_ONNX_SHAPES_H_
#define XSP_FORMATS_ONNX_SHAPES_H_

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "formats/onnx/graph.h"
#include "shared/base/result.h"

namespace xsp::formats {

using Shape = std::vector<int64_t>;

// Holds the facts of a value before it is computed. A size of -1 depends on the data.
struct KnownValue {
  int32_t dtype = 0;
  Shape shape;
  bool has_integers = false;  // an integer tensor whose elements follow from the shapes alone
  std::vector<int64_t> integers;

  int64_t elements() const;  // -1 if not known
};

using KnownValues = std::unordered_map<std::string, KnownValue>;

// Returns the shapes of all values that can be inferred. Values behind an operator that is not
// known here, or whose shapes depend on data, are absent. Every symbol of an input must be in
// `symbols`, unless it has a default in the model. Returns kUsage for a dimension without a value,
// and kCorrupt if the nodes contradict each other.
Result<KnownValues> infer_shapes(const Graph& graph, const std::map<std::string, int64_t>& symbols);

// Returns the value that a caller should use for a symbolic dimension by default, if the model's
// metadata has one ("default_dimension:SYMBOL"); otherwise 0.
int64_t default_dimension(const Graph& graph, const std::string& symbol);

struct Work {
  int64_t macs = 0;   // multiply-accumulates of convolutions and matrix products
  int64_t flops = 0;  // 2 per MAC, plus elementwise arithmetic; no special functions
};

// Returns the cost of a node, by the rules of the analyses (operator_cost in
// analyses/prelude_2_layers.sql); zeros if its shapes are not known.
Work node_work(const Node& node, const KnownValues& values);

// Holds the number of learned elements: floats in initializers, without batch normalisations'
// statistics.
struct ParameterCount {
  int64_t learned = 0;
  int64_t statistics = 0;
};
ParameterCount count_parameters(const Graph& graph);

}  // namespace xsp::formats

#endif  // XSP_FORMATS_ONNX_SHAPES_H_
