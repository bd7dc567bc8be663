// A symbol bound to the memory of its inputs, parameters and results, for one set of shapes.
#ifndef XSP_ADAPTERS_MXNET_EXECUTOR_H_
#define XSP_ADAPTERS_MXNET_EXECUTOR_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "adapters/mxnet/network.h"

namespace xsp::mxnet {

struct Executor {
  Owned handle;
  std::vector<Owned> inputs;   // in the network's order
  std::vector<Owned> others;   // labels, which are never set
  std::vector<Owned> outputs;  // likewise
  std::map<std::string, Shape> input_shapes;
};

// Throws std::runtime_error. With `each_layer` every layer is an operation of MXNet's engine;
// otherwise the engine may run several as one operation, and its profile shows them together.
Executor bind(const Network& network, const std::map<std::string, Shape>& input_shapes,
              bool each_layer);

// Describes a layer that an executor runs.
struct Layer {
  std::string op;
  uint32_t site = 0;
};

// Holds the layers, in the order of their execution, each with a site. Sites are kept by their
// facts, over all executors of a model.
class Layers {
 public:
  std::vector<Layer> describe(const Network& network, const Executor& executor);

 private:
  std::map<std::string, uint32_t> known_;
  std::map<std::string, int> names_;  // number of sites with the name
};

}  // namespace xsp::mxnet

#endif  // XSP_ADAPTERS_MXNET_EXECUTOR_H_
