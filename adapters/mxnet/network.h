// Reads a model's files: a symbol and its parameters, with the inputs that they leave open.
//
// NAME-symbol.json and NAME-0000.params (the last of several) belong together; either names both.
// Options: symbol, params (the other file), inputs (NAME:1,3,224,224;..., if the symbol does not
// state their shapes), subgraph (the backend that fuses layers; NONE: no fusion).
#ifndef XSP_ADAPTERS_MXNET_NETWORK_H_
#define XSP_ADAPTERS_MXNET_NETWORK_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "adapters/mxnet/library.h"
#include "adapters/mxnet/symbol.h"
#include "xsp/adapter_model.hpp"

namespace xsp::mxnet {

using Shape = std::vector<int>;

// Holds shapes of all inputs and outputs of a symbol.
struct SymbolShapes {
  std::vector<Shape> arguments;
  std::vector<Shape> outputs;
  std::vector<Shape> states;
};
// Throws std::runtime_error if they do not follow from those of the inputs.
SymbolShapes infer_shapes(Handle symbol, const std::map<std::string, Shape>& inputs);

struct Network {
  Owned symbol;
  std::map<std::string, Owned> parameters;  // by "arg:NAME" and "aux:NAME"
  std::vector<std::string> arguments;       // arguments of the symbol, in its order
  std::vector<std::string> states;          // its auxiliary states
  std::vector<Port> inputs;
  std::vector<Port> outputs;
  std::string subgraph;  // the option
};

// On failure, reports the reason through the host. Throws std::runtime_error for an error of MXNet.
xsp_status open_network(const xsp_host* host, const xsp_open_options& options, Network* network);

std::vector<std::string> list(int (*names)(Handle, uint32_t*, const char***), Handle symbol);

}  // namespace xsp::mxnet

#endif  // XSP_ADAPTERS_MXNET_NETWORK_H_
