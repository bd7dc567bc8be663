// A symbol of MXNet, as its JSON says it: a graph of nodes in the order of their execution.
#ifndef XSP_ADAPTERS_MXNET_SYMBOL_H_
#define XSP_ADAPTERS_MXNET_SYMBOL_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace xsp::mxnet {

struct Node {
  std::string op;  // "null": a variable: an input or a weight
  std::string name;
  std::vector<std::pair<size_t, size_t>> inputs;  // a node's place, and which of its outputs
  // The names of the layers that it was fused from; one without parts is its own.
  std::vector<std::string> sources;
  // Of variables, where the model's file says so; 0 and -1: not known.
  std::vector<int64_t> shape;
  int dtype = -1;

  bool is_variable() const { return op == "null"; }
};

// None if it is no symbol.
std::vector<Node> parse_symbol(std::string_view json);

}  // namespace xsp::mxnet

#endif  // XSP_ADAPTERS_MXNET_SYMBOL_H_
