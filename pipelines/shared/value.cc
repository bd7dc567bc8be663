#include "pipelines/shared/value.h"

namespace xsp::pipelines {
namespace {

template <typename T>
double read_as(const std::byte* data) {
  T element;
  std::memcpy(&element, data, sizeof element);
  return static_cast<double>(element);
}

float float_of_bits(uint32_t bits) {
  float number = 0;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}

// IEEE 754: 5 bits of exponent with a bias of 15, 10 bits of fraction.
double half(uint16_t bits) {
  const uint32_t sign = (bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 31u, fraction = bits & 1023u;
  if (exponent == 0) {
    const double tiny = fraction / 16777216.0;
    return sign != 0 ? -tiny : tiny;
  }
  const uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return float_of_bits(sign | (wide << 23) | (fraction << 13));
}

const char* kind_text(Kind kind) {
  switch (kind) {
    case Kind::kNothing:
      return "nothing";
    case Kind::kBytes:
      return "bytes";
    case Kind::kText:
      return "text";
    case Kind::kImage:
      return "an image of ";
    case Kind::kAudio:
      return "audio of ";
    case Kind::kTensor:
      return "";
    case Kind::kWindows:
      return "windows of ";
    case Kind::kRanking:
      return "a ranking";
    case Kind::kSequence:
      return "a sequence of classes";
    case Kind::kQuads:
      return "quadrangles";
  }
  return "";
}

}  // namespace

std::string dimensions_text(const std::vector<int64_t>& dimensions) {
  std::string text = "[";
  for (size_t i = 0; i < dimensions.size(); ++i) {
    text += i == 0 ? "" : ",";
    text += dimensions[i] < 0 ? "?" : std::to_string(dimensions[i]);
  }
  return text + "]";
}

std::string type_text(const Type& type) {
  std::string text = kind_text(type.kind);
  if (type.kind == Kind::kWindows) {
    return text + dtype_name(type.dtype) + dimensions_text(dimensions_of_window(type));
  }
  if (type.kind != Kind::kImage && type.kind != Kind::kTensor && type.kind != Kind::kAudio) {
    return text;
  }
  text += dtype_name(type.dtype) + dimensions_text(type.dimensions);
  if (type.rate > 0) text += ", " + std::to_string(type.rate) + " Hz";
  if (!type.colours.empty()) text += ", " + type.colours;
  return text;
}

std::vector<int64_t> dimensions_of_window(const Type& type) {
  std::vector<int64_t> dimensions = type.dimensions;
  if (type.kind == Kind::kWindows && !dimensions.empty()) dimensions.erase(dimensions.begin());
  return dimensions;
}

int64_t element_count(const std::vector<int64_t>& dimensions) {
  int64_t count = 1;
  for (const int64_t dimension : dimensions) {
    if (dimension < 0 || __builtin_mul_overflow(count, dimension, &count)) return -1;
    if (count > static_cast<int64_t>(kValueBytesMax)) return -1;
  }
  return count;
}

bool fits(const std::vector<int64_t>& one, const std::vector<int64_t>& other) {
  if (one.size() != other.size()) return false;
  for (size_t i = 0; i < one.size(); ++i) {
    if (one[i] >= 0 && other[i] >= 0 && one[i] != other[i]) return false;
  }
  return true;
}

double number_at(const Value& value, size_t index) {
  const std::byte* data = value.data.data() + index * dtype_bytes(value.type.dtype);
  switch (value.type.dtype) {
    case XSP_FLOAT32:
      return read_as<float>(data);
    case XSP_FLOAT64:
      return read_as<double>(data);
    case XSP_UINT8:
    case XSP_BOOL:
      return read_as<uint8_t>(data);
    case XSP_INT8:
      return read_as<int8_t>(data);
    case XSP_UINT16:
      return read_as<uint16_t>(data);
    case XSP_INT16:
      return read_as<int16_t>(data);
    case XSP_UINT32:
      return read_as<uint32_t>(data);
    case XSP_INT32:
      return read_as<int32_t>(data);
    case XSP_UINT64:
      return read_as<uint64_t>(data);
    case XSP_INT64:
      return read_as<int64_t>(data);
    case XSP_FLOAT16: {
      uint16_t bits = 0;
      std::memcpy(&bits, data, sizeof bits);
      return half(bits);
    }
    case XSP_BFLOAT16: {
      uint16_t bits = 0;
      std::memcpy(&bits, data, sizeof bits);
      return float_of_bits(uint32_t{bits} << 16);
    }
    default:
      return 0;
  }
}

Value zeros(Type type) {
  Value value;
  value.data.resize(static_cast<size_t>(element_count(type.dimensions)) * dtype_bytes(type.dtype));
  value.type = std::move(type);
  return value;
}

}  // namespace xsp::pipelines
