#include "formats/caffe/writer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <filesystem>
#include <map>
#include <unordered_map>

#include "formats/image_nodes.h"
#include "formats/onnx/shapes.h"
#include "formats/wire/wire.h"

namespace xsp::formats {
namespace {

using wire::put_bytes;
using wire::put_header;

// Numbers of fields in caffe.proto.
constexpr uint32_t kNetName = 1;
constexpr uint32_t kNetLayer = 100;
constexpr uint32_t kLayerName = 1;
constexpr uint32_t kLayerType = 2;
constexpr uint32_t kLayerBlobs = 7;
constexpr uint32_t kBlobData = 5;
constexpr uint32_t kBlobShape = 7;
constexpr uint32_t kShapeDim = 1;

struct Blob {
  std::vector<int64_t> dimensions;
  int64_t weight = -1;  // an initializer; -1: the number 1
  uint64_t bytes = sizeof(float);
};

struct Layer {
  std::string name;
  std::string type;
  std::vector<std::string> bottoms;
  std::string top;
  std::string parameters;  // in the prototxt: "pooling_param { ... }"
  std::vector<Blob> blobs;
};

std::string field(const std::string& key, int64_t value) {
  return " " + key + ": " + std::to_string(value);
}

std::string number(float value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return {text, end};
}

class Converter {
 public:
  Converter(const Graph& graph, const KnownValues& shapes)
      : graph_(graph), shapes_(shapes), constants_(scalar_constants(graph)) {
    for (size_t i = 0; i < graph.initializers.size(); ++i) {
      weights_[graph.initializers[i].name] = i;
    }
  }

  Status convert();
  const std::vector<Layer>& layers() const { return layers_; }

 private:
  using Rule = Status (Converter::*)(const Node&);
  static const std::unordered_map<std::string, Rule>& rules();

  // Adds a layer with the node's name and output.
  Layer& add(const Node& node, const std::string& type) {
    layers_.push_back({node.name, type, {node.inputs[0]}, node.outputs[0], "", {}});
    return layers_.back();
  }
  Error refuse(const Node& node, const std::string& why) const {
    return failed(graph_.name + ": its layer '" + node.name +
                  "' cannot be said in Caffe's format: " + why + ": build it as ONNX");
  }
  Blob blob(const std::string& name) const {
    const size_t index = weights_.at(name);
    const Tensor& tensor = graph_.initializers[index];
    return {tensor.dimensions, static_cast<int64_t>(index), tensor.bytes};
  }
  // Writes kernel, stride and pad of a convolution or a pooling. Pads are [top, left, bottom,
  // right].
  Status window(const Node& node, std::string* text) const;
  bool rounds_down(const Node& node) const;

  Status convolution(const Node& node);
  Status batch_norm(const Node& node);
  Status pooling(const Node& node);
  Status inner_product(const Node& node);
  Status eltwise(const Node& node);
  Status relu6(const Node& node);
  Status same(const Node& node);
  Status nothing(const Node&) { return Ok{}; }

  const Graph& graph_;
  const KnownValues& shapes_;
  std::map<std::string, float> constants_;
  std::unordered_map<std::string, size_t> weights_;
  std::vector<Layer> layers_;
};

const std::unordered_map<std::string, Converter::Rule>& Converter::rules() {
  static const std::unordered_map<std::string, Rule> all = {
      {"Conv", &Converter::convolution},
      {"BatchNormalization", &Converter::batch_norm},
      {"MaxPool", &Converter::pooling},
      {"AveragePool", &Converter::pooling},
      {"GlobalAveragePool", &Converter::pooling},
      {"Gemm", &Converter::inner_product},
      {"Add", &Converter::eltwise},
      {"Clip", &Converter::relu6},
      {"Relu", &Converter::same},
      {"Flatten", &Converter::same},
      {"Concat", &Converter::same},
      {"Softmax", &Converter::same},
      {"Constant", &Converter::nothing},
  };
  return all;
}

Status Converter::convert() {
  for (const Node& node : graph_.nodes) {
    const auto rule = rules().find(node.op_type);
    if (rule == rules().end()) return refuse(node, "Caffe has no " + node.op_type);
    XSP_CHECK_OK((this->*rule->second)(node));
  }
  return Ok{};
}

Status Converter::window(const Node& node, std::string* text) const {
  ImageWindow window;
  const std::string why = read_window(node, &window);
  if (!why.empty()) return refuse(node, why);
  const auto put = [&](const std::string& both, const std::string& prefix,
                       const std::array<int64_t, 2>& sizes) {
    *text += sizes[0] == sizes[1] ? field(both, sizes[0])
                                  : field(prefix + "_h", sizes[0]) + field(prefix + "_w", sizes[1]);
  };
  put("kernel_size", "kernel", window.kernel);
  put("stride", "stride", window.stride);
  put("pad", "pad", window.pad);
  return Ok{};
}

// Returns whether the pooling gives fewer rows or columns than Caffe's, which rounds up.
bool Converter::rounds_down(const Node& node) const {
  const auto input = shapes_.find(node.inputs[0]);
  if (input == shapes_.end() || input->second.shape.size() != 4) return false;
  const std::vector<int64_t> kernel = node.integers("kernel_shape");
  const std::vector<int64_t> strides = node.integers("strides");
  const std::vector<int64_t> pads = node.integers("pads");
  for (size_t d = 0; d < strides.size(); ++d) {
    const int64_t pad = pads.empty() ? 0 : pads[d] + pads[d + 2];
    if ((input->second.shape[d + 2] + pad - kernel[d]) % strides[d] != 0) return true;
  }
  return false;
}

Status Converter::convolution(const Node& node) {
  const std::vector<int64_t> dilations = node.integers("dilations");
  std::string text = "convolution_param {";
  text += field("num_output", graph_.initializers[weights_.at(node.inputs[1])].dimensions[0]);
  text += std::string(" bias_term: ") + (node.inputs.size() > 2 ? "true" : "false");
  XSP_CHECK_OK(window(node, &text));
  if (node.integer("group", 1) != 1) text += field("group", node.integer("group", 1));
  for (const int64_t dilation : dilations) {
    if (dilation != 1) text += field("dilation", dilation);
  }
  Layer& layer = add(node, "Convolution");
  layer.parameters = text + " }";
  for (size_t i = 1; i < node.inputs.size(); ++i) layer.blobs.push_back(blob(node.inputs[i]));
  return Ok{};
}

Status Converter::batch_norm(const Node& node) {
  const Attribute* epsilon = node.attribute("epsilon");
  Layer& norm = add(node, "BatchNorm");
  norm.top = node.name + "/normalised";
  norm.parameters = "batch_norm_param { use_global_stats: true eps: " +
                    number(epsilon == nullptr ? 1e-5f : epsilon->f) + " }";
  // Means and variances are sums, which Caffe divides by the third number.
  norm.blobs = {blob(node.inputs[3]), blob(node.inputs[4]), {{1}, -1, sizeof(float)}};
  layers_.push_back({node.name + "/scale",
                     "Scale",
                     {node.name + "/normalised"},
                     node.outputs[0],
                     "scale_param { bias_term: true }",
                     {blob(node.inputs[1]), blob(node.inputs[2])}});
  return Ok{};
}

Status Converter::pooling(const Node& node) {
  const bool is_max = node.op_type == "MaxPool";
  std::string text = std::string("pooling_param { pool: ") + (is_max ? "MAX" : "AVE");
  if (node.op_type == "GlobalAveragePool") {
    text += " global_pooling: true";
  } else {
    XSP_CHECK_OK(window(node, &text));
    if (rounds_down(node)) text += " ceil_mode: false";
    const std::vector<int64_t> pads = node.integers("pads");
    const bool is_padded =
        std::any_of(pads.begin(), pads.end(), [](int64_t pad) { return pad > 0; });
    if (!is_max && is_padded && node.integer("count_include_pad", 0) == 0) {
      return refuse(node, "its averages leave the padding out");
    }
  }
  add(node, "Pooling").parameters = text + " }";
  return Ok{};
}

Status Converter::inner_product(const Node& node) {
  if (node.integer("transB", 0) != 1) return refuse(node, "its weights are not transposed");
  Layer& layer = add(node, "InnerProduct");
  layer.blobs = {blob(node.inputs[1]), blob(node.inputs[2])};
  layer.parameters =
      "inner_product_param {" + field("num_output", layer.blobs[0].dimensions[0]) + " }";
  return Ok{};
}

Status Converter::eltwise(const Node& node) {
  for (const std::string& input : node.inputs) {
    if (weights_.count(input) != 0 || constants_.count(input) != 0) {
      return refuse(node, "it adds a weight");
    }
  }
  Layer& layer = add(node, "Eltwise");
  layer.bottoms = node.inputs;
  layer.parameters = "eltwise_param { operation: SUM }";
  return Ok{};
}

Status Converter::relu6(const Node& node) {
  if (!is_relu6(node, constants_)) return refuse(node, "it clips to other bounds than 0 and 6");
  add(node, "ReLU6");
  return Ok{};
}

// Adds a layer whose type in Caffe has the same name, up to the case.
Status Converter::same(const Node& node) {
  Layer& layer = add(node, node.op_type == "Relu" ? "ReLU" : node.op_type);
  layer.bottoms = node.inputs;
  return Ok{};
}

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

std::string prototxt_of(const Graph& graph, const std::vector<Layer>& layers) {
  std::string text = "# Written by xsp.\nname: " + quoted(graph.name) + "\n";
  for (const ValueInfo& input : graph.inputs) {
    text += "layer {\n  name: " + quoted(input.name) +
            "\n  type: \"Input\"\n  top: " + quoted(input.name) + "\n  input_param { shape {";
    for (const Dimension& dimension : input.dimensions) {
      text += field("dim", std::max<int64_t>(dimension.value, 1));
    }
    text += " } }\n}\n";
  }
  for (const Layer& layer : layers) {
    text += "layer {\n  name: " + quoted(layer.name) + "\n  type: " + quoted(layer.type) + "\n";
    for (const std::string& bottom : layer.bottoms) text += "  bottom: " + quoted(bottom) + "\n";
    text += "  top: " + quoted(layer.top) + "\n";
    if (!layer.parameters.empty()) text += "  " + layer.parameters + "\n";
    text += "}\n";
  }
  return text;
}

// Returns the fields of a blob before its data.
std::string blob_header(const Blob& blob) {
  std::string dimensions;
  for (const int64_t d : blob.dimensions) wire::put_varint(&dimensions, static_cast<uint64_t>(d));
  std::string shape;
  put_bytes(&shape, kShapeDim, dimensions);
  std::string out;
  put_bytes(&out, kBlobShape, shape);
  put_header(&out, kBlobData, blob.bytes);
  return out;
}

std::vector<Piece> caffemodel_of(const Graph& graph, const std::vector<Layer>& layers) {
  std::vector<Piece> pieces;
  std::string text;
  put_bytes(&text, kNetName, graph.name);
  for (const Layer& layer : layers) {
    if (layer.blobs.empty()) continue;
    std::string start;
    put_bytes(&start, kLayerName, layer.name);
    put_bytes(&start, kLayerType, layer.type);
    // The keys, lengths and headers of the blobs are part of the layer's length.
    std::vector<std::string> headers;
    uint64_t length = start.size();
    for (const Blob& blob : layer.blobs) {
      const std::string header = blob_header(blob);
      std::string& whole = headers.emplace_back();
      put_header(&whole, kLayerBlobs, header.size() + blob.bytes);
      whole += header;
      length += whole.size() + blob.bytes;
    }
    put_header(&text, kNetLayer, length);
    text += start;
    for (size_t i = 0; i < headers.size(); ++i) {
      text += headers[i];
      if (layer.blobs[i].weight < 0) {
        const auto bits = std::bit_cast<uint32_t>(1.0f);
        for (int byte = 0; byte < 4; ++byte) text += static_cast<char>(bits >> (8 * byte));
        continue;
      }
      pieces.push_back({std::move(text), layer.blobs[i].weight, layer.blobs[i].bytes});
      text.clear();
    }
  }
  if (!text.empty()) pieces.push_back({std::move(text), -1, 0});
  return pieces;
}

}  // namespace

Result<CaffeModel> to_caffe(const Graph& graph) {
  XSP_TRY(const KnownValues shapes, infer_shapes(graph, {{"batch", 1}}));
  Converter converter(graph, shapes);
  XSP_CHECK_OK(converter.convert());
  return CaffeModel{prototxt_of(graph, converter.layers()),
                    caffemodel_of(graph, converter.layers())};
}

Status write_caffe(const Graph& graph, const WeightSource& weights, const std::string& path,
                   const WriteOptions& options) {
  XSP_TRY(const CaffeModel model, to_caffe(graph));
  const auto file = [&](const char* ending) {
    return std::filesystem::path(path).replace_extension(ending).string();
  };
  // The small file comes first. It alone is no model.
  WriteOptions quiet = options;
  quiet.progress = nullptr;
  XSP_CHECK_OK(write_pieces({{model.prototxt, -1, 0}}, weights, file(".prototxt"), quiet));
  Status status = write_pieces(model.caffemodel, weights, file(".caffemodel"), options);
  std::error_code error;
  if (!status.ok()) std::filesystem::remove(file(".prototxt"), error);
  return status;
}

}  // namespace xsp::formats
