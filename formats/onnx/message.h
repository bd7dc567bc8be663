// Shared by the readers of ONNX's messages: primitive fields, limits, and the first problem.
#ifndef XSP_FORMATS_ONNX_MESSAGE_H_
#define XSP_FORMATS_ONNX_MESSAGE_H_

#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "formats/onnx/graph.h"
#include "formats/wire/wire.h"

namespace xsp::formats {

// Reads fields of one file. After the first problem it returns nothing more: texts are empty, loops
// end.
class Message {
 public:
  explicit Message(wire::Source* source) : source_(source) {}

  const std::string& problem() const { return problem_; }
  bool ok() const { return problem_.empty(); }
  void fail(const std::string& text) {
    if (problem_.empty()) problem_ = text;
  }
  // Counts bytes that are kept in memory.
  void charge(uint64_t bytes);

  wire::Cursor all() { return {source_, &problem_, 0, source_->size()}; }
  wire::Cursor body(const wire::Field& field) {
    return {source_, &problem_, field.begin, field.end};
  }
  bool is_message(const wire::Field& field);
  int64_t integer(const wire::Field& field);
  float number(const wire::Field& field);
  std::string text(const wire::Field& field);
  // Returns a text, or an empty one if it is longer than any name.
  std::string text_if_short(const wire::Field& field);
  int32_t dtype(const wire::Field& field);
  // Returns a pair of texts; a value that is too long for a name is left out.
  std::pair<std::string, std::string> entry(const wire::Field& field);
  // Returns the body's bytes, at most wire::kWindowBytes, valid until the next read.
  const uint8_t* bytes(const wire::Field& field);

  template <typename T>
  T& grow(std::vector<T>* list) {
    charge(sizeof(T));
    return list->emplace_back();
  }

  // Reads repeated numbers, which are packed into one field, or have a field each; take(value) gets
  // each.
  template <typename Take>
  void integers(const wire::Field& field, Take take) {
    if (field.type != 2) return take(integer(field));
    wire::Cursor cursor = body(field);
    uint64_t value = 0;
    while (ok() && !cursor.at_end() && cursor.varint(&value)) take(static_cast<int64_t>(value));
  }
  template <typename Take>
  void floats(const wire::Field& field, Take take) {
    if (field.type != 2) return take(number(field));
    wire::Cursor cursor = body(field);
    uint32_t value = 0;
    while (ok() && !cursor.at_end() && cursor.fixed32(&value)) take(std::bit_cast<float>(value));
  }
  template <typename Take>
  void doubles(const wire::Field& field, Take take) {
    if (field.type == 1) return take(std::bit_cast<double>(field.value));
    if (!is_message(field)) return;
    wire::Cursor cursor = body(field);
    uint64_t value = 0;
    while (ok() && !cursor.at_end() && cursor.fixed64(&value)) take(std::bit_cast<double>(value));
  }

 private:
  wire::Source* source_;
  std::string problem_;
  uint64_t kept_bytes_ = 0;
};

// Reads a TensorProto; its values are kept only if they are few.
void read_tensor(Message& message, const wire::Field& field, Tensor* tensor);

}  // namespace xsp::formats

#endif  // XSP_FORMATS_ONNX_MESSAGE_H_
