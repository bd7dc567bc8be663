// Converts a graph of ONNX's operators to a program of StableHLO: values with their types, and a
// rule for each operator. See writer.h.
#ifndef XSP_FORMATS_STABLEHLO_CONVERTER_H_
#define XSP_FORMATS_STABLEHLO_CONVERTER_H_

#include <string>
#include <unordered_map>
#include <vector>

#include "formats/file_output.h"
#include "formats/onnx/graph.h"
#include "formats/onnx/shapes.h"
#include "shared/base/result.h"

namespace xsp::formats::stablehlo {

// Represents a value of the program: "%12", with its type.
struct Operand {
  std::string name;
  int32_t dtype = kFloat32;
  Shape shape;

  std::string type() const;  // "tensor<1x3x224x224xf32>"
};

// Returns "[1, 2]".
std::string list(const std::vector<int64_t>& values);

class Converter {
 public:
  Converter(const Graph& graph, const KnownValues& values);

  Status convert();
  // Returns the program; weights have the index of the graph's initializer, and their text is
  // hexadecimal.
  std::vector<Piece> take() { return std::move(pieces_); }

 private:
  using Rule = Status (Converter::*)(const Node&);
  static const std::unordered_map<std::string, Rule>& rules();

  // ---- Building blocks of the rules
  Error refuse(const Node& node, const std::string& why) const;
  // Returns the value of that name in the ONNX graph. Weights and constants are written at their
  // first use.
  Operand value(const std::string& name);
  Shape shape(const std::string& name) const { return values_.at(name).shape; }
  std::string text(const std::string& line);  // a line of the program
  // Writes "%N = OPERATION : TYPES loc(...)", and returns %N, with that type.
  Operand emit(const Node& node, const std::string& operation, const std::string& types,
               int32_t dtype, const Shape& shape);
  Operand splat(const Node& node, const std::string& number, const Shape& shape);
  Operand integers(const std::vector<int64_t>& values, const Shape& shape);
  Operand unary(const Node& node, const std::string& operation, const Operand& x);
  Operand binary(const Node& node, const std::string& operation, const Operand& a,
                 const Operand& b);
  // Repeats x along axes; `axes` are those of x in the result.
  Operand broadcast(const Node& node, const Operand& x, const Shape& to,
                    const std::vector<int64_t>& axes);
  // Broadcasts like numpy: aligned at the last axis.
  Operand stretch(const Node& node, const Operand& x, const Shape& to);
  Operand reshape_to(const Node& node, const Operand& x, const Shape& to);
  // Returns the part of x that begins there and has that shape.
  Operand part(const Node& node, const Operand& x, const Shape& begins, const Shape& to);
  Operand reduce(const Node& node, const Operand& x, const std::string& operation,
                 const std::string& start, const std::vector<int64_t>& axes);
  // Returns the mean over the last axis, which is kept with size 1 and repeated.
  Operand mean_of_last(const Node& node, const Operand& x);
  void made(const Node& node, const Operand& result) { made_[node.outputs[0]] = result; }

  // ---- The rules: for images in convert_images.cc, for sequences in convert_sequences.cc
  Status skip(const Node&) { return Ok{}; }
  Status conv(const Node& node);
  Status batch_normalization(const Node& node);
  Status pool(const Node& node);
  Status global_average_pool(const Node& node);
  Status clip(const Node& node);
  Status concat(const Node& node);
  Status relu(const Node& node);
  Status elementwise(const Node& node);
  Status function(const Node& node);
  Status reshape(const Node& node);
  Status gemm(const Node& node);
  Status matmul(const Node& node);
  Status permute(const Node& node);
  Status gather(const Node& node);
  Status slice(const Node& node);
  Status split(const Node& node);
  Status cast(const Node& node);
  Status softmax(const Node& node);
  Status layer_normalization(const Node& node);

  const Graph& graph_;
  const KnownValues& values_;
  std::unordered_map<std::string, size_t> weights_;
  std::unordered_map<std::string, const Node*> constants_;
  std::unordered_map<std::string, Operand> made_;
  std::vector<Piece> pieces_ = {{}};
  size_t count_ = 0;
};

}  // namespace xsp::formats::stablehlo

#endif  // XSP_FORMATS_STABLEHLO_CONVERTER_H_
