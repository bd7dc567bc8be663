// Writes nodes of a GraphDef, one after the other: the text of each is complete when the next
// begins.
//
// Field numbers: tensorflow/core/framework/{graph,node_def,attr_value,tensor,tensor_shape,versions}
// .proto; types: types.proto.
#ifndef XSP_FORMATS_TENSORFLOW_NODES_H_
#define XSP_FORMATS_TENSORFLOW_NODES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/file_output.h"

namespace xsp::formats::tf {

enum Type : int { kFloat = 1, kInt32 = 3, kInt64 = 9 };

// Represents a NodeDef under construction.
class NodeText {
 public:
  NodeText(std::string_view name, std::string_view op, const std::vector<std::string>& inputs);

  NodeText& type(std::string_view key, Type value);
  NodeText& integer(std::string_view key, int64_t value);
  NodeText& number(std::string_view key, float value);
  NodeText& flag(std::string_view key, bool value);
  NodeText& text(std::string_view key, std::string_view value);
  NodeText& integers(std::string_view key, const std::vector<int64_t>& values);
  NodeText& shape(std::string_view key, const std::vector<int64_t>& dimensions);
  // Adds a tensor whose `bytes` of values are written behind this text: it must be the last call.
  NodeText& tensor(std::string_view key, Type type, const std::vector<int64_t>& dimensions,
                   uint64_t bytes);

 private:
  friend class GraphText;
  NodeText& attribute(std::string_view key, const std::string& value);

  std::string text_;
  uint64_t bytes_behind_ = 0;
};

class GraphText {
 public:
  void add(const NodeText& node);
  // Adds a small constant with its values.
  void constant(const std::string& name, const std::vector<int64_t>& dimensions,
                const std::vector<float>& values);
  void constant(const std::string& name, Type type, const std::vector<int64_t>& dimensions,
                const std::vector<int64_t>& values);
  // Adds float32 values that are generated while they are written.
  void weight(const std::string& name, const std::vector<int64_t>& dimensions, size_t index,
              uint64_t bytes);
  // Returns all pieces: it must be the last call.
  std::vector<Piece> finish();

 private:
  std::vector<Piece> pieces_ = {{}};
};

}  // namespace xsp::formats::tf

#endif  // XSP_FORMATS_TENSORFLOW_NODES_H_
