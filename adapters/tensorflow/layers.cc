#include "adapters/tensorflow/layers.h"

#include <algorithm>
#include <charconv>

#include "adapters/tensorflow/library.h"
#include "xsp/adapter.hpp"

namespace xsp::tf {
namespace {

// Returns true if the operator only passes on an existing tensor.
bool hands_over(std::string_view op) {
  return op == "Const" || op == "HostConst" || op == "NoOp" || op == "_Arg" || op == "_Retval" ||
         op == "VarHandleOp";
}

bool is_weight(std::string_view op) {
  return op == "Const" || op == "HostConst" || op == "ReadVariableOp" || op == "VariableV2";
}

// Returns a node's name without the calls of functions that were inlined:
// "StatefulPartitionedCall/net/conv1".
std::string_view without_calls(std::string_view name) {
  for (size_t slash = name.find('/'); slash != std::string_view::npos; slash = name.find('/')) {
    const std::string_view first = name.substr(0, slash);
    if (!first.starts_with("PartitionedCall") && !first.starts_with("StatefulPartitionedCall")) {
      break;
    }
    name.remove_prefix(slash + 1);
  }
  return name;
}

// Splits "conv1:1" into "conv1" and 1.
std::pair<std::string_view, size_t> tensor_of(std::string_view input) {
  const size_t colon = input.rfind(':');
  size_t index = 0;
  if (colon == std::string_view::npos) return {input, 0};
  std::from_chars(input.data() + colon + 1, input.data() + input.size(), index);
  return {input.substr(0, colon), index};
}

std::string shapes_json(const std::vector<Value>& values) {
  std::vector<std::vector<int64_t>> shapes;
  for (const Value& value : values) shapes.push_back(value.dimensions);
  return json_shapes(shapes);
}

std::string dtypes_json(const std::vector<Value>& values) {
  std::vector<std::string> names;
  for (const Value& value : values) names.emplace_back(dtype_name(dtype_of(value.type)));
  return json_strings(names);
}

}  // namespace

Provenance::Provenance(const GraphDef& own)
    : nodes_(own.nodes), is_known_(!own.nodes.empty() && own.function_nodes == 0) {
  if (!is_known_) return;
  for (size_t i = 0; i < nodes_.size(); ++i) by_name_.emplace(nodes_[i].name, i);
  // Nodes may come in any order, and in loops, so the nodes that depend on an input are found
  // iteratively.
  depends_on_input_.assign(nodes_.size(), false);
  std::vector<std::vector<size_t>> readers(nodes_.size());
  std::vector<size_t> reached;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    for (const std::string& input : nodes_[i].inputs) {
      const auto found = by_name_.find(tensor_of(input).first);
      if (found != by_name_.end()) readers[found->second].push_back(i);
    }
    if (nodes_[i].op == "Placeholder") reached.push_back(i);
  }
  while (!reached.empty()) {
    const size_t at = reached.back();
    reached.pop_back();
    if (depends_on_input_[at]) continue;
    depends_on_input_[at] = true;
    reached.insert(reached.end(), readers[at].begin(), readers[at].end());
  }
}

bool Provenance::is_layer(const Node& node) const {
  return node.op != "Placeholder" && !hands_over(node.op);
}

std::vector<std::string> Provenance::sources(std::string_view node,
                                             const std::vector<std::string_view>& inputs) const {
  const auto own = by_name_.find(node);
  if (own == by_name_.end()) return {};
  std::unordered_set<std::string_view> ends;
  for (const std::string_view input : inputs) ends.insert(tensor_of(input).first);
  std::vector<std::string> names;
  std::unordered_set<size_t> seen;
  std::vector<size_t> open = {own->second};
  while (!open.empty()) {
    const size_t at = open.back();
    open.pop_back();
    if (!seen.insert(at).second || !depends_on_input_[at] || !is_layer(nodes_[at])) continue;
    names.push_back(nodes_[at].name);
    for (const std::string& input : nodes_[at].inputs) {
      const auto found = by_name_.find(tensor_of(input).first);
      if (found != by_name_.end() && ends.count(found->first) == 0) open.push_back(found->second);
    }
  }
  std::reverse(names.begin(), names.end());  // from the inputs on
  return names;
}

std::vector<std::string> Provenance::folded() const {
  std::vector<std::string> names;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (!depends_on_input_[i] && is_layer(nodes_[i])) names.push_back(nodes_[i].name);
  }
  return names;
}

std::vector<std::string> Provenance::removed(
    const std::unordered_set<std::string>& executed) const {
  std::vector<std::string> names;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (!depends_on_input_[i] || !is_layer(nodes_[i])) continue;
    if (executed.count(nodes_[i].name) == 0) names.push_back(nodes_[i].name);
  }
  return names;
}

void Layers::describe_model(const std::vector<Execution>& executions) {
  is_described_ = true;
  if (model_site_ == 0 || !provenance_.is_known()) return;
  std::unordered_set<std::string> executed;
  for (const Execution& execution : executions) {
    for (std::string& name : provenance_.sources(execution.node, inputs_of(execution))) {
      executed.insert(std::move(name));
    }
  }
  xsp_site_attribute(model_site_, "folded_layers", json_strings(provenance_.folded()).c_str());
  xsp_site_attribute(model_site_, "removed_layers",
                     json_strings(provenance_.removed(executed)).c_str());
}

uint32_t Layers::make_site(const Execution& execution, std::string_view op,
                           const std::vector<std::string_view>& inputs,
                           const Producers& producers) {
  std::string name = valid_utf8(without_calls(execution.node));
  const int count = ++names_[name];
  if (count > 1) name += "#" + std::to_string(count);
  const uint32_t id = xsp_new_site(XSP_LEVEL_LAYER, name.c_str(), valid_utf8(op).c_str());
  std::vector<Value> read;
  int64_t parameter_bytes = 0, activation_bytes = 0, output_bytes = 0;
  for (const std::string_view input : inputs) {
    const auto [producer, index] = tensor_of(input);
    const auto found = producers.find(producer);
    if (found == producers.end() || index >= found->second->outputs.size()) continue;
    const Value& value = found->second->outputs[index];
    read.push_back(value);
    (is_weight(op_of(*found->second)) ? parameter_bytes : activation_bytes) +=
        std::max<int64_t>(value.bytes(), 0);
  }
  for (const Value& value : execution.outputs) output_bytes += std::max<int64_t>(value.bytes(), 0);
  const auto set = [&](const char* key, const std::string& value) {
    xsp_site_attribute(id, key, value.c_str());
  };
  set("input_shapes", shapes_json(read));
  set("input_dtypes", dtypes_json(read));
  set("output_shapes", shapes_json(execution.outputs));
  set("output_dtypes", dtypes_json(execution.outputs));
  if (provenance_.is_known()) {
    set("source_layers", json_strings(provenance_.sources(execution.node, inputs)));
  }
  xsp_site_counter(id, "output_bytes", static_cast<double>(output_bytes));
  xsp_site_counter(id, "activation_bytes", static_cast<double>(activation_bytes));
  xsp_site_counter(id, "parameter_bytes", static_cast<double>(parameter_bytes));
  if (execution.allocated_bytes >= 0) {
    xsp_site_counter(id, "allocated_bytes", static_cast<double>(execution.allocated_bytes));
  }
  return id;
}

uint32_t Layers::site(const Execution& execution, std::string_view op, const Producers& producers) {
  const std::vector<std::string_view> inputs = inputs_of(execution);
  std::string key(execution.node);
  const auto add = [&key](const std::vector<Value>& values) {
    for (const Value& value : values) {
      key += '|' + std::to_string(value.type);
      for (const int64_t size : value.dimensions) key += ',' + std::to_string(size);
    }
  };
  add(execution.outputs);
  for (const std::string_view input : inputs) {
    const auto found = producers.find(tensor_of(input).first);
    if (found != producers.end()) add(found->second->outputs);
  }
  const auto [place, is_new] = sites_.emplace(std::move(key), 0);
  if (is_new) place->second = make_site(execution, op, inputs, producers);
  return place->second;
}

size_t Layers::emit(const Run& run, Bytes run_metadata) {
  const std::vector<Execution> executions = read_executions(run_metadata);
  if (!is_described_) describe_model(executions);
  Producers producers;
  Lanes lanes(run.thread);
  size_t count = 0;
  for (const Execution& execution : executions) {
    producers[execution.node] = &execution;
    const std::string_view op = op_of(execution);
    if (op.empty() || (!every_node_ && hands_over(op))) continue;
    xsp_complete_span span{};
    span.struct_size = sizeof span;
    span.site_id = site(execution, op, producers);
    span.start_ns = std::clamp(execution.start_ns, run.start_ns, run.end_ns);
    const int64_t end_ns = std::clamp(execution.end_ns, span.start_ns, run.end_ns);
    span.duration_ns = end_ns - span.start_ns;
    span.thread = lanes.thread(span.start_ns, end_ns);
    xsp_emit(&span);
    ++count;
  }
  return count;
}

}  // namespace xsp::tf
