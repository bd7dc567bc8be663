#include "adapters/opencv_dnn/network.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <opencv2/core/utils/logger.hpp>

#include "formats/onnx/reader.h"

namespace xsp::opencv_dnn {
namespace {

// Two sizes of a batch: an output's dimension that differs between them depends on the batch.
constexpr int kOneBatch = 2;
constexpr int kOtherBatch = 3;

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

cv::dnn::Net read_network(const Files& files) {
  switch (files.format) {
    case Format::kCaffe:
      return cv::dnn::readNetFromCaffe(files.description, files.weights);
    case Format::kDarknet:
      return cv::dnn::readNetFromDarknet(files.description, files.weights);
    case Format::kTorch:
      return cv::dnn::readNetFromTorch(files.weights);
    case Format::kTensorflow:
      return cv::dnn::readNetFromTensorflow(files.weights, files.description);
    case Format::kOnnx:
      break;
  }
  return cv::dnn::readNetFromONNX(files.weights);
}

void name_symbols(Port* port) {
  port->symbols.assign(port->dimensions.size(), "");
  if (!port->dimensions.empty() && port->dimensions[0] < 0) port->symbols[0] = "batch";
}

// Returns the shapes of the inputs that the network knows itself; none if its file does not state
// them.
Shapes own_input_shapes(const cv::dnn::Net& net) {
  Shapes inputs, outputs;
  net.getLayerShapes(cv::dnn::MatShape(), 0, inputs, outputs);
  return outputs;
}

// Reads the inputs of an ONNX file, which states all of them. Returns the error; empty if there is
// none.
std::string onnx_inputs(const std::string& path, std::vector<Port>* ports) {
  const auto graph = formats::read_graph(path);
  if (!graph.ok()) return graph.error().text;
  for (const formats::ValueInfo& input : graph->required_inputs()) {
    if (input.dtype != formats::kFloat32) {
      return path + ": its input '" + input.name + "' is of the type " +
             formats::dtype_name(input.dtype) +
             ": OpenCV takes float32 alone: use --framework onnxruntime";
    }
    Port port{input.name, XSP_FLOAT32, {}, {}};
    for (const formats::Dimension& dimension : input.dimensions) {
      port.dimensions.push_back(dimension.value);
      port.symbols.push_back(dimension.symbol);
    }
    ports->push_back(std::move(port));
  }
  return "";
}

// Returns the error in the model's inputs; empty if there is none.
std::string find_inputs(const Files& files, const Options& options, Network* network) {
  if (!options.inputs.empty()) {
    for (const InputShape& input : options.inputs) {
      network->inputs.push_back({input.name, XSP_FLOAT32, input.dimensions, {}});
    }
  } else if (files.format == Format::kOnnx) {
    return onnx_inputs(files.weights, &network->inputs);
  } else {
    const Shapes shapes = own_input_shapes(network->net);
    std::vector<std::string> names;
    if (files.format == Format::kCaffe) names = caffe_input_names(text_of(files.description));
    if (names.empty()) names.emplace_back("input");
    if (names.size() != shapes.size() || shapes[0].empty()) {
      return files.weights +
             ": it does not say what inputs it takes: say it with --option "
             "'inputs=data:1,3,224,224'";
    }
    for (size_t i = 0; i < names.size(); ++i) {
      network->inputs.push_back({names[i], XSP_FLOAT32, {shapes[i].begin(), shapes[i].end()}, {}});
    }
  }
  for (Port& port : network->inputs) name_symbols(&port);
  return "";
}

Shapes shapes_for(const std::vector<Port>& inputs, int batch) {
  Shapes shapes;
  for (const Port& port : inputs) {
    cv::dnn::MatShape shape;
    for (const int64_t d : port.dimensions) shape.push_back(d < 0 ? batch : static_cast<int>(d));
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

// Returns the shapes of the outputs for this batch. Throws if the network does not accept it.
std::vector<Shapes> output_shapes(const Network& network, int batch) {
  const LayerShapes all = layer_shapes(network.net, shapes_for(network.inputs, batch));
  std::vector<Shapes> outputs;
  for (const cv::String& name : network.output_layers) {
    const int id = network.net.getLayerId(name);
    for (size_t i = 0; i < all.ids.size(); ++i) {
      if (all.ids[i] == id) outputs.push_back(all.outputs[i]);
    }
  }
  return outputs;
}

// The first dimension is the batch, whatever its size in the file, if the network accepts other
// sizes.
bool takes_any_batch(Network* network) {
  std::vector<Port> as_said = network->inputs;
  for (Port& port : network->inputs) {
    if (port.dimensions.size() < 2) return false;
    port.dimensions[0] = -1;
    name_symbols(&port);
  }
  try {
    (void)output_shapes(*network, kOneBatch);
    (void)output_shapes(*network, kOtherBatch);
    return true;
  } catch (const cv::Exception&) {
    network->inputs = std::move(as_said);
    return false;
  }
}

void find_outputs(Network* network) {
  const std::vector<Shapes> one = output_shapes(*network, kOneBatch);
  const std::vector<Shapes> other = output_shapes(*network, kOtherBatch);
  for (size_t layer = 0; layer < one.size(); ++layer) {
    for (size_t i = 0; i < one[layer].size(); ++i) {
      Port port{network->output_layers[layer], XSP_FLOAT32, {}, {}};
      if (i > 0) port.name += ":" + std::to_string(i);
      for (size_t d = 0; d < one[layer][i].size(); ++d) {
        const bool is_same = one[layer][i][d] == other[layer][i][d];
        port.dimensions.push_back(is_same ? one[layer][i][d] : -1);
      }
      name_symbols(&port);
      network->outputs.push_back(std::move(port));
    }
  }
}

// Returns the error in the file; empty if there is none.
std::string read(const Files& files, const Options& options, Network* network) {
  network->net = read_network(files);
  if (network->net.empty() || network->net.getLayerNames().empty()) {
    return files.weights + ": it has no layers: give the file of a model";
  }
  const std::string why = find_inputs(files, options, network);
  if (!why.empty()) return why;
  network->output_layers = network->net.getUnconnectedOutLayersNames();
  if (files.format != Format::kOnnx) (void)takes_any_batch(network);
  find_outputs(network);
  return "";
}

}  // namespace

std::string parse_options(const xsp_open_options& given, Options* options) {
  for (size_t i = 0; i < given.option_count; ++i) {
    const std::string key = given.options[i].key;
    const std::string value = given.options[i].value;
    const auto wrong = [&](const char* remedy) {
      return "option '" + key + "': '" + value + "' is none: give " + remedy;
    };
    if (key == "config" || key == "weights") {
      options->other_file = value;
    } else if (key == "inputs") {
      options->inputs = parse_input_shapes(value);
      if (options->inputs.empty()) return wrong("NAME:1,3,224,224, and more after a ';'");
    } else if (key == "fusion") {
      if (value != "0" && value != "1") return wrong("0 or 1");
      options->fusion = value == "1";
    } else if (key == "target") {
      if (value != "cpu" && value != "opencl") return wrong("cpu or opencl");
      options->opencl = value == "opencl";
    } else if (key == "layer_times") {
      if (value != "traced" && value != "profile") return wrong("traced or profile");
      options->traces_layers = value == "traced";
    } else {
      return "option '" + key +
             "': OpenCV has no such option: it has config, fusion, inputs, layer_times, target, "
             "weights";
    }
  }
  return "";
}

xsp_status open_network(const xsp_host* host, const std::string& path, const Options& options,
                        Network* network) {
  cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
  std::string why;
  const Files files = find_files(path, options.other_file, &why);
  if (!why.empty()) return fail(host, XSP_BAD_MODEL, why);
  for (const std::string& file : {files.description, files.weights}) {
    std::error_code error;
    if (file.empty() || std::filesystem::file_size(file, error) != 0 || error) continue;
    return fail(host, XSP_BAD_MODEL, file + ": it is empty: fetch or export it again");
  }
  try {
    why = read(files, options, network);
  } catch (const cv::Exception& error) {
    const std::string text = path + ": " + condensed(error);
    if (error.code == cv::Error::StsNoMem) {
      return fail(host, XSP_OUT_OF_MEMORY, text + ": use a smaller model");
    }
    return fail(host, XSP_BAD_MODEL, text + ": OpenCV " CV_VERSION " cannot open it");
  }
  if (!why.empty()) return fail(host, XSP_BAD_MODEL, why);
  network->net.enableFusion(options.fusion);
  network->net.setPreferableBackend(cv::dnn::DNN_BACKEND_OPENCV);
  network->net.setPreferableTarget(options.opencl ? cv::dnn::DNN_TARGET_OPENCL
                                                  : cv::dnn::DNN_TARGET_CPU);
  return XSP_OK;
}

std::string library_path() {
  using Read = cv::dnn::Net (*)(const cv::String&);
  const Read function = cv::dnn::readNetFromONNX;
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(function), &info) == 0) return "libopencv_dnn";
  std::error_code error;
  return std::filesystem::canonical(info.dli_fname, error).string();
}

bool has_opencl() {
  const std::string text = cv::getBuildInformation();
  const size_t at = text.find("OpenCL:");
  const size_t value = at == std::string::npos ? at : text.find_first_not_of(" ", at + 7);
  return value != std::string::npos && text.compare(value, 3, "YES") == 0;
}

// An importer's text contains that of the exception which stopped it:
//   > Node [Conv]:(a) parse error: OpenCV(4.6.0) ./a.cpp:106: error: (-5:Bad argument) why
//   in function 'f' >
std::string condensed(const cv::Exception& error) {
  std::string text = error.err;
  const auto cut = [&](const char* from, const char* to, const char* behind) {
    const size_t begin = text.find(from);
    const size_t inner = begin == std::string::npos ? begin : text.find(to, begin);
    const size_t end = inner == std::string::npos ? inner : text.find(behind, inner);
    if (end == std::string::npos) return false;
    text.erase(begin, end + std::strlen(behind) - begin);
    return true;
  };
  while (cut("OpenCV(", "error: (", ") ")) continue;
  while (cut("in function '", "'", "'\n") || cut("in function '", "'", "' ")) continue;
  std::replace(text.begin(), text.end(), '>', ' ');
  text = one_line(text);
  // Matches "FAILED: Read(file, what). why".
  const size_t call = text.rfind("FAILED: ", 0) == 0 ? text.find("). ") : std::string::npos;
  if (call != std::string::npos) text.erase(0, call + 3);
  const size_t begin = text.find_first_not_of(" :");
  return begin == std::string::npos ? "it says no reason" : text.substr(begin);
}

LayerShapes layer_shapes(const cv::dnn::Net& net, const Shapes& inputs) {
  LayerShapes shapes;
  net.getLayersShapes(inputs, shapes.ids, shapes.inputs, shapes.outputs);
  return shapes;
}

}  // namespace xsp::opencv_dnn
