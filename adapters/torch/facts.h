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

// Holds the facts of one execution.
struct Facts {
  std::string input_shapes, output_shapes, input_dtypes, output_dtypes;  // JSON
  double output_bytes = 0, activation_bytes = 0, parameter_bytes = 0, allocated_bytes = 0;
  // Returns whether both have the same shapes, and so the same site.
  bool has_same_shapes(const Facts& other) const;

  // Writes them to the trace, with the names in plugin.h.
  void describe(uint32_t site) const;
};

// Identities of the memory that holds the model's inputs, and values computed from them. All other
// memory that an operator reads belongs to the model itself.
using Activations = std::set<const void*>;

// Returns the memory of a tensor; NULL for a tensor without any.
const void* memory_of(const at::Tensor& tensor);
// Adds the memory that belongs to the model itself to `weights`.
void take_inputs(c10::ArrayRef<const c10::IValue> values, const Activations& activations,
                 std::set<const void*>* weights, Facts* facts);
// Adds the outputs' memory to the activations, unless the operator returned a view of its weights.
void take_outputs(c10::ArrayRef<const c10::IValue> values, const std::set<const void*>& weights,
                  Activations* activations, Facts* facts);

// Returns an xsp_dtype; 0 for a type that xsp does not have.
uint32_t dtype_of(c10::ScalarType type);

// Returns the names of the modules, each called by the one before, whose operator the interpreter
// is calling on this thread; none outside of it.
std::vector<std::string> called_modules();
// Returns whether the interpreter is running on this thread.
bool is_interpreting();

}  // namespace xsp::torch_adapter

#endif  // XSP_ADAPTERS_TORCH_FACTS_H_
