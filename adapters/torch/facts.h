// Facts of an operator's execution, from the values that torch shows to its observers.
#ifndef XSP_ADAPTERS_TORCH_FACTS_H_
#define XSP_ADAPTERS_TORCH_FACTS_H_

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "xsp/plugin.h"

namespace xsp::torch_adapter {

// What is known of one execution.
struct Facts {
  std::string input_shapes, output_shapes, input_dtypes, output_dtypes;  // JSON
  double output_bytes = 0, activation_bytes = 0, parameter_bytes = 0, allocated_bytes = 0;
  // Of another site than these?
  bool has_same_shapes(const Facts& other) const;

  // To the trace, as plugin.h names them.
  void describe(uint32_t site) const;
};

// Identities of the memory that holds what the model computed from its inputs, and of its inputs:
// what an operator reads besides is the model's own.
using Activations = std::set<const void*>;

// The memory that a tensor lies in; NULL for a tensor without any.
const void* memory_of(const at::Tensor& tensor);
// What is read of the model's own is added to `weights`.
void take_inputs(c10::ArrayRef<const c10::IValue> values, const Activations& activations,
                 std::set<const void*>* weights, Facts* facts);
// Their memory joins the activations, unless the operator gave a view of its weights.
void take_outputs(c10::ArrayRef<const c10::IValue> values, const std::set<const void*>& weights,
                  Activations* activations, Facts* facts);

// xsp_dtype; 0: a type that xsp has no name for.
uint32_t dtype_of(c10::ScalarType type);

// The names of the modules, each called by the one before, whose operator the interpreter is
// calling on this thread; none outside of it.
std::vector<std::string> called_modules();
// Is the interpreter running on this thread?
bool is_interpreting();

}  // namespace xsp::torch_adapter

#endif  // XSP_ADAPTERS_TORCH_FACTS_H_
