#include "adapters/tensorrt/inspection.h"

#include <simdjson.h>

#include <algorithm>

namespace xsp::tensorrt {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

std::string text_of(const object& from, const char* key) {
  std::string_view text;
  return from[key].get_string().get(text) == simdjson::SUCCESS ? std::string(text) : "";
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// The factors of a product (alpha * a * b + beta * c) are inputs of TensorRT's own.
bool is_factor(std::string_view name) {
  return name.rfind("__mye", 0) == 0 && (ends_with(name, "_alpha") || ends_with(name, "_beta"));
}

std::vector<Tensor> tensors_of(const object& layer, const char* key) {
  std::vector<Tensor> tensors;
  simdjson::dom::array list;
  if (layer[key].get_array().get(list) != simdjson::SUCCESS) return tensors;
  for (const element one : list) {
    object given;
    if (one.get_object().get(given) != simdjson::SUCCESS) continue;
    Tensor tensor{text_of(given, "Name"), "", text_of(given, "Format/Datatype"), {}, false};
    if (is_factor(tensor.name)) continue;
    // Constants have no mark but their name: "__mye519_dconst", "fc/bias _ ..._constantFloat".
    tensor.is_constant = ends_with(tensor.name, "dconst") ||
                         tensor.name.find("_constant") != std::string::npos ||
                         tensor.name.find("_const-lit") != std::string::npos;
    if (tensor.format.empty()) tensor.format = text_of(given, "Format");
    tensor.dtype = dtype_of_format(tensor.format);
    simdjson::dom::array dimensions;
    if (given["Dimensions"].get_array().get(dimensions) == simdjson::SUCCESS) {
      for (const element size : dimensions) {
        int64_t number = 0;
        if (size.get_int64().get(number) == simdjson::SUCCESS) tensor.dimensions.push_back(number);
      }
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

// Returns the bytes of {"Type": "Half", "Count": 9408}; 0 if there are none, or if no memory could
// hold them.
int64_t bytes_of(const object& layer, const char* key) {
  constexpr int64_t kCountMax = int64_t{1} << 48;
  object weights;
  if (layer[key].get_object().get(weights) != simdjson::SUCCESS) return 0;
  int64_t count = 0;
  if (weights["Count"].get_int64().get(count) != simdjson::SUCCESS) return 0;
  if (count < 0 || count > kCountMax) return 0;
  const std::string type = text_of(weights, "Type");
  const bool is_half = type == "Half" || type == "BFloat16";
  const bool is_byte = type == "Int8" || type == "FP8" || type == "UInt8" || type == "Bool";
  return count * (is_byte ? 1 : is_half ? 2 : type == "Int64" ? 8 : 4);
}

Layer layer_of(const object& given) {
  Layer layer;
  layer.name = text_of(given, "Name");
  layer.type = text_of(given, "LayerType");
  layer.operation = text_of(given, "ParameterType");
  layer.tactic = text_of(given, "TacticName");
  layer.inputs = tensors_of(given, "Inputs");
  layer.outputs = tensors_of(given, "Outputs");
  layer.weight_bytes = bytes_of(given, "Weights") + bytes_of(given, "Bias");
  std::string_view metadata;
  if (given["Metadata"].get_string().get(metadata) == simdjson::SUCCESS) {
    layer.sources = sources_of(metadata);
  }
  return layer;
}

}  // namespace

std::vector<Layer> read_inspection(std::string_view json) {
  simdjson::dom::parser parser;
  object engine;
  simdjson::dom::array list;
  std::vector<Layer> layers;
  const simdjson::padded_string text(json);
  if (parser.parse(text).get_object().get(engine) != simdjson::SUCCESS) return {};
  if (engine["Layers"].get_array().get(list) != simdjson::SUCCESS) return {};
  for (const element one : list) {
    object given;
    std::string_view name;
    if (one.get_object().get(given) == simdjson::SUCCESS) {
      layers.push_back(layer_of(given));
    } else if (one.get_string().get(name) == simdjson::SUCCESS) {
      layers.push_back({});
      layers.back().name = name;
    }
  }
  return layers;
}

std::string_view range_of(std::string_view layer) {
  static constexpr std::string_view kMark = "_myl";
  const auto digits = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  const size_t mark = layer.rfind(kMark);
  if (mark == std::string_view::npos || mark == 0) return layer;
  const std::string_view number = layer.substr(mark + kMark.size());
  const size_t middle = number.find('_');
  const bool is_numbered = middle != std::string_view::npos && digits(number.substr(0, middle)) &&
                           digits(number.substr(middle + 1));
  return is_numbered ? layer.substr(0, mark) : layer;
}

std::string dtype_of_format(std::string_view format) {
  static constexpr std::pair<std::string_view, const char*> kNames[] = {
      {"BF16", "bfloat16"}, {"BFloat16", "bfloat16"}, {"FP16", "float16"}, {"Half", "float16"},
      {"FP32", "float32"},  {"Float", "float32"},     {"UInt8", "uint8"},  {"Int8", "int8"},
      {"Int32", "int32"},   {"Int64", "int64"},       {"Bool", "bool"},    {"FP8", "float8"},
  };
  // "Channel major FP16 format where channel % 8 == 0": the type may stand in the middle.
  for (const auto& [name, dtype] : kNames) {
    if (format.find(name) != std::string_view::npos) return dtype;
  }
  return "";
}

std::vector<std::string> sources_of(std::string_view metadata) {
  static constexpr std::string_view kBegin = "[ONNX Layer: ";
  std::vector<std::string> sources;
  for (size_t at = 0; (at = metadata.find(kBegin, at)) != std::string_view::npos;) {
    at += kBegin.size();
    // A node's name may have brackets itself: the end is one before another part, or the last.
    size_t end = std::min(metadata.find("]\x1e", at), metadata.find("]\x1f", at));
    if (end == std::string_view::npos) end = metadata.rfind(']');
    if (end == std::string_view::npos || end < at) break;
    const std::string name(metadata.substr(at, end - at));
    if (std::find(sources.begin(), sources.end(), name) == sources.end()) sources.push_back(name);
    at = end;
  }
  return sources;
}

}  // namespace xsp::tensorrt
