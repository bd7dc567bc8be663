#include "adapters/torch/facts.h"

#include <torch/csrc/jit/runtime/interpreter.h>

#include <functional>

#include "xsp/plugin.hpp"

namespace xsp::torch_adapter {
namespace {

// Calls `take` with every tensor among the values, including those in lists.
void for_each_tensor(c10::ArrayRef<const c10::IValue> values,
                     const std::function<void(const at::Tensor&)>& take) {
  for (const c10::IValue& value : values) {
    if (value.isTensor()) {
      if (value.toTensor().defined()) take(value.toTensor());
    } else if (value.isList()) {
      for (const c10::IValue& element : value.toListRef()) {
        if (element.isTensor() && element.toTensor().defined()) take(element.toTensor());
      }
    }
  }
}

// Adds an item to a JSON list; an empty text is an empty list.
void append(std::string* list, const std::string& item) {
  if (list->empty()) {
    *list = "[" + item + "]";
  } else {
    list->back() = ',';
    *list += item + "]";
  }
}

std::string shape_of(const at::Tensor& tensor) {
  std::string text = "[";
  for (const int64_t size : tensor.sizes()) {
    text += (text.size() > 1 ? "," : "") + std::to_string(size);
  }
  return text + "]";
}

std::string type_of(const at::Tensor& tensor) {
  const uint32_t dtype = dtype_of(tensor.scalar_type());
  return std::string("\"") +
         (dtype == 0 ? c10::toString(tensor.scalar_type()) : dtype_name(dtype)) + "\"";
}

double bytes_of(const at::Tensor& tensor) {
  return static_cast<double>(tensor.numel()) * static_cast<double>(tensor.element_size());
}

}  // namespace

uint32_t dtype_of(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Byte:
      return XSP_UINT8;
    case c10::ScalarType::Char:
      return XSP_INT8;
    case c10::ScalarType::Short:
      return XSP_INT16;
    case c10::ScalarType::Int:
      return XSP_INT32;
    case c10::ScalarType::Long:
      return XSP_INT64;
    case c10::ScalarType::Half:
      return XSP_FLOAT16;
    case c10::ScalarType::Float:
      return XSP_FLOAT32;
    case c10::ScalarType::Double:
      return XSP_FLOAT64;
    case c10::ScalarType::Bool:
      return XSP_BOOL;
    case c10::ScalarType::BFloat16:
      return XSP_BFLOAT16;
    default:
      return 0;
  }
}

const void* memory_of(const at::Tensor& tensor) {
  return tensor.has_storage() ? tensor.storage().unsafeGetStorageImpl() : nullptr;
}

bool Facts::has_same_shapes(const Facts& other) const {
  return input_shapes == other.input_shapes && output_shapes == other.output_shapes &&
         input_dtypes == other.input_dtypes && output_dtypes == other.output_dtypes;
}

void take_inputs(c10::ArrayRef<const c10::IValue> values, const Activations& activations,
                 std::set<const void*>* weights, Facts* facts) {
  for_each_tensor(values, [&](const at::Tensor& tensor) {
    append(&facts->input_shapes, shape_of(tensor));
    append(&facts->input_dtypes, type_of(tensor));
    // A number that the interpreter turned into a tensor is no weight, and is not counted.
    const bool is_number = tensor.dim() == 0;
    const bool is_weight = !is_number && activations.count(memory_of(tensor)) == 0;
    if (is_weight) weights->insert(memory_of(tensor));
    (is_weight ? facts->parameter_bytes : facts->activation_bytes) += bytes_of(tensor);
  });
  if (facts->input_shapes.empty()) facts->input_shapes = facts->input_dtypes = "[]";
}

void take_outputs(c10::ArrayRef<const c10::IValue> values, const std::set<const void*>& weights,
                  Activations* activations, Facts* facts) {
  for_each_tensor(values, [&](const at::Tensor& tensor) {
    append(&facts->output_shapes, shape_of(tensor));
    append(&facts->output_dtypes, type_of(tensor));
    facts->output_bytes += bytes_of(tensor);
    const void* memory = memory_of(tensor);
    if (weights.count(memory) == 0) activations->insert(memory);
  });
  if (facts->output_shapes.empty()) facts->output_shapes = facts->output_dtypes = "[]";
}

void Facts::describe(uint32_t site) const {
  xsp_site_attribute(site, "input_shapes", input_shapes.c_str());
  xsp_site_attribute(site, "output_shapes", output_shapes.c_str());
  xsp_site_attribute(site, "input_dtypes", input_dtypes.c_str());
  xsp_site_attribute(site, "output_dtypes", output_dtypes.c_str());
  xsp_site_counter(site, "output_bytes", output_bytes);
  xsp_site_counter(site, "activation_bytes", activation_bytes);
  xsp_site_counter(site, "parameter_bytes", parameter_bytes);
  xsp_site_counter(site, "allocated_bytes", allocated_bytes);
}

std::vector<std::string> called_modules() {
  // Entries look like "layer1(Sequential)::forward"; the first is the whole model. "SELF" is a
  // module that calls a function of its own, as Conv2d does in scripted models.
  const std::vector<std::string> modules = torch::jit::currentModuleHierarchy();
  std::vector<std::string> names;
  for (size_t i = 1; i < modules.size(); ++i) {
    std::string name = modules[i].substr(0, modules[i].find_first_of("(:"));
    if (!name.empty() && name != "SELF") names.push_back(std::move(name));
  }
  return names;
}

bool is_interpreting() { return !torch::jit::currentCallstack().empty(); }

}  // namespace xsp::torch_adapter
