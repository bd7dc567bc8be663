#include "adapters/mxnet/executor.h"

#include <cstdlib>
#include <stdexcept>

#include "xsp/adapter.hpp"

namespace xsp::mxnet {
namespace {

constexpr int kCpu = 1;  // MXNet's number for this kind of device

// Sets a variable of the environment for its scope.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (value.empty()) return;
    const char* before = std::getenv(name);
    had_ = before != nullptr;
    if (had_) before_ = before;
    is_set_ = true;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (!is_set_) return;
    had_ ? setenv(name_, before_.c_str(), 1) : unsetenv(name_);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::string before_;
  bool had_ = false;
  bool is_set_ = false;
};

Owned new_array(const Shape& shape, uint32_t dtype) {
  const std::vector<uint32_t> sizes(shape.begin(), shape.end());
  Handle array = nullptr;
  check(library().NDArrayCreateEx(sizes.data(), static_cast<uint32_t>(sizes.size()), kCpu, 0, 0,
                                  type_of(dtype), &array));
  return {array, library().NDArrayFree};
}

struct Facts {
  std::vector<std::vector<int64_t>> shapes;
  std::vector<std::string> dtypes;
  int64_t activation_bytes = 0;
  int64_t parameter_bytes = 0;

  void add(const Shape& shape, uint32_t dtype, bool is_parameter) {
    shapes.emplace_back(shape.begin(), shape.end());
    dtypes.emplace_back(dtype_name(dtype));
    int64_t bytes = static_cast<int64_t>(dtype_bytes(dtype));
    for (const int dimension : shape) bytes *= dimension;
    (is_parameter ? parameter_bytes : activation_bytes) += bytes;
  }
};

// Holds the executed graph, with the shapes and types of its nodes' outputs.
class Executed {
 public:
  Executed(const Network& network, const Executor& executor) : network_(network) {
    Handle symbol = nullptr, internals = nullptr;
    check(library().ExecutorGetOptimizedSymbol(executor.handle.get(), &symbol));
    const Owned own(symbol, library().SymbolFree);
    const char* json = nullptr;
    check(library().SymbolSaveToJSON(symbol, &json));
    nodes = parse_symbol(json);
    check(library().SymbolGetInternals(symbol, &internals));
    const Owned own_internals(internals, library().SymbolFree);
    const auto names = list(library().SymbolListOutputs, internals);
    const SymbolShapes all = infer_shapes(internals, executor.input_shapes);
    for (size_t i = 0; i < names.size() && i < all.outputs.size(); ++i) {
      shapes_[names[i]] = all.outputs[i];
    }
    for (const Port& input : network.inputs) dtypes_[input.name] = input.dtype;
    for (const Node& node : nodes) {
      // An operator's outputs have the type of its first input.
      if (!node.is_variable() && !node.inputs.empty()) {
        dtypes_[node.name] = dtype(nodes[node.inputs[0].first]);
      }
    }
  }

  bool is_parameter(const Node& node) const { return parameter(node) != nullptr; }
  uint32_t dtype(const Node& node) const {
    const auto known = dtypes_.find(node.name);
    if (known != dtypes_.end()) return known->second;
    int type = 0;
    const Owned* array = parameter(node);
    if (array != nullptr) (void)library().NDArrayGetDType(array->get(), &type);
    return dtype_of(type);
  }
  // Returns null if the shape is not known.
  const Shape* shape(const Node& node, size_t output) const {
    for (const std::string& name :
         {output == 0 ? node.name : "", output == 0 ? node.name + "_output" : "",
          node.name + "_output" + std::to_string(output)}) {
      const auto found = shapes_.find(name);
      if (found != shapes_.end()) return &found->second;
    }
    return nullptr;
  }

  std::vector<Node> nodes;

 private:
  const Owned* parameter(const Node& node) const {
    if (!node.is_variable()) return nullptr;
    for (const char* kind : {"arg:", "aux:"}) {
      const auto found = network_.parameters.find(kind + node.name);
      if (found != network_.parameters.end()) return &found->second;
    }
    return nullptr;
  }

  const Network& network_;
  std::map<std::string, Shape> shapes_;  // by an output's name
  std::map<std::string, uint32_t> dtypes_;
};

}  // namespace

Executor bind(const Network& network, const std::map<std::string, Shape>& input_shapes,
              bool each_layer) {
  Executor executor;
  executor.input_shapes = input_shapes;
  const SymbolShapes shapes = infer_shapes(network.symbol.get(), input_shapes);
  std::map<std::string, Handle> made;
  for (const Port& input : network.inputs) {
    executor.inputs.push_back(new_array(input_shapes.at(input.name), input.dtype));
    made[input.name] = executor.inputs.back().get();
  }
  std::vector<Handle> arguments, states;
  for (size_t i = 0; i < network.arguments.size(); ++i) {
    const std::string& name = network.arguments[i];
    const auto parameter = network.parameters.find("arg:" + name);
    if (made.count(name) != 0) {
      arguments.push_back(made[name]);
    } else if (parameter != network.parameters.end()) {
      arguments.push_back(parameter->second.get());
    } else {
      executor.others.push_back(new_array(shapes.arguments.at(i), XSP_FLOAT32));
      arguments.push_back(executor.others.back().get());
    }
  }
  for (const std::string& name : network.states) {
    states.push_back(network.parameters.at("aux:" + name).get());
  }
  const Variable bulk("MXNET_EXEC_BULK_EXEC_INFERENCE", each_layer ? "0" : "");
  const Variable subgraph("MXNET_SUBGRAPH_BACKEND", network.subgraph);
  std::vector<Handle> no_gradients(arguments.size());
  std::vector<uint32_t> no_requests(arguments.size());
  Handle handle = nullptr;
  check(library().ExecutorBind(network.symbol.get(), kCpu, 0,
                               static_cast<uint32_t>(arguments.size()), arguments.data(),
                               no_gradients.data(), no_requests.data(),
                               static_cast<uint32_t>(states.size()), states.data(), &handle));
  executor.handle = Owned(handle, library().ExecutorFree);
  uint32_t count = 0;
  Handle* outputs = nullptr;
  check(library().ExecutorOutputs(handle, &count, &outputs));
  for (uint32_t i = 0; i < count; ++i) {
    executor.outputs.emplace_back(outputs[i], library().NDArrayFree);
  }
  return executor;
}

std::vector<Layer> Layers::describe(const Network& network, const Executor& executor) {
  const Executed graph(network, executor);
  std::vector<Layer> layers;
  for (const Node& node : graph.nodes) {
    if (node.is_variable()) continue;
    Facts in, out;
    for (const auto& [from, output] : node.inputs) {
      const Node& input = graph.nodes[from];
      const Shape* shape = graph.shape(input, output);
      if (shape != nullptr) in.add(*shape, graph.dtype(input), graph.is_parameter(input));
    }
    size_t output = 0;
    while (const Shape* shape = graph.shape(node, output++)) {
      out.add(*shape, graph.dtype(node), false);
    }
    const std::string shapes = json_shapes(in.shapes);
    const auto [known, is_new] = known_.emplace(node.name + '\n' + shapes, 0);
    if (is_new) {
      const int count = ++names_[node.name];
      const std::string name = node.name + (count > 1 ? "#" + std::to_string(count) : "");
      known->second = xsp_intern_site(XSP_LEVEL_LAYER, name.c_str(), node.op.c_str());
    }
    const uint32_t site = known->second;
    layers.push_back({node.op, site});
    if (site == 0) continue;
    const auto text = [&](const char* key, const std::string& value) {
      xsp_site_attribute(site, key, value.c_str());
    };
    text("input_shapes", shapes);
    text("output_shapes", json_shapes(out.shapes));
    text("input_dtypes", json_strings(in.dtypes));
    text("output_dtypes", json_strings(out.dtypes));
    text("provider", "MXNet CPU");
    text("source_layers", json_strings(node.sources));
    xsp_site_counter(site, "output_bytes", static_cast<double>(out.activation_bytes));
    xsp_site_counter(site, "activation_bytes", static_cast<double>(in.activation_bytes));
    xsp_site_counter(site, "parameter_bytes", static_cast<double>(in.parameter_bytes));
  }
  return layers;
}

}  // namespace xsp::mxnet
