#include "adapters/mxnet/network.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace xsp::mxnet {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSymbolEnding = "-symbol.json";
constexpr std::string_view kParamsEnding = ".params";
// Two sizes of a batch: a dimension that differs between them depends on the batch.
constexpr int kOneBatch = 2;
constexpr int kOtherBatch = 3;

struct Options {
  std::string symbol;
  std::string params;
  std::vector<InputShape> inputs;
  std::string subgraph;
};

std::string parse_options(const xsp_open_options& given, Options* options) {
  for (size_t i = 0; i < given.option_count; ++i) {
    const std::string key = given.options[i].key;
    const std::string value = given.options[i].value;
    if (key == "symbol") {
      options->symbol = value;
    } else if (key == "params") {
      options->params = value;
    } else if (key == "subgraph") {
      options->subgraph = value;
    } else if (key == "inputs") {
      options->inputs = parse_input_shapes(value);
      if (options->inputs.empty()) {
        return "option 'inputs': '" + value +
               "' says none: give NAME:1,3,224,224, and more after a ';'";
      }
    } else {
      return "option '" + key +
             "': MXNet has no such option: it has inputs, params, subgraph, symbol";
    }
  }
  return "";
}

bool ends_with(const std::string& text, std::string_view ending) {
  return text.size() >= ending.size() &&
         text.compare(text.size() - ending.size(), ending.size(), ending) == 0;
}

// Returns the last of the files STEM-NNNN.params; empty if there is none.
std::string params_of(const std::string& stem) {
  std::string found;
  std::error_code error;
  const fs::path parent = fs::path(stem).parent_path();
  const std::string prefix = fs::path(stem).filename().string() + "-";
  fs::directory_iterator entries(parent.empty() ? "." : parent, error);
  if (error) return "";
  for (const auto& entry : entries) {
    const std::string name = entry.path().filename();
    if (name.rfind(prefix, 0) != 0 || !ends_with(name, kParamsEnding)) continue;
    const std::string number =
        name.substr(prefix.size(), name.size() - prefix.size() - kParamsEnding.size());
    if (number.find_first_not_of("0123456789") != std::string::npos) continue;
    found = std::max(found, entry.path().string());
  }
  return found;
}

// Finds both files from the name of either. Returns a text that names the missing one; empty if
// both exist.
std::string find_files(const std::string& path, Options* options) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) {
    return path + ": there is no such file: name a model's file";
  }
  if (ends_with(path, kParamsEnding)) {
    options->params = path;
    const size_t dash = path.rfind('-');
    if (options->symbol.empty() && dash != std::string::npos) {
      options->symbol = path.substr(0, dash) + std::string(kSymbolEnding);
    }
    if (fs::is_regular_file(options->symbol, error)) return "";
    return path + ": its symbol " + options->symbol +
           " is not there: name it with --option symbol=FILE";
  }
  options->symbol = path;
  if (options->params.empty() && ends_with(path, kSymbolEnding)) {
    options->params = params_of(path.substr(0, path.size() - kSymbolEnding.size()));
  }
  if (fs::is_regular_file(options->params, error)) return "";
  return path +
         ": beside it there are no parameters (NAME-0000.params): name them with --option "
         "params=FILE";
}

std::map<std::string, Owned> load_parameters(const std::string& path) {
  uint32_t count = 0, name_count = 0;
  Handle* arrays = nullptr;
  const char** names = nullptr;
  if (library().NDArrayLoad(path.c_str(), &count, &arrays, &name_count, &names) != 0) {
    throw std::runtime_error("its parameters " + path + ": " + last_error());
  }
  std::map<std::string, Owned> parameters;
  for (uint32_t i = 0; i < count; ++i) {
    Owned array(arrays[i], library().NDArrayFree);
    if (i < name_count) parameters[names[i]] = std::move(array);
  }
  return parameters;
}

// A label is the target of a loss in training; without training it has no effect.
bool is_label(const std::string& name) { return ends_with(name, "_label") || name == "label"; }

// Returns the error in the inputs; empty if there is none.
std::string find_inputs(const std::vector<Node>& nodes, const Options& options, Network* network) {
  for (const Node& node : nodes) {
    if (!node.is_variable() || is_label(node.name)) continue;
    if (network->parameters.count("arg:" + node.name) != 0) continue;
    if (network->parameters.count("aux:" + node.name) != 0) continue;
    Port port{
        node.name, node.dtype < 0 ? uint32_t{XSP_FLOAT32} : dtype_of(node.dtype), node.shape, {}};
    for (const InputShape& said : options.inputs) {
      if (said.name == node.name) port.dimensions = said.dimensions;
    }
    if (port.dimensions.empty() || port.dtype == 0) {
      return "it does not say what its input '" + node.name +
             "' is: say it with --option 'inputs=" + node.name + ":1,3,224,224'";
    }
    // The first dimension is the batch, whatever its size; the others are as declared.
    port.dimensions[0] = -1;
    for (int64_t& dimension : port.dimensions) {
      if (dimension == 0) dimension = -1;
    }
    network->inputs.push_back(std::move(port));
  }
  return network->inputs.empty() ? "it has no inputs: its parameters are all that it reads" : "";
}

std::map<std::string, Shape> shapes_for(const std::vector<Port>& inputs, int batch) {
  std::map<std::string, Shape> shapes;
  for (const Port& port : inputs) {
    Shape& shape = shapes[port.name];
    for (const int64_t d : port.dimensions) shape.push_back(d < 0 ? batch : static_cast<int>(d));
  }
  return shapes;
}

void find_outputs(Network* network) {
  const auto names = list(library().SymbolListOutputs, network->symbol.get());
  const SymbolShapes one =
      infer_shapes(network->symbol.get(), shapes_for(network->inputs, kOneBatch));
  const SymbolShapes other =
      infer_shapes(network->symbol.get(), shapes_for(network->inputs, kOtherBatch));
  for (size_t i = 0; i < names.size(); ++i) {
    Port port{names[i], XSP_FLOAT32, {}, {}};
    for (size_t d = 0; d < one.outputs[i].size(); ++d) {
      const bool is_same = d < other.outputs[i].size() && one.outputs[i][d] == other.outputs[i][d];
      port.dimensions.push_back(is_same ? one.outputs[i][d] : -1);
    }
    network->outputs.push_back(std::move(port));
  }
}

// Returns the first parameter whose shape differs from the symbol's; empty if there is none.
std::string misshapen(const Network& network) {
  const SymbolShapes shapes =
      infer_shapes(network.symbol.get(), shapes_for(network.inputs, kOneBatch));
  for (size_t i = 0; i < network.arguments.size() && i < shapes.arguments.size(); ++i) {
    const auto parameter = network.parameters.find("arg:" + network.arguments[i]);
    if (parameter == network.parameters.end()) continue;
    int rank = 0;
    const int* shape = nullptr;
    check(library().NDArrayGetShapeEx(parameter->second.get(), &rank, &shape));
    if (Shape(shape, shape + std::max(rank, 0)) != shapes.arguments[i]) {
      return "its parameter '" + network.arguments[i] +
             "' has another shape than the symbol gives it: give those of this symbol";
    }
  }
  return "";
}

// Returns the error in the files; empty if there is none.
std::string read(const Options& options, Network* network) {
  std::ifstream file(options.symbol, std::ios::binary);
  const std::string json{std::istreambuf_iterator<char>(file), {}};
  const std::vector<Node> nodes = parse_symbol(json);
  if (nodes.empty()) return "it is no symbol of MXNet: give a NAME-symbol.json";
  Handle symbol = nullptr;
  check(library().SymbolCreateFromJSON(json.c_str(), &symbol));
  network->symbol = Owned(symbol, library().SymbolFree);
  network->parameters = load_parameters(options.params);
  network->arguments = list(library().SymbolListArguments, symbol);
  network->states = list(library().SymbolListAuxiliaryStates, symbol);
  for (const std::string& state : network->states) {
    if (network->parameters.count("aux:" + state) == 0) {
      return "its parameters lack 'aux:" + state + "': give those of this symbol";
    }
  }
  const std::string why = find_inputs(nodes, options, network);
  if (!why.empty()) return why;
  find_outputs(network);
  return misshapen(*network);
}

}  // namespace

std::vector<std::string> list(int (*names)(Handle, uint32_t*, const char***), Handle symbol) {
  uint32_t count = 0;
  const char** texts = nullptr;
  check(names(symbol, &count, &texts));
  return {texts, texts + count};
}

SymbolShapes infer_shapes(Handle symbol, const std::map<std::string, Shape>& inputs) {
  std::vector<const char*> keys;
  std::vector<uint32_t> ends = {0};
  std::vector<int> sizes;
  for (const auto& [name, shape] : inputs) {
    keys.push_back(name.c_str());
    sizes.insert(sizes.end(), shape.begin(), shape.end());
    ends.push_back(static_cast<uint32_t>(sizes.size()));
  }
  struct Found {
    uint32_t count = 0;
    const int* ranks = nullptr;
    const int** shapes = nullptr;
    std::vector<Shape> copy() const {
      std::vector<Shape> all;
      for (uint32_t i = 0; i < count; ++i) {
        all.emplace_back(shapes[i], shapes[i] + std::max(ranks[i], 0));
      }
      return all;
    }
  };
  Found in, out, aux;
  int complete = 0;
  check(library().SymbolInferShapeEx(symbol, static_cast<uint32_t>(keys.size()), keys.data(),
                                     ends.data(), sizes.data(), &in.count, &in.ranks, &in.shapes,
                                     &out.count, &out.ranks, &out.shapes, &aux.count, &aux.ranks,
                                     &aux.shapes, &complete));
  if (complete == 0) throw std::runtime_error("its shapes do not follow from those of its inputs");
  return {in.copy(), out.copy(), aux.copy()};
}

xsp_status open_network(const xsp_host* host, const xsp_open_options& given, Network* network) {
  Options options;
  std::string why = parse_options(given, &options);
  if (!why.empty()) return fail(host, XSP_FAILED, why);
  why = find_files(given.path, &options);
  if (!why.empty()) return fail(host, XSP_BAD_MODEL, why);
  network->subgraph = options.subgraph;
  try {
    why = read(options, network);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    why = std::string(error.what()) + ": MXNet " + library().version + " cannot open it";
  }
  if (why.empty()) return XSP_OK;
  return fail(host, XSP_BAD_MODEL, std::string(given.path) + ": " + why);
}

}  // namespace xsp::mxnet
