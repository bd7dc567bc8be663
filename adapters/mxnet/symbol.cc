#include "adapters/mxnet/symbol.h"

#include <simdjson.h>

#include <cstdlib>

namespace xsp::mxnet {
namespace {

namespace dom = simdjson::dom;

std::string text_of(dom::object object, const char* key) {
  std::string_view text;
  return object[key].get(text) == simdjson::SUCCESS ? std::string(text) : "";
}

// Parses "(0, 3, 224, 224)".
std::vector<int64_t> shape_of(const std::string& text) {
  std::vector<int64_t> shape;
  const char* at = text.c_str();
  while (*at != '\0') {
    char* end = nullptr;
    const int64_t dimension = std::strtoll(at, &end, 10);
    if (end == at) {
      ++at;
      continue;
    }
    shape.push_back(dimension);
    at = end;
  }
  return shape;
}

// Adds the operators of the graphs that a fused node contains.
void add_sources(dom::object node, std::vector<std::string>* sources) {
  dom::array graphs;
  if (node["subgraphs"].get(graphs) != simdjson::SUCCESS) return;
  for (const dom::element graph : graphs) {
    dom::array nodes;
    if (graph["nodes"].get(nodes) != simdjson::SUCCESS) continue;
    for (const dom::element element : nodes) {
      dom::object inner;
      if (element.get(inner) != simdjson::SUCCESS || text_of(inner, "op") == "null") continue;
      const size_t before = sources->size();
      add_sources(inner, sources);
      if (sources->size() == before) sources->push_back(text_of(inner, "name"));
    }
  }
}

bool add_inputs(dom::object object, size_t place, Node* node) {
  dom::array inputs;
  if (object["inputs"].get(inputs) != simdjson::SUCCESS) return false;
  for (const dom::element input : inputs) {
    uint64_t from = 0, index = 0;
    if (input.at_pointer("/0").get(from) != simdjson::SUCCESS ||
        input.at_pointer("/1").get(index) != simdjson::SUCCESS || from >= place) {
      return false;
    }
    node->inputs.emplace_back(from, index);
  }
  return true;
}

}  // namespace

std::vector<Node> parse_symbol(std::string_view json) {
  dom::parser parser;
  dom::element root;
  dom::array list;
  if (parser.parse(json.data(), json.size()).get(root) != simdjson::SUCCESS) return {};
  if (root["nodes"].get(list) != simdjson::SUCCESS) return {};
  std::vector<Node> nodes;
  for (const dom::element element : list) {
    dom::object object;
    if (element.get(object) != simdjson::SUCCESS) return {};
    Node node;
    node.op = text_of(object, "op");
    node.name = text_of(object, "name");
    if (node.op.empty() || !add_inputs(object, nodes.size(), &node)) return {};
    add_sources(object, &node.sources);
    if (node.sources.empty() && !node.is_variable()) node.sources = {node.name};
    dom::object attributes;
    // Older files call them `attr` or `param`.
    for (const char* key : {"attrs", "attr", "param"}) {
      if (object[key].get(attributes) != simdjson::SUCCESS) continue;
      node.shape = shape_of(text_of(attributes, "__shape__"));
      const std::string dtype = text_of(attributes, "__dtype__");
      if (!dtype.empty()) node.dtype = std::atoi(dtype.c_str());
      break;
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace xsp::mxnet
