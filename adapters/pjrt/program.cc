#include "adapters/pjrt/program.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "formats/wire/wire_fields.h"
#include "xsp/plugin.hpp"

namespace xsp::pjrt {
namespace {

using Message = formats::wire::Fields;

constexpr std::pair<int, uint32_t> kTypes[] = {
    {1, XSP_BOOL},     {2, XSP_INT8},     {3, XSP_INT16},    {4, XSP_INT32},  {5, XSP_INT64},
    {6, XSP_UINT8},    {7, XSP_UINT16},   {8, XSP_UINT32},   {9, XSP_UINT64}, {10, XSP_FLOAT16},
    {11, XSP_FLOAT32}, {12, XSP_FLOAT64}, {16, XSP_BFLOAT16}};

// Reads a ShapeProto; a tuple gives its parts.
void read_shape(Bytes shape, std::vector<Value>* values) {
  Value value;
  bool is_tuple = false;
  for (Message message(shape); message.next();) {
    if (message.is(2)) value.type = static_cast<int>(message.integer());
    if (message.is(3)) message.integers([&](int64_t size) { value.dimensions.push_back(size); });
    if (message.is(4)) {
      is_tuple = true;
      read_shape(message.body(), values);
    }
  }
  if (!is_tuple) values->push_back(std::move(value));
}

// Represents an instruction in the wire format.
struct Raw {
  Instruction instruction;
  int64_t id = 0;
  int64_t parameter = -1;
  std::vector<int64_t> called;  // ids of computations
  bool asks_for_precision = false;
};

// Returns the source from a location "jit(f)/layer1/conv", as JAX writes it, or "layer1/conv".
std::string source_of(Bytes metadata) {
  std::string name;
  for (Message message(metadata); message.next();) {
    if (message.is(2)) name = valid_utf8(message.text());
  }
  return name;
}

// Returns whether a PrecisionConfig has another precision of an operand than the default, 0.
bool has_precision(Bytes config) {
  bool found = false;
  for (Message message(config); message.next();) {
    if (message.is(1))
      message.integers([&](int64_t precision) { found = found || precision != 0; });
  }
  return found;
}

bool is_library_call(const Instruction& one) {
  return one.opcode.rfind("__cudnn$", 0) == 0 || one.opcode.rfind("__cublas$", 0) == 0;
}

// A call of cuDNN or cuBLAS gives its result and, last, the memory in which it worked. Nothing
// reads that memory afterwards, so it is no output of the layer.
void remove_workspace(Instruction* call) {
  if (!is_library_call(*call) || call->outputs.size() < 2) return;
  const Value& last = call->outputs.back();
  if (dtype_bytes(dtype_of(last.type)) == 1 && last.dimensions.size() == 1) {
    call->outputs.pop_back();
  }
}

Raw read_instruction(Bytes proto) {
  Raw raw;
  std::string target;
  for (Message message(proto); message.next();) {
    switch (message.number()) {
      case 1:
        raw.instruction.name = valid_utf8(message.text());
        break;
      case 2:
        raw.instruction.opcode = message.text();
        break;
      case 3:
        read_shape(message.body(), &raw.instruction.outputs);
        break;
      case 7: {
        std::string source = source_of(message.body());
        if (!source.empty()) raw.instruction.sources = {std::move(source)};
        break;
      }
      case 9:
        raw.parameter = message.integer();
        break;
      case 28:
        target = message.text();
        break;
      case 35:
        raw.id = message.integer();
        break;
      case 36:
        message.integers([&](int64_t id) { raw.instruction.operands.push_back(id); });
        break;
      case 38:
        message.integers([&](int64_t id) { raw.called.push_back(id); });
        break;
      case 43:  // of a call of cuBLAS, in JSON: "operand_precision":["HIGHEST","HIGHEST"]
        raw.asks_for_precision |= message.text().find("\"HIGH") != std::string::npos;
        break;
      case 51:
        raw.asks_for_precision |= has_precision(message.body());
        break;
      default:
        break;
    }
  }
  raw.instruction.is_constant = raw.instruction.opcode == "constant";
  if (raw.instruction.opcode == "parameter" && raw.parameter < 0) raw.parameter = 0;
  if (raw.instruction.opcode == "custom-call" && !target.empty()) {
    raw.instruction.opcode = target;
    remove_workspace(&raw.instruction);
  }
  return raw;
}

struct Computation {
  int64_t id = 0;
  std::vector<Raw> raw;
};

Computation read_computation(Bytes proto) {
  Computation computation;
  for (Message message(proto); message.next();) {
    if (message.is(2)) computation.raw.push_back(read_instruction(message.body()));
    if (message.is(5)) computation.id = message.integer();
  }
  return computation;
}

using Computations = std::unordered_map<int64_t, const Computation*>;

constexpr size_t kCalledMax = 1000;  // computations of one instruction that are visited

// Adds the sources of everything in a computation, except those that were `seen`.
void add_sources(const Computations& all, int64_t id, std::unordered_set<int64_t>* seen,
                 std::vector<std::string>* names) {
  const auto found = all.find(id);
  if (found == all.end() || seen->size() >= kCalledMax || !seen->insert(id).second) return;
  for (const Raw& raw : found->second->raw) {
    if (raw.instruction.opcode == "parameter") continue;
    for (const std::string& source : raw.instruction.sources) {
      if (std::find(names->begin(), names->end(), source) == names->end()) {
        names->push_back(source);
      }
    }
    for (const int64_t called : raw.called) add_sources(all, called, seen, names);
  }
}

// Returns whether an instruction reads constants alone, all of which the program has already.
bool is_made_of_constants(const Program& program, const Instruction& instruction) {
  return !instruction.operands.empty() &&
         std::all_of(instruction.operands.begin(), instruction.operands.end(), [&](int64_t id) {
           const auto operand = program.instructions.find(id);
           return operand != program.instructions.end() && operand->second.is_constant;
         });
}

// Returns whether an instruction is a product without a source, or a fusion that contains one.
bool is_unnamed_product(const Raw& raw, const Computations& all) {
  const Instruction& one = raw.instruction;
  if (one.opcode == "dot" || one.opcode == "convolution" || is_library_call(one)) {
    return one.sources.empty();
  }
  return std::any_of(raw.called.begin(), raw.called.end(), [&all](int64_t id) {
    const auto found = all.find(id);
    return found != all.end() &&
           std::any_of(found->second->raw.begin(), found->second->raw.end(), [](const Raw& part) {
             const std::string& opcode = part.instruction.opcode;
             return (opcode == "dot" || opcode == "convolution") &&
                    part.instruction.sources.empty();
           });
  });
}

// Returns whether an instruction without a source hands on what it reads.
bool is_view(const Instruction& one) {
  return one.sources.empty() && (one.opcode == "bitcast" || one.opcode == "get-tuple-element");
}

// Where XLA divides a product into several, whose results it adds afterwards, it forgets the source
// of the product. Then the product has the first source of what reads its result, if that is one.
void name_products(const Computation& entry, const Computations& all, Program* program) {
  std::unordered_map<int64_t, std::vector<int64_t>> readers;
  for (const Raw& raw : entry.raw) {
    for (const int64_t operand : raw.instruction.operands) readers[operand].push_back(raw.id);
  }
  // Readers come behind what they read.
  for (auto raw = entry.raw.rbegin(); raw != entry.raw.rend(); ++raw) {
    Instruction& instruction = program->instructions[raw->id];
    const auto found = readers.find(raw->id);
    if (found == readers.end() || found->second.size() != 1 || instruction.is_constant) continue;
    if (!is_view(instruction) && !is_unnamed_product(*raw, all)) continue;
    const Instruction& reader = program->instructions[found->second[0]];
    if (reader.sources.empty()) continue;
    const std::string name = reader.sources[0];
    auto& sources = instruction.sources;
    sources.erase(std::remove(sources.begin(), sources.end(), name), sources.end());
    sources.insert(sources.begin(), name);
  }
}

void read_parameters(Bytes program_shape, Program* program) {
  for (Message message(program_shape); message.next();) {
    if (message.is(1)) read_shape(message.body(), &program->parameters);
  }
}

}  // namespace

uint32_t dtype_of(int type) {
  for (const auto& [theirs, ours] : kTypes) {
    if (theirs == type) return ours;
  }
  return 0;
}

int type_of(uint32_t dtype) {
  for (const auto& [theirs, ours] : kTypes) {
    if (ours == dtype) return theirs;
  }
  return 0;
}

int64_t Value::bytes() const {
  int64_t bytes = static_cast<int64_t>(dtype_bytes(dtype_of(type)));
  if (bytes == 0) return -1;
  for (const int64_t size : dimensions) {
    if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes)) return -1;
  }
  return bytes;
}

Program read_program(Bytes hlo_module) {
  Program program;
  std::vector<Computation> computations;
  int64_t entry = 0;
  for (Message message(hlo_module); message.next();) {
    if (message.is(1)) program.name = valid_utf8(message.text());
    if (message.is(3)) computations.push_back(read_computation(message.body()));
    if (message.is(4)) read_parameters(message.body(), &program);
    if (message.is(6)) entry = message.integer();
  }
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    program.parameter_names.push_back("arg" + std::to_string(i));
  }
  Computations by_id;
  for (const Computation& one : computations) by_id.emplace(one.id, &one);
  for (const Computation& one : computations) {
    for (const Raw& raw : one.raw) {
      program.asks_for_precision |= raw.asks_for_precision;
      Instruction instruction = raw.instruction;
      const auto parameter = static_cast<size_t>(raw.parameter);
      if (instruction.opcode == "parameter" && one.id == entry &&
          parameter < program.parameter_names.size() && !instruction.sources.empty()) {
        program.parameter_names[parameter] = instruction.sources[0];
      }
      if (!raw.called.empty()) {
        std::vector<std::string> sources;
        std::unordered_set<int64_t> seen;
        for (const int64_t called : raw.called) add_sources(by_id, called, &seen, &sources);
        if (!sources.empty()) instruction.sources = std::move(sources);
      }
      // A view, or another layout, of weights. Operands come before what reads them.
      instruction.is_constant =
          instruction.is_constant || is_made_of_constants(program, instruction);
      program.by_name.emplace(instruction.name, raw.id);
      program.instructions.emplace(raw.id, std::move(instruction));
    }
  }
  if (const auto found = by_id.find(entry); found != by_id.end()) {
    name_products(*found->second, by_id, &program);
  }
  return program;
}

}  // namespace xsp::pjrt
