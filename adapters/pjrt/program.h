// The program into which XLA compiled a model: its inputs and outputs, and the instructions that it
// executes, from its HloModuleProto.
//
// Field numbers are those of xla/service/hlo.proto and xla/xla_data.proto.
#ifndef XSP_ADAPTERS_PJRT_PROGRAM_H_
#define XSP_ADAPTERS_PJRT_PROGRAM_H_

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace xsp::pjrt {

using Bytes = std::span<const uint8_t>;

// Describes an array's type and shape.
struct Value {
  int type = 0;  // PrimitiveType, whose numbers PJRT_Buffer_Type shares
  std::vector<int64_t> dimensions;

  int64_t bytes() const;  // -1: not known
};

// Describes an instruction of HLO.
struct Instruction {
  std::string name;               // "fusion.3"
  std::string opcode;             // "fusion"; for a library call its target, "__cublas$gemm"
  std::vector<Value> outputs;     // those of a tuple one by one
  std::vector<int64_t> operands;  // ids
  bool is_constant = false;       // a weight of the model, or a value computed from weights
  // The model's own layers, by the locations in its text. An instruction made of several has all of
  // them.
  std::vector<std::string> sources;
};

struct Program {
  std::string name;
  std::vector<Value> parameters;
  std::vector<std::string> parameter_names;  // by their locations in the text; or "argN"
  std::unordered_map<int64_t, Instruction> instructions;  // by id
  std::unordered_map<std::string, int64_t> by_name;
  // A product or convolution is to be more precise than XLA makes it by default.
  bool asks_for_precision = false;
};
Program read_program(Bytes hlo_module);

// Converts a type to an xsp_dtype, and back; 0 if there is none.
uint32_t dtype_of(int type);
int type_of(uint32_t dtype);

}  // namespace xsp::pjrt

#endif  // XSP_ADAPTERS_PJRT_PROGRAM_H_
