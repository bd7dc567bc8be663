#include "process/worker/tensor_files.h"

#include <cctype>

#include "pipelines/shared/value.h"
#include "process/worker/npy.h"
#include "process/worker/values.h"

namespace xsp::process {
namespace {

constexpr size_t kNameMax = 100;

// Returns the array's values in the type of the model's input.
std::vector<std::byte> converted(NpyArray array, uint32_t dtype) {
  if (array.dtype == dtype) return std::move(array.data);
  const pipelines::Value value{
      pipelines::tensor_type(array.dtype, array.dimensions), std::move(array.data), {}};
  const auto count = static_cast<size_t>(pipelines::element_count(array.dimensions));
  std::vector<std::byte> data(count * dtype_bytes(dtype));
  for (size_t i = 0; i < count; ++i) {
    put_number(pipelines::number_at(value, i), dtype, data.data() + i * dtype_bytes(dtype));
  }
  return data;
}

}  // namespace

Result<std::vector<std::string>> write_tensors(const std::filesystem::path& folder,
                                               const xsp_tensor* tensors, size_t count) {
  std::vector<std::string> files;
  for (size_t i = 0; i < count; ++i) {
    const xsp_tensor* tensor = xsp_tensor_at(tensors, i);
    std::string file = std::to_string(i) + "_";
    for (const char* c = tensor->name; *c != '\0'; ++c) {
      const bool is_plain =
          std::isalnum(static_cast<unsigned char>(*c)) != 0 || *c == '-' || *c == '.';
      file += is_plain ? *c : '_';
    }
    file = file.substr(0, kNameMax) + ".npy";
    XSP_CHECK_OK(write_npy(folder / file, *tensor));
    files.push_back(file);
  }
  return files;
}

Result<std::vector<Tensor>> read_tensors(const std::vector<std::string>& files,
                                         const std::vector<TensorSpec>& specs) {
  if (files.size() != specs.size()) {
    return usage("the model has " + std::to_string(specs.size()) + " inputs, not " +
                 std::to_string(files.size()) + ": " + signature_text(specs));
  }
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < files.size(); ++i) {
    XSP_TRY(NpyArray array, read_npy(files[i]));
    Tensor tensor{specs[i].name, specs[i].dtype, array.dimensions, {}, files[i]};
    tensor.data = converted(std::move(array), specs[i].dtype);
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace xsp::process
