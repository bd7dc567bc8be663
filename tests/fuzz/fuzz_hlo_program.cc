// Reads arbitrary bytes as a program of XLA, an HloModuleProto.
#include <cstdint>

#include "adapters/pjrt/program.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const xsp::pjrt::Program program = xsp::pjrt::read_program({data, size});
  require(program.parameters.size() == program.parameter_names.size());
  for (const auto& [name, id] : program.by_name) {
    require(program.instructions.contains(id));
  }
  for (const auto& [id, instruction] : program.instructions) {
    for (const xsp::pjrt::Value& value : instruction.outputs) require(value.bytes() >= -1);
  }
  return 0;
}
