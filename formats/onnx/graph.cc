#include "formats/onnx/graph.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace xsp::formats {
namespace {

struct DtypeInfo {
  const char* name;
  uint32_t bits;
};

// The index is ONNX's TensorProto.DataType.
constexpr DtypeInfo kDtypes[] = {
    {"undefined", 0},      {"float32", 32},     {"uint8", 8},          {"int8", 8},
    {"uint16", 16},        {"int16", 16},       {"int32", 32},         {"int64", 64},
    {"string", 0},         {"bool", 8},         {"float16", 16},       {"float64", 64},
    {"uint32", 32},        {"uint64", 64},      {"complex64", 64},     {"complex128", 128},
    {"bfloat16", 16},      {"float8e4m3fn", 8}, {"float8e4m3fnuz", 8}, {"float8e5m2", 8},
    {"float8e5m2fnuz", 8}, {"uint4", 4},        {"int4", 4},           {"float4e2m1", 4},
};

const DtypeInfo* dtype_info(int32_t dtype) {
  if (dtype < 0 || dtype >= static_cast<int32_t>(std::size(kDtypes))) return nullptr;
  return &kDtypes[dtype];
}

}  // namespace

std::string dtype_name(int32_t dtype) {
  const DtypeInfo* info = dtype_info(dtype);
  return info != nullptr ? info->name : "type " + std::to_string(dtype);
}

uint32_t dtype_bits(int32_t dtype) {
  const DtypeInfo* info = dtype_info(dtype);
  return info != nullptr ? info->bits : 0;
}

const Attribute* Node::attribute(const std::string& attribute_name) const {
  for (const Attribute& attribute : attributes) {
    if (attribute.name == attribute_name) return &attribute;
  }
  return nullptr;
}

int64_t Node::integer(const std::string& attribute_name, int64_t otherwise) const {
  const Attribute* found = attribute(attribute_name);
  return found != nullptr && found->kind == AttributeKind::kInt ? found->i : otherwise;
}

std::vector<int64_t> Node::integers(const std::string& attribute_name) const {
  const Attribute* found = attribute(attribute_name);
  return found != nullptr ? found->ints : std::vector<int64_t>();
}

const Tensor* Graph::initializer(const std::string& tensor_name) const {
  for (const Tensor& tensor : initializers) {
    if (tensor.name == tensor_name) return &tensor;
  }
  return nullptr;
}

std::vector<ValueInfo> Graph::required_inputs() const {
  std::set<std::string> weights;
  for (const Tensor& tensor : initializers) weights.insert(tensor.name);
  std::vector<ValueInfo> required;
  std::copy_if(inputs.begin(), inputs.end(), std::back_inserter(required),
               [&](const ValueInfo& input) { return weights.count(input.name) == 0; });
  return required;
}

std::string node_label(const Graph& graph, size_t index) {
  const Node& node = graph.nodes[index];
  return node.name.empty() ? node.op_type + "_" + std::to_string(index) : node.name;
}

}  // namespace xsp::formats
