// The part of an ONNX file that xsp keeps: its graph and its header, without the weights.
#ifndef XSP_FORMATS_ONNX_GRAPH_H_
#define XSP_FORMATS_ONNX_GRAPH_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace xsp::formats {

// Lists element types, numbered as in ONNX's TensorProto.DataType; a file may hold others.
enum Dtype : int32_t {
  kFloat32 = 1,
  kUint8 = 2,
  kInt8 = 3,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kFloat64 = 11,
};

// Returns "float32", "int64", ...; "type 42" for a number that ONNX does not define.
std::string dtype_name(int32_t dtype);
// Returns the size of an element in bits; 0 if it has no fixed size (strings, unknown types).
uint32_t dtype_bits(int32_t dtype);

// Represents a dimension: a number, or -1 if it is unknown until run time; it may then have a name.
struct Dimension {
  int64_t value = -1;
  std::string symbol;
};

// Describes an input, an output, or an inner value whose type the file states.
struct ValueInfo {
  std::string name;
  int32_t dtype = 0;
  bool is_tensor =
      false;  // otherwise a sequence, map, optional or sparse tensor: no dtype, no shape
  bool has_shape = false;  // false: not even the rank is known
  std::vector<Dimension> dimensions;
};

// Describes a tensor in the file. The values themselves are kept only if there are few of them.
struct Tensor {
  std::string name;
  int32_t dtype = 0;
  std::vector<int64_t> dimensions;
  uint64_t elements = 0;
  uint64_t bytes = 0;             // size of the values; 0 for strings
  std::vector<int64_t> integers;  // the values, if of an integer type and at most kMaxKeptValues
  std::vector<float> floats;      // the values, if float32 or float64 and at most kMaxKeptValues
  // Location of the values if they are not in this file: a path relative to the model's folder.
  std::string external_location;
  uint64_t external_offset = 0;
};

struct Graph;

enum class AttributeKind : int32_t {
  kUnknown = 0,
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
};

struct Attribute {
  std::string name;
  AttributeKind kind = AttributeKind::kUnknown;  // other kinds (lists of tensors, types) are not
  float f = 0;                                   // kept
  int64_t i = 0;
  std::string s;  // empty if longer than kMaxTextBytes
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string> strings;
  std::vector<Tensor> tensor;  // one, for kTensor
  std::vector<Graph> graph;    // one, for kGraph: the body of an If, Loop or Scan
};

struct Node {
  std::string name;  // may be empty: see node_label()
  std::string op_type;
  std::string domain;                // "" is ONNX's own
  std::vector<std::string> inputs;   // an empty name: the optional input is absent
  std::vector<std::string> outputs;  // likewise
  std::vector<Attribute> attributes;

  const Attribute* attribute(const std::string& attribute_name) const;
  int64_t integer(const std::string& attribute_name, int64_t otherwise) const;
  std::vector<int64_t> integers(const std::string& attribute_name) const;
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<Tensor> initializers;
  std::vector<ValueInfo> inputs;  // may include initializers, as old exporters write them
  std::vector<ValueInfo> outputs;
  std::vector<ValueInfo> values;

  // The model's header; empty in the body of an If, Loop or Scan.
  int64_t ir_version = 0;
  std::map<std::string, int64_t> opsets;  // domain -> version
  std::string producer_name;
  std::string producer_version;
  std::map<std::string, std::string> metadata;
  uint64_t functions = 0;  // functions that the file defines itself
  uint64_t file_bytes = 0;

  const Tensor* initializer(const std::string& tensor_name) const;  // linear search
  // Returns the inputs that a caller must supply: those that are not initializers.
  std::vector<ValueInfo> required_inputs() const;
};

// Returns a node's name; for a node without one, its operator and its index: "Conv_12".
std::string node_label(const Graph& graph, size_t index);

}  // namespace xsp::formats

#endif  // XSP_FORMATS_ONNX_GRAPH_H_
