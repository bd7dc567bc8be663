// The files of a model's inputs and results: NumPy's .npy, one for each tensor.
#ifndef XSP_PROCESS_WORKER_TENSOR_FILES_H_
#define XSP_PROCESS_WORKER_TENSOR_FILES_H_

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "process/worker/inputs.h"
#include "shared/base/result.h"
#include "xsp/plugin.h"

namespace xsp::process {

// Writes each as FOLDER/NUMBER_NAME.npy, where NAME contains only characters that suit a file name.
// Returns the files' names, in order.
Result<std::vector<std::string>> write_tensors(const std::filesystem::path& folder,
                                               const xsp_tensor* tensors, size_t count);
// Reads inputs in the model's order. A file of another type is converted to the model's: a number
// that an integer cannot hold becomes the nearest one that it can, and fractions are cut off.
Result<std::vector<Tensor>> read_tensors(const std::vector<std::string>& files,
                                         const std::vector<TensorSpec>& specs);

}  // namespace xsp::process

#endif  // XSP_PROCESS_WORKER_TENSOR_FILES_H_
