#include "adapters/opencv_dnn/layers.h"

#include <algorithm>
#include <opencv2/dnn/all_layers.hpp>
#include <string_view>

#include "xsp/adapter.hpp"

namespace xsp::opencv_dnn {
namespace {

const char* dtype_of(int depth) {
  switch (depth) {
    case CV_8U:
      return "uint8";
    case CV_8S:
      return "int8";
    case CV_16U:
      return "uint16";
    case CV_16S:
      return "int16";
    case CV_32S:
      return "int32";
    case CV_64F:
      return "float64";
    case CV_16F:
      return "float16";
    default:
      return "float32";
  }
}

using Shape = std::vector<int64_t>;

int64_t bytes_of(const std::vector<Shape>& shapes) {
  int64_t bytes = 0;
  for (const Shape& shape : shapes) {
    int64_t elements = 1;
    for (const int64_t dimension : shape) elements *= dimension;
    bytes += elements * static_cast<int64_t>(sizeof(float));
  }
  return bytes;
}

std::vector<Shape> wide(const Shapes& shapes) {
  std::vector<Shape> all;
  for (const cv::dnn::MatShape& shape : shapes) all.emplace_back(shape.begin(), shape.end());
  return all;
}

// Returns for each layer, by its id, the layer that computes it: itself or, if it is fused, the one
// of its inputs that is executed last. (A concatenation may be fused into all of its inputs.)
std::vector<int> hosts_of(const cv::dnn::Net& net, const std::vector<double>& ticks) {
  std::vector<int> hosts(ticks.size() + 1, 0);
  for (int id = 1; id <= static_cast<int>(ticks.size()); ++id) {
    const auto at = static_cast<size_t>(id);
    hosts[at] = id;
    if (ticks[at - 1] > 0) continue;
    int host = 0;
    for (const cv::Ptr<cv::dnn::Layer>& input : net.getLayerInputs(id)) {
      const int input_id = input == nullptr ? 0 : net.getLayerId(input->name);
      if (input_id > 0 && input_id < id) {
        host = std::max(host, hosts[static_cast<size_t>(input_id)]);
      }
    }
    hosts[at] = host;
  }
  return hosts;
}

// Returns OpenCV's own name of the type; for pooling, it is derived from the method.
std::string type_of(const cv::dnn::Layer& layer) {
  const auto* pooling = dynamic_cast<const cv::dnn::PoolingLayer*>(&layer);
  if (pooling == nullptr || layer.type != "Pooling") return layer.type;
  // The numbers are those of Caffe's message PoolingParameter.
  constexpr const char* kMethods[] = {"Max", "Ave", "Stochastic"};
  const int method = pooling->type;
  return (method >= 0 && method < 3 ? kMethods[method] : "") + layer.type;
}

// Returns the layer's name in the model's own file: the importer of ONNX adds a prefix.
std::string own_name(const std::string& name) {
  constexpr std::string_view kMark = "onnx_node!";
  return name.compare(0, kMark.size(), kMark) == 0 ? name.substr(kMark.size()) : name;
}

struct Facts {
  std::vector<Shape> inputs;  // followed by the weights
  std::vector<std::string> input_dtypes;
  std::vector<Shape> outputs;
  int64_t activation_bytes = 0;
  int64_t parameter_bytes = 0;
};

Facts facts_of(const cv::dnn::Layer& layer, const Shapes& inputs, const Shapes& outputs) {
  Facts facts{wide(inputs), {}, wide(outputs), 0, 0};
  facts.activation_bytes = bytes_of(facts.inputs);
  facts.input_dtypes.assign(facts.inputs.size(), "float32");
  for (const cv::Mat& blob : layer.blobs) {
    facts.inputs.emplace_back(blob.size.p, blob.size.p + blob.dims);
    facts.input_dtypes.emplace_back(dtype_of(blob.depth()));
    facts.parameter_bytes += static_cast<int64_t>(blob.total() * blob.elemSize());
  }
  return facts;
}

}  // namespace

std::vector<double> layer_ticks(cv::dnn::Net* net) {
  std::vector<double> ticks;
  net->getPerfProfile(ticks);
  return ticks;
}

uint32_t Layers::site(const cv::dnn::Layer& layer, const std::string& facts) {
  const auto [known, is_new] = known_.emplace(layer.name + '\n' + facts, 0);
  if (!is_new) return known->second;
  std::string name = layer.name;
  const int count = ++names_[name];
  if (count > 1) name += "#" + std::to_string(count);
  known->second = xsp_intern_site(XSP_LEVEL_LAYER, name.c_str(), type_of(layer).c_str());
  return known->second;
}

void Layers::describe(cv::dnn::Net* net, const Shapes& inputs, const std::vector<double>& ticks,
                      const std::string& provider) {
  const LayerShapes shapes = layer_shapes(*net, inputs);
  const std::vector<int> hosts = hosts_of(*net, ticks);
  std::vector<std::vector<std::string>> sources(hosts.size());
  for (size_t id = 1; id < hosts.size(); ++id) {
    sources[static_cast<size_t>(hosts[id])].push_back(
        own_name(net->getLayer(static_cast<int>(id))->name));
  }
  sites_.assign(ticks.size(), 0);
  for (size_t i = 0; i < shapes.ids.size(); ++i) {
    const auto id = static_cast<size_t>(shapes.ids[i]);
    if (id == 0 || id > ticks.size() || hosts[id] != shapes.ids[i]) continue;
    const cv::Ptr<cv::dnn::Layer> layer = net->getLayer(shapes.ids[i]);
    const Facts facts = facts_of(*layer, shapes.inputs[i], shapes.outputs[i]);
    const std::string input_shapes = json_shapes(facts.inputs);
    const uint32_t made = site(*layer, input_shapes);
    sites_[id - 1] = made;
    if (made == 0) continue;
    const auto text = [&](const char* key, const std::string& value) {
      xsp_site_attribute(made, key, value.c_str());
    };
    text("input_shapes", input_shapes);
    text("output_shapes", json_shapes(facts.outputs));
    text("input_dtypes", json_strings(facts.input_dtypes));
    text("output_dtypes", json_strings(std::vector<std::string>(facts.outputs.size(), "float32")));
    text("provider", provider);
    text("source_layers", json_strings(sources[id]));
    xsp_site_counter(made, "output_bytes", static_cast<double>(bytes_of(facts.outputs)));
    xsp_site_counter(made, "activation_bytes", static_cast<double>(facts.activation_bytes));
    xsp_site_counter(made, "parameter_bytes", static_cast<double>(facts.parameter_bytes));
  }
}

}  // namespace xsp::opencv_dnn
