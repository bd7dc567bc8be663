// The numbers of the fields of ONNX's messages that xsp reads or writes.
#ifndef XSP_FORMATS_ONNX_FIELDS_H_
#define XSP_FORMATS_ONNX_FIELDS_H_

#include <cstdint>

namespace xsp::formats::fields {

namespace model {
enum : uint32_t {
  kIrVersion = 1,
  kProducerName = 2,
  kProducerVersion = 3,
  kGraph = 7,
  kOpsetImport = 8,
  kMetadata = 14,
  kFunctions = 25,
};
}  // namespace model

namespace opset {
enum : uint32_t { kDomain = 1, kVersion = 2 };
}  // namespace opset

namespace entry {
enum : uint32_t { kKey = 1, kValue = 2 };
}  // namespace entry

namespace graph {
enum : uint32_t {
  kNode = 1,
  kName = 2,
  kInitializer = 5,
  kInput = 11,
  kOutput = 12,
  kValueInfo = 13,
};
}  // namespace graph

namespace node {
enum : uint32_t { kInput = 1, kOutput = 2, kName = 3, kOpType = 4, kAttribute = 5, kDomain = 7 };
}  // namespace node

namespace attribute {
enum : uint32_t {
  kName = 1,
  kFloat = 2,
  kInt = 3,
  kString = 4,
  kTensor = 5,
  kGraph = 6,
  kFloats = 7,
  kInts = 8,
  kStrings = 9,
  kType = 20,
};
}  // namespace attribute

namespace tensor {
enum : uint32_t {
  kDims = 1,
  kDataType = 2,
  kFloatData = 4,
  kInt32Data = 5,
  kInt64Data = 7,
  kName = 8,
  kRawData = 9,
  kDoubleData = 10,
  kUint64Data = 11,
  kExternalData = 13,
  kDataLocation = 14,
};
}  // namespace tensor

namespace value_info {
enum : uint32_t { kName = 1, kType = 2 };
}  // namespace value_info

namespace type {
enum : uint32_t { kTensor = 1 };
}  // namespace type

namespace tensor_type {
enum : uint32_t { kElemType = 1, kShape = 2 };
}  // namespace tensor_type

namespace shape {
enum : uint32_t { kDim = 1 };
}  // namespace shape

namespace dimension {
enum : uint32_t { kValue = 1, kParam = 2 };
}  // namespace dimension

}  // namespace xsp::formats::fields

#endif  // XSP_FORMATS_ONNX_FIELDS_H_
