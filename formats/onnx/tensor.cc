// Reads TensorProto: its type, dimensions and size, and a few values, but never a weight.
#include <cstdlib>
#include <cstring>

#include "formats/onnx/fields.h"
#include "formats/onnx/message.h"
#include "formats/onnx/reader.h"

namespace xsp::formats {
namespace {

using wire::Cursor;
using wire::Field;

// Appends to the kept values, and drops them all once there are too many.
template <typename T>
void keep(std::vector<T>* values, T value) {
  if (values->size() <= kMaxKeptValues) values->push_back(value);
}

void external(Message& message, const Field& field, Tensor* tensor) {
  const auto [key, value] = message.entry(field);
  if (key == "location") tensor->external_location = value;
  if (key == "offset") tensor->external_offset = std::strtoull(value.c_str(), nullptr, 10);
}

void tensor_field(Message& message, const Field& part, Tensor* tensor, Field* raw) {
  const auto keep_integer = [&](int64_t value) { keep(&tensor->integers, value); };
  const auto keep_double = [&](double value) { keep(&tensor->floats, static_cast<float>(value)); };
  switch (part.number) {
    case fields::tensor::kDims:
      message.integers(part, [&](int64_t value) { message.grow(&tensor->dimensions) = value; });
      break;
    case fields::tensor::kDataType:
      tensor->dtype = message.dtype(part);
      break;
    case fields::tensor::kFloatData:
      message.floats(part, keep_double);
      break;
    case fields::tensor::kInt32Data:
    case fields::tensor::kInt64Data:
    case fields::tensor::kUint64Data:
      message.integers(part, keep_integer);
      break;
    case fields::tensor::kDoubleData:
      message.doubles(part, keep_double);
      break;
    case fields::tensor::kName:
      tensor->name = message.text(part);
      break;
    case fields::tensor::kRawData:
      if (message.is_message(part)) *raw = part;
      break;
    case fields::tensor::kExternalData:
      external(message, part, tensor);
      break;
    default:
      break;
  }
}

template <typename T, typename Kept>
void decode(const uint8_t* bytes, uint64_t elements, std::vector<Kept>* values) {
  values->resize(static_cast<size_t>(elements));
  for (size_t i = 0; i < values->size(); ++i) {
    T value;
    std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
    (*values)[i] = static_cast<Kept>(value);
  }
}

void raw_values(Message& message, const Field& raw, Tensor* tensor) {
  if (!message.ok() || tensor->elements == 0) return;
  const uint8_t* bytes = message.bytes(raw);
  if (bytes == nullptr) return;
  switch (tensor->dtype) {
    case kFloat32:
      return decode<float>(bytes, tensor->elements, &tensor->floats);
    case kFloat64:
      return decode<double>(bytes, tensor->elements, &tensor->floats);
    case kInt64:
      return decode<int64_t>(bytes, tensor->elements, &tensor->integers);
    case kInt32:
      return decode<int32_t>(bytes, tensor->elements, &tensor->integers);
    case kInt8:
      return decode<int8_t>(bytes, tensor->elements, &tensor->integers);
    case kUint8:
    case kBool:
      return decode<uint8_t>(bytes, tensor->elements, &tensor->integers);
    default:
      return;
  }
}

void finish_tensor(Message& message, const Field& raw, bool is_external, Tensor* tensor) {
  const std::string what = "tensor '" + tensor->name + "'";
  if (tensor->dimensions.size() > kMaxRank) message.fail(what + " has too many dimensions");
  // 2^50 elements: beyond any memory, and far from overflowing the size in bits.
  constexpr uint64_t kMaxElements = uint64_t{1} << 50;
  uint64_t elements = 1;
  bool is_empty = false;
  for (const int64_t dimension : tensor->dimensions) {
    if (dimension < 0) message.fail(what + " has a negative dimension");
    if (dimension == 0) is_empty = true;
    if (dimension <= 0) continue;
    if (static_cast<uint64_t>(dimension) > kMaxElements / elements) {
      message.fail(what + " has impossibly many elements");
      return;
    }
    elements *= static_cast<uint64_t>(dimension);
  }
  tensor->elements = is_empty ? 0 : elements;
  const uint32_t bits = dtype_bits(tensor->dtype);
  tensor->bytes = (tensor->elements * bits + 7) / 8;
  if (!is_external) tensor->external_location.clear();
  if (raw.number != 0 && !is_external) {
    if (bits != 0 && raw.size() != tensor->bytes) {
      message.fail(what + " holds " + std::to_string(raw.size()) +
                   " bytes where its type and dimensions take " + std::to_string(tensor->bytes));
    }
    if (bits != 0 && tensor->elements <= kMaxKeptValues) raw_values(message, raw, tensor);
  }
  if (tensor->integers.size() != tensor->elements) tensor->integers.clear();
  if (tensor->floats.size() != tensor->elements) tensor->floats.clear();
  message.charge(tensor->integers.size() * sizeof(int64_t) + tensor->floats.size() * sizeof(float));
}

}  // namespace

void read_tensor(Message& message, const Field& field, Tensor* tensor) {
  if (!message.is_message(field)) return;
  Cursor body = message.body(field);
  Field part;
  Field raw;
  bool is_external = false;
  while (body.next(&part)) {
    if (part.number == fields::tensor::kDataLocation) {
      is_external = message.integer(part) == 1;
    } else {
      tensor_field(message, part, tensor, &raw);
    }
  }
  if (message.ok()) finish_tensor(message, raw, is_external, tensor);
}

}  // namespace xsp::formats
