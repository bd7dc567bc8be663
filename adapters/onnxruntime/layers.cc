#include "adapters/onnxruntime/layers.h"

#include <simdjson.h>

#include <algorithm>

#include "formats/onnx/provenance.h"
#include "formats/onnx/reader.h"
#include "xsp/adapter.hpp"

namespace xsp::ort {
namespace {

// Returns xsp's name for an element type whose name in the runtime differs.
std::string dtype_of(std::string_view name) {
  if (name == "float") return "float32";
  if (name == "double") return "float64";
  return std::string(name);
}

std::string json_dtypes(const std::vector<Value>& values) {
  std::vector<std::string> dtypes;
  for (const Value& value : values) dtypes.push_back(value.dtype);
  return json_strings(dtypes);
}

std::string json_shapes_of(const std::vector<Value>& values) {
  std::vector<std::vector<int64_t>> shapes;
  for (const Value& value : values) shapes.push_back(value.shape);
  return json_shapes(shapes);
}

void set_text(uint32_t site, const char* key, const std::string& value) {
  xsp_site_attribute(site, key, value.c_str());
}

void set_number(uint32_t site, const char* key, int64_t value) {
  if (value >= 0) xsp_site_counter(site, key, static_cast<double>(value));
}

void set_tensors(uint32_t site, const Tensors& tensors) {
  set_text(site, "input_shapes", json_shapes_of(tensors.inputs));
  set_text(site, "output_shapes", json_shapes_of(tensors.outputs));
  set_text(site, "input_dtypes", json_dtypes(tensors.inputs));
  set_text(site, "output_dtypes", json_dtypes(tensors.outputs));
  if (tensors.padded_inputs != tensors.inputs) {
    set_text(site, "padded_input_shapes", json_shapes_of(tensors.padded_inputs));
  }
  if (tensors.padded_outputs != tensors.outputs) {
    set_text(site, "padded_output_shapes", json_shapes_of(tensors.padded_outputs));
  }
  if (!tensors.is_known) set_text(site, "padding", "not known");
  set_number(site, "parameter_bytes", tensors.parameter_bytes);
  set_number(site, "activation_bytes", tensors.activation_bytes);
  set_number(site, "output_bytes", tensors.output_bytes);
}

// Records the layers of the model that are not executed, and why.
void set_fates(const formats::Provenance& provenance, uint32_t model_site) {
  if (model_site == 0) return;
  std::vector<std::string> folded;
  std::vector<std::string> removed;
  for (const formats::OriginalNode& node : provenance.originals) {
    if (node.fate == formats::Fate::kFolded) folded.push_back(node.name);
    if (node.fate == formats::Fate::kRemoved) removed.push_back(node.name);
  }
  set_text(model_site, "folded_layers", json_strings(folded));
  set_text(model_site, "removed_layers", json_strings(removed));
}

}  // namespace

std::vector<Value> parse_values(std::string_view json) {
  simdjson::dom::parser parser;
  simdjson::dom::array list;
  std::vector<Value> values;
  if (parser.parse(json.data(), json.size()).get_array().get(list) != simdjson::SUCCESS) return {};
  for (const simdjson::dom::element element : list) {
    simdjson::dom::object object;
    if (element.get_object().get(object) != simdjson::SUCCESS) return {};
    for (const auto& [dtype, shape] : object) {
      Value value{dtype_of(dtype), {}};
      simdjson::dom::array dimensions;
      if (shape.get_array().get(dimensions) != simdjson::SUCCESS) return {};
      for (const simdjson::dom::element dimension : dimensions) {
        int64_t number = 0;
        if (dimension.get_int64().get(number) != simdjson::SUCCESS) return {};
        value.shape.push_back(number);
      }
      values.push_back(std::move(value));
    }
  }
  return values;
}

std::string name_of(const NodeEvent& event, const GraphNode* node) {
  if (node == nullptr || !node->sources || node->sources->empty()) return std::string(event.name);
  return node->sources->front();
}

std::vector<Value> complete_inputs(const std::vector<Value>& profiled, const GraphNode& node) {
  const auto weights = static_cast<size_t>(
      std::count_if(node.inputs.begin(), node.inputs.end(),
                    [](const GraphNode::Input& input) { return input.is_weight; }));
  const size_t computed = node.inputs.size() - weights;
  // Nothing is added if no input is missing, or if inputs that are no weights are missing.
  if (profiled.size() >= node.inputs.size() || profiled.size() < computed) return profiled;
  size_t weights_there = profiled.size() - computed;
  size_t next = 0;
  std::vector<Value> all;
  for (const GraphNode::Input& input : node.inputs) {
    if (!input.is_weight) {
      all.push_back(profiled[next++]);
      continue;
    }
    all.push_back(input.value);
    if (weights_there > 0 && profiled[next] == input.value) {
      ++next;
      --weights_there;
    }
  }
  return next == profiled.size() ? all : profiled;
}

void Layers::read(const std::string& model, const std::string& optimized, uint32_t model_site) {
  const auto own = formats::read_graph(model);
  if (!own.ok()) return;
  node_count_ = own->nodes.size();
  if (optimized.empty()) return;
  const auto graph = formats::read_graph(optimized);
  if (!graph.ok()) return;
  node_count_ = graph->nodes.size();
  const formats::Provenance provenance = formats::trace_provenance(*own, *graph);
  set_fates(provenance, model_site);
  add(*graph, &*own, &provenance, {});
}

std::optional<std::vector<std::string>> Layers::input_layers(const formats::Node& node,
                                                             const Scope& scope) {
  std::vector<std::string> layers;
  for (const std::string& name : node.inputs) {
    const auto producer = scope.producers.find(name);
    if (producer == scope.producers.end()) continue;  // a weight, or an input of the model
    if (producer->second.empty()) return std::nullopt;
    const std::string& layer = producer->second;
    if (std::find(layers.begin(), layers.end(), layer) == layers.end()) layers.push_back(layer);
  }
  return layers;
}

void Layers::add(const formats::Graph& graph, const formats::Graph* model,
                 const formats::Provenance* provenance, Scope scope) {
  for (const formats::Tensor& tensor : graph.initializers) scope.weights[tensor.name] = &tensor;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const formats::Node& node = graph.nodes[i];
    const auto sources = provenance != nullptr ? provenance->names(i) : std::vector<std::string>();
    const std::string layer = sources.empty() ? node.name : sources.front();
    for (const std::string& name : node.outputs) {
      if (!name.empty()) scope.producers[name] = layer;
    }
  }
  const formats::Blocks blocks(graph, model, provenance);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const formats::Node& node = graph.nodes[i];
    GraphNode known;
    if (provenance != nullptr) known.sources = provenance->names(i);
    known.input_layers = input_layers(node, scope);
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      const std::string& name = node.inputs[k];
      if (name.empty()) continue;
      GraphNode::Input input;
      input.channels = blocks.channels(name);
      const auto weight = scope.weights.find(name);
      if (weight != scope.weights.end()) {
        const formats::Tensor& tensor = *weight->second;
        input.is_weight = true;
        input.value = {dtype_name(static_cast<uint32_t>(tensor.dtype)), tensor.dimensions};
        input.bytes = static_cast<int64_t>(tensor.bytes);
        input.own_shape = blocks.weight_shape(node, k, tensor.dimensions);
      }
      known.inputs.push_back(std::move(input));
    }
    for (const std::string& name : node.outputs) {
      if (!name.empty()) known.outputs.push_back(blocks.channels(name));
    }
    graph_[node.name.empty() ? node.op_type : node.name].push_back(std::move(known));
    // The bodies of branches and loops see the tensors around them.
    for (const formats::Attribute& attribute : node.attributes) {
      for (const formats::Graph& body : attribute.graph) add(body, nullptr, nullptr, scope);
    }
  }
}

const GraphNode* Layers::graph_node(const NodeEvent& event) {
  std::string key(event.name);
  auto found = graph_.find(key);
  if (found == graph_.end()) {
    // The runtime names a node without a name by its operator and index.
    const std::string made = std::string(event.op_type) + "_" + std::string(event.node_index);
    if (key != made) return nullptr;
    key = event.op_type;
    found = graph_.find(key);
    if (found == graph_.end()) return nullptr;
  }
  const auto [place, is_new] = seen_.emplace(key + '\n' + std::string(event.node_index), 0);
  if (is_new) place->second = seen_count_[key]++;
  return place->second < found->second.size() ? &found->second[place->second] : nullptr;
}

uint32_t Layers::site(const NodeEvent& event) {
  std::string key;
  for (const std::string_view part :
       {event.name, event.node_index, event.op_type, event.input_shapes, event.output_shapes}) {
    key.append(part).push_back('\n');
  }
  const auto [known, is_new] = sites_.emplace(std::move(key), 0);
  if (!is_new) return known->second;

  const GraphNode* node = graph_node(event);
  std::string name = name_of(event, node);
  const int count = ++names_[name];
  if (count > 1) name += "#" + std::to_string(count);
  const uint32_t site =
      xsp_intern_site(XSP_LEVEL_LAYER, name.c_str(), std::string(event.op_type).c_str());
  known->second = site;
  if (site == 0) return 0;
  if (name_of(event, node) != event.name) set_text(site, "executed_as", std::string(event.name));
  if (node != nullptr && node->sources) {
    set_text(site, "source_layers", json_strings(*node->sources));
  }
  if (node != nullptr && node->input_layers) {
    set_text(site, "input_layers", json_strings(*node->input_layers));
  }
  const Tensors tensors = tensors_of(event, node);
  set_tensors(site, tensors);
  set_text(site, "provider", std::string(event.provider));
  // The first execution takes this number of bytes from the allocator; later ones reuse one planned
  // block. Runtimes that do not report it are assumed to allocate every output.
  set_number(site, "allocated_bytes",
             event.allocated_bytes >= 0 ? event.allocated_bytes : event.output_bytes);
  return site;
}

}  // namespace xsp::ort
