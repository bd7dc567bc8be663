// A symbol of MXNet, read from its JSON: a graph of nodes in the order of their execution.
#ifndef XSP_ADAPTERS_MXNET_SYMBOL_H_
#define XSP_ADAPTERS_MXNET_SYMBOL_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace xsp::mxnet {

struct Node {
  std::string op;  // "null" for a variable: an input or a weight
  std::string name;
  std::vector<std::pair<size_t, size_t>> inputs;  // a node's index, and the index of its output
  // The names of the layers that were fused into it. A node without parts has its own name.
  std::vector<std::string> sources;
  // Set for variables if the model's file states them; 0 and -1 mean not known.
  std::vector<int64_t> shape;
  int dtype = -1;

  bool is_variable() const { return op == "null"; }
};

// Returns nothing if it is no symbol.
std::vector<Node> parse_symbol(std::string_view json);

}  // namespace xsp::mxnet

#endif  // XSP_ADAPTERS_MXNET_SYMBOL_H_
