#include "formats/onnx/writer.h"

#include <cstring>
#include <vector>

#include "formats/onnx/fields.h"
#include "formats/wire/wire.h"

namespace xsp::formats {
namespace {

using wire::put_bytes;
using wire::put_float;
using wire::put_header;
using wire::put_integer;

void put_text(std::string* out, uint32_t number, const std::string& text) {
  if (!text.empty()) put_bytes(out, number, text);
}

// Returns a tensor without its values; `*raw_bytes` of them follow as the field raw_data.
std::string tensor_header(const Tensor& tensor, uint64_t* raw_bytes) {
  std::string out;
  for (const int64_t dimension : tensor.dimensions) {
    put_integer(&out, fields::tensor::kDims, dimension);
  }
  put_integer(&out, fields::tensor::kDataType, tensor.dtype);
  put_text(&out, fields::tensor::kName, tensor.name);
  put_header(&out, fields::tensor::kRawData, tensor.bytes);
  *raw_bytes = tensor.bytes;
  return out;
}

bool holds_values(const Tensor& tensor) {
  return !tensor.integers.empty() || !tensor.floats.empty() || tensor.bytes == 0;
}

// Returns the values of a tensor in the form of raw_data. The builder makes tensors of these types.
std::string raw_values(const Tensor& tensor) {
  std::string raw(static_cast<size_t>(tensor.bytes), '\0');
  if (tensor.dtype == kInt64 && !tensor.integers.empty()) {
    std::memcpy(raw.data(), tensor.integers.data(), raw.size());
  }
  if (tensor.dtype == kFloat32 && !tensor.floats.empty()) {
    std::memcpy(raw.data(), tensor.floats.data(), raw.size());
  }
  return raw;
}

std::string attribute_message(const Attribute& attribute) {
  std::string out;
  put_bytes(&out, fields::attribute::kName, attribute.name);
  switch (attribute.kind) {
    case AttributeKind::kFloat:
      put_float(&out, fields::attribute::kFloat, attribute.f);
      break;
    case AttributeKind::kInt:
      put_integer(&out, fields::attribute::kInt, attribute.i);
      break;
    case AttributeKind::kString:
      put_bytes(&out, fields::attribute::kString, attribute.s);
      break;
    case AttributeKind::kTensor: {
      uint64_t raw_bytes = 0;
      std::string tensor = tensor_header(attribute.tensor.at(0), &raw_bytes);
      tensor += raw_values(attribute.tensor.at(0));
      put_bytes(&out, fields::attribute::kTensor, tensor);
      break;
    }
    case AttributeKind::kFloats:
      for (const float value : attribute.floats) put_float(&out, fields::attribute::kFloats, value);
      break;
    case AttributeKind::kInts:
      for (const int64_t value : attribute.ints) put_integer(&out, fields::attribute::kInts, value);
      break;
    case AttributeKind::kStrings:
      for (const std::string& s : attribute.strings)
        put_bytes(&out, fields::attribute::kStrings, s);
      break;
    case AttributeKind::kGraph:
    case AttributeKind::kUnknown:
      break;
  }
  put_integer(&out, fields::attribute::kType, static_cast<int64_t>(attribute.kind));
  return out;
}

std::string node_message(const Node& node) {
  std::string out;
  for (const std::string& name : node.inputs) put_bytes(&out, fields::node::kInput, name);
  for (const std::string& name : node.outputs) put_bytes(&out, fields::node::kOutput, name);
  put_text(&out, fields::node::kName, node.name);
  put_bytes(&out, fields::node::kOpType, node.op_type);
  for (const Attribute& attribute : node.attributes) {
    put_bytes(&out, fields::node::kAttribute, attribute_message(attribute));
  }
  put_text(&out, fields::node::kDomain, node.domain);
  return out;
}

std::string value_message(const ValueInfo& info) {
  std::string shape;
  for (const Dimension& dimension : info.dimensions) {
    std::string message;
    if (dimension.value >= 0) {
      put_integer(&message, fields::dimension::kValue, dimension.value);
    } else {
      put_text(&message, fields::dimension::kParam, dimension.symbol);
    }
    put_bytes(&shape, fields::shape::kDim, message);
  }
  std::string tensor;
  put_integer(&tensor, fields::tensor_type::kElemType, info.dtype);
  if (info.has_shape) put_bytes(&tensor, fields::tensor_type::kShape, shape);
  std::string type;
  put_bytes(&type, fields::type::kTensor, tensor);
  std::string out;
  put_bytes(&out, fields::value_info::kName, info.name);
  put_bytes(&out, fields::value_info::kType, type);
  return out;
}

std::string model_header(const Graph& graph) {
  std::string out;
  put_integer(&out, fields::model::kIrVersion, graph.ir_version);
  put_text(&out, fields::model::kProducerName, graph.producer_name);
  put_text(&out, fields::model::kProducerVersion, graph.producer_version);
  for (const auto& [domain, version] : graph.opsets) {
    std::string opset;
    put_bytes(&opset, fields::opset::kDomain, domain);
    put_integer(&opset, fields::opset::kVersion, version);
    put_bytes(&out, fields::model::kOpsetImport, opset);
  }
  for (const auto& [key, value] : graph.metadata) {
    std::string entry;
    put_bytes(&entry, fields::entry::kKey, key);
    put_bytes(&entry, fields::entry::kValue, value);
    put_bytes(&out, fields::model::kMetadata, entry);
  }
  return out;
}

struct Plan {
  std::vector<Piece> pieces;
  uint64_t bytes = 0;
};

Plan plan_of(const Graph& graph) {
  std::string head;
  for (const Node& node : graph.nodes) put_bytes(&head, fields::graph::kNode, node_message(node));
  put_text(&head, fields::graph::kName, graph.name);
  Plan plan;
  uint64_t graph_bytes = 0;
  for (size_t i = 0; i < graph.initializers.size(); ++i) {
    const Tensor& tensor = graph.initializers[i];
    uint64_t raw_bytes = 0;
    const std::string header = tensor_header(tensor, &raw_bytes);
    put_header(&head, fields::graph::kInitializer, header.size() + raw_bytes);
    head += header;
    if (holds_values(tensor)) {
      head += raw_values(tensor);
      continue;
    }
    graph_bytes += head.size() + raw_bytes;
    plan.pieces.push_back({std::move(head), static_cast<int64_t>(i), raw_bytes});
    head.clear();
  }
  for (const ValueInfo& info : graph.inputs) {
    put_bytes(&head, fields::graph::kInput, value_message(info));
  }
  for (const ValueInfo& info : graph.outputs) {
    put_bytes(&head, fields::graph::kOutput, value_message(info));
  }
  for (const ValueInfo& info : graph.values) {
    put_bytes(&head, fields::graph::kValueInfo, value_message(info));
  }
  graph_bytes += head.size();
  plan.pieces.push_back({std::move(head), -1, 0});
  std::string start = model_header(graph);
  put_header(&start, fields::model::kGraph, graph_bytes);
  plan.bytes = start.size() + graph_bytes;
  plan.pieces.front().text.insert(0, start);
  return plan;
}

}  // namespace

uint64_t written_bytes(const Graph& graph) { return plan_of(graph).bytes; }

Status write_graph(const Graph& graph, const WeightSource& weights, const std::string& path,
                   const WriteOptions& options) {
  return write_pieces(plan_of(graph).pieces, weights, path, options);
}

}  // namespace xsp::formats
