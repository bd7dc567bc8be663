#include "formats/tensorflow/nodes.h"

#include <cstring>
#include <utility>

#include "formats/wire/wire.h"

namespace xsp::formats::tf {
namespace {

using wire::put_bytes;
using wire::put_float;
using wire::put_header;
using wire::put_integer;

constexpr int64_t kProducer = 1882;  // versions of the graph's format; any one since 2022 works
constexpr int64_t kOldestConsumer = 12;

std::string shape_text(const std::vector<int64_t>& dimensions) {
  std::string shape;
  for (const int64_t size : dimensions) {
    std::string dimension;
    put_integer(&dimension, 1, size);
    put_bytes(&shape, 2, dimension);
  }
  return shape;
}

// Returns the header of field `number` of `size` bytes.
std::string header(uint32_t number, uint64_t size) {
  std::string text;
  put_header(&text, number, size);
  return text;
}

template <typename Value>
std::string bytes_of(const std::vector<Value>& values) {
  std::string bytes(values.size() * sizeof(Value), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

}  // namespace

NodeText::NodeText(std::string_view name, std::string_view op,
                   const std::vector<std::string>& inputs) {
  put_bytes(&text_, 1, name);
  put_bytes(&text_, 2, op);
  for (const std::string& input : inputs) put_bytes(&text_, 3, input);
}

NodeText& NodeText::attribute(std::string_view key, const std::string& value) {
  std::string entry;
  put_bytes(&entry, 1, key);
  put_bytes(&entry, 2, value);
  put_bytes(&text_, 5, entry);
  return *this;
}

NodeText& NodeText::type(std::string_view key, Type value) {
  std::string text;
  put_integer(&text, 6, value);
  return attribute(key, text);
}

NodeText& NodeText::integer(std::string_view key, int64_t value) {
  std::string text;
  put_integer(&text, 3, value);
  return attribute(key, text);
}

NodeText& NodeText::number(std::string_view key, float value) {
  std::string text;
  put_float(&text, 4, value);
  return attribute(key, text);
}

NodeText& NodeText::flag(std::string_view key, bool value) {
  std::string text;
  put_integer(&text, 5, value ? 1 : 0);
  return attribute(key, text);
}

NodeText& NodeText::text(std::string_view key, std::string_view value) {
  std::string text;
  put_bytes(&text, 2, value);
  return attribute(key, text);
}

NodeText& NodeText::integers(std::string_view key, const std::vector<int64_t>& values) {
  std::string list, text;
  for (const int64_t value : values) put_integer(&list, 3, value);
  put_bytes(&text, 1, list);
  return attribute(key, text);
}

NodeText& NodeText::shape(std::string_view key, const std::vector<int64_t>& dimensions) {
  std::string text;
  put_bytes(&text, 7, shape_text(dimensions));
  return attribute(key, text);
}

NodeText& NodeText::tensor(std::string_view key, Type type, const std::vector<int64_t>& dimensions,
                           uint64_t bytes) {
  // The tensor is a TensorProto in an AttrValue in an entry of NodeDef.attr, with the values last:
  // each header's length includes them.
  std::string tensor;
  put_integer(&tensor, 1, type);
  put_bytes(&tensor, 2, shape_text(dimensions));
  tensor += header(4, bytes);
  std::string entry;
  put_bytes(&entry, 1, key);
  const std::string value = header(8, tensor.size() + bytes);
  entry += header(2, value.size() + tensor.size() + bytes) + value + tensor;
  text_ += header(5, entry.size() + bytes) + entry;
  bytes_behind_ = bytes;
  return *this;
}

void GraphText::add(const NodeText& node) {
  std::string& text = pieces_.back().text;
  put_header(&text, 1, node.text_.size() + node.bytes_behind_);
  text += node.text_;
}

void GraphText::constant(const std::string& name, const std::vector<int64_t>& dimensions,
                         const std::vector<float>& values) {
  const std::string bytes = bytes_of(values);
  add(NodeText(name, "Const", {})
          .type("dtype", kFloat)
          .tensor("value", kFloat, dimensions, bytes.size()));
  pieces_.back().text += bytes;
}

void GraphText::constant(const std::string& name, Type type, const std::vector<int64_t>& dimensions,
                         const std::vector<int64_t>& values) {
  const std::string bytes = type == kInt64
                                ? bytes_of(values)
                                : bytes_of(std::vector<int32_t>(values.begin(), values.end()));
  add(NodeText(name, "Const", {})
          .type("dtype", type)
          .tensor("value", type, dimensions, bytes.size()));
  pieces_.back().text += bytes;
}

void GraphText::weight(const std::string& name, const std::vector<int64_t>& dimensions,
                       size_t index, uint64_t bytes) {
  add(NodeText(name, "Const", {}).type("dtype", kFloat).tensor("value", kFloat, dimensions, bytes));
  pieces_.back().weight = static_cast<int64_t>(index);
  pieces_.back().weight_bytes = bytes;
  pieces_.emplace_back();
}

std::vector<Piece> GraphText::finish() {
  std::string versions;
  put_integer(&versions, 1, kProducer);
  put_integer(&versions, 2, kOldestConsumer);
  put_bytes(&pieces_.back().text, 4, versions);
  return std::move(pieces_);
}

}  // namespace xsp::formats::tf
