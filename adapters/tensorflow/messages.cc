#include "adapters/tensorflow/messages.h"

#include <algorithm>
#include <limits>

#include "adapters/tensorflow/library.h"
#include "formats/wire/wire_fields.h"
#include "xsp/plugin.hpp"

namespace xsp::tf {
namespace {

using Message = formats::wire::Fields;

void read_shape(Bytes shape, Value* value) {
  value->has_shape = true;
  for (Message message(shape); message.next();) {
    if (message.is(2)) {
      int64_t size = 0;
      for (Message dimension(message.body()); dimension.next();) {
        if (dimension.is(1)) size = dimension.integer();
      }
      value->dimensions.push_back(size);
    } else if (message.is(3) && message.integer() != 0) {
      value->has_shape = false;
    }
  }
}

// Reads a TensorDescription or a TensorInfo: the type and the shape, by their fields' numbers.
Value read_value(Bytes tensor, uint32_t type, uint32_t shape) {
  Value value;
  value.has_shape = true;  // no shape in the message means a scalar
  for (Message message(tensor); message.next();) {
    if (message.is(type)) value.type = static_cast<int>(message.integer());
    if (message.is(shape)) read_shape(message.body(), &value);
  }
  return value;
}

// Reads an entry of a map: its key, and the value's body.
std::pair<std::string, Bytes> read_entry(Bytes entry) {
  std::pair<std::string, Bytes> result;
  for (Message message(entry); message.next();) {
    if (message.is(1)) result.first = message.text();
    if (message.is(2)) result.second = message.body();
  }
  return result;
}

Node read_node(Bytes node_def) {
  Node node;
  for (Message message(node_def); message.next();) {
    if (message.is(1)) node.name = message.text();
    if (message.is(2)) node.op = message.text();
    if (message.is(3) && !message.text().starts_with('^')) node.inputs.emplace_back(message.text());
  }
  return node;
}

// Counts the nodes in a FunctionDefLibrary.
size_t count_function_nodes(Bytes library) {
  size_t count = 0;
  for (Message message(library); message.next();) {
    if (!message.is(1)) continue;
    for (Message function(message.body()); function.next();) count += function.is(3) ? 1 : 0;
  }
  return count;
}

std::vector<Port> read_port(Bytes entry) {
  const auto [name, body] = read_entry(entry);
  Port port{name, "", read_value(body, 2, 3)};
  for (Message info(body); info.next();) {
    if (info.is(1)) port.tensor = info.text();
  }
  if (port.tensor.empty()) return {};  // a sparse or composite tensor
  return {std::move(port)};
}

Signature read_signature(Bytes entry) {
  const auto [name, body] = read_entry(entry);
  Signature signature{name, {}, {}};
  for (Message message(body); message.next();) {
    if (!message.is(1) && !message.is(2)) continue;
    auto& ports = message.is(1) ? signature.inputs : signature.outputs;
    for (Port& port : read_port(message.body())) ports.push_back(std::move(port));
  }
  // A map has no order in the wire format.
  for (auto* ports : {&signature.inputs, &signature.outputs}) {
    std::sort(ports->begin(), ports->end(),
              [](const Port& a, const Port& b) { return a.name < b.name; });
  }
  return signature;
}

// Reads one result of an execution.
Value read_output(Bytes node_output) {
  for (Message message(node_output); message.next();) {
    if (message.is(3)) return read_value(message.body(), 1, 2);
  }
  return {};
}

// Impossible numbers are clamped to this, so that sums of them do not overflow.
constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 4;
int64_t within(int64_t value, int64_t most) { return std::clamp<int64_t>(value, 0, most); }

int64_t read_allocated(Bytes memory) {
  for (Message message(memory); message.next();) {
    if (message.is(2)) return message.integer();
  }
  return 0;
}

Execution read_execution(Bytes node_stats) {
  Execution execution;
  int64_t start_us = 0, end_us = 0, end_ns = 0;
  for (Message message(node_stats); message.next();) {
    switch (message.number()) {
      case 1:
        execution.node = message.text();
        break;
      case 2:
        start_us = within(message.integer(), kMost / 1000);
        break;
      case 5:
        end_us = within(message.integer(), kMost / 1000);
        break;
      case 6:
        execution.allocated_bytes = within(within(execution.allocated_bytes, kMost) +
                                               within(read_allocated(message.body()), kMost),
                                           kMost);
        break;
      case 7:
        execution.outputs.push_back(read_output(message.body()));
        break;
      case 8:
        execution.label = message.text();
        break;
      case 13:
        execution.start_ns = within(message.integer(), kMost);
        break;
      case 16:
        end_ns = within(message.integer(), kMost);
        break;
      default:
        break;
    }
  }
  // Older versions report only microseconds.
  const bool has_ns = execution.start_ns != 0;
  if (!has_ns) execution.start_ns = start_us * 1000;
  execution.end_ns = execution.start_ns + (has_ns ? end_ns : end_us * 1000);
  return execution;
}

// Reads a device's record if it is the executor's. Records that a profiler adds ("/host:CPU",
// ".../stream:all") are skipped.
void read_device(Bytes device_stats, std::vector<Execution>* executions) {
  std::string_view name;
  for (Message message(device_stats); message.next();) {
    if (message.is(1)) name = message.text();
  }
  if (name.find("/device:") == std::string_view::npos ||
      name.find("stream:") != std::string_view::npos ||
      name.find("memcpy") != std::string_view::npos) {
    return;
  }
  for (Message message(device_stats); message.next();) {
    if (message.is(2)) executions->push_back(read_execution(message.body()));
  }
}

}  // namespace

int64_t Value::bytes() const {
  int64_t bytes = static_cast<int64_t>(dtype_bytes(dtype_of(type)));
  if (!has_shape || bytes == 0) return -1;
  for (const int64_t size : dimensions) {
    if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes)) return -1;
  }
  return bytes;
}

GraphDef read_graph(Bytes graph_def) {
  GraphDef graph;
  for (Message message(graph_def); message.next();) {
    if (message.is(1)) graph.nodes.push_back(read_node(message.body()));
    if (message.is(2)) graph.function_nodes += count_function_nodes(message.body());
  }
  return graph;
}

MetaGraph read_meta_graph(Bytes meta_graph_def) {
  MetaGraph graph;
  for (Message message(meta_graph_def); message.next();) {
    if (message.is(1)) {
      for (Message info(message.body()); info.next();) {
        if (info.is(4)) graph.tags.emplace_back(info.text());
      }
    }
    if (message.is(2)) graph.graph_def = message.body();
    if (message.is(5)) graph.signatures.push_back(read_signature(message.body()));
  }
  return graph;
}

std::vector<MetaGraph> read_saved_model(Bytes saved_model) {
  std::vector<MetaGraph> graphs;
  for (Message message(saved_model); message.next();) {
    if (message.is(2)) graphs.push_back(read_meta_graph(message.body()));
  }
  return graphs;
}

namespace {

// Returns "Op(a, b)".
std::string_view call_of(const Execution& execution) {
  const std::string mark = std::string(execution.node) + " = ";
  const size_t at = execution.label.find(mark);
  return at == std::string_view::npos ? "" : execution.label.substr(at + mark.size());
}

}  // namespace

std::string_view op_of(const Execution& execution) {
  const std::string_view call = call_of(execution);
  return call.substr(0, call.find('('));
}

std::vector<std::string_view> inputs_of(const Execution& execution) {
  std::vector<std::string_view> inputs;
  std::string_view call = call_of(execution);
  const size_t open = call.find('('), close = call.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
  call = call.substr(open + 1, close - open - 1);
  while (!call.empty()) {
    const size_t end = std::min(call.find(", "), call.size());
    if (!call.starts_with('^')) inputs.push_back(call.substr(0, end));
    call.remove_prefix(std::min(end + 2, call.size()));
  }
  return inputs;
}

std::vector<Execution> read_executions(Bytes run_metadata) {
  std::vector<Execution> executions;
  for (Message message(run_metadata); message.next();) {
    if (!message.is(1)) continue;
    for (Message stats(message.body()); stats.next();) {
      if (stats.is(1)) read_device(stats.body(), &executions);
    }
  }
  std::stable_sort(executions.begin(), executions.end(),
                   [](const Execution& a, const Execution& b) { return a.start_ns < b.start_ns; });
  return executions;
}

}  // namespace xsp::tf
