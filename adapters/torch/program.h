// An open model file: TorchScript, or an AOTInductor package. This header includes torch, so few
// files should include it.
//
// The exporter compiles AOTInductor's hooks into a package (enable_kernel_profile), because its
// kernels cannot be told apart otherwise: without them one layer, `package`, stands for all, except
// for PyTorch's own operators within it (convolutions). The blocks of torch 2.11 that give source
// lines beside the hooks are left out: they are slow, and break variable batch sizes. The hooks
// pass the arguments of generated kernels and none of library calls, so the exporter adds the
// tensors that a call reads. Refused: a table of shapes beside the package, because the adapter
// would have to evaluate its symbols for variable sizes.
#ifndef XSP_ADAPTERS_TORCH_PROGRAM_H_
#define XSP_ADAPTERS_TORCH_PROGRAM_H_

#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "adapters/torch/modules.h"
#include "adapters/torch/options.h"
#include "adapters/torch/signature.h"

namespace xsp::torch_adapter {

// Results of one inference, in the model's order.
using Results = std::vector<std::pair<std::string, at::Tensor>>;

// Functions throw torch's exceptions.
class Program {
 public:
  virtual ~Program() = default;
  // The file's own signature, before any option; empty if it has none.
  const std::string& signature_text() const { return signature_text_; }
  // Returns names of the inputs if the file names them without a signature.
  virtual std::vector<std::string> input_names() const { return {}; }
  // Runs one inference; its results are kept until the next one.
  virtual void run(const std::vector<at::Tensor>& inputs) = 0;
  virtual Results results() const = 0;
  virtual void release_results() = 0;
  virtual bool is_package() const { return false; }
  const Modules& modules() const { return modules_; }

 protected:
  std::string signature_text_;
  Modules modules_;
};

struct Opened {
  std::unique_ptr<Program> program;
  std::string why;  // the error and its remedy if it could not be opened; then program is null
  xsp_status status = XSP_OK;
};

// Opens the file for the device.
Opened open_program(const std::string& path, c10::Device device, const Options& options);

// Returns one line of an exception of torch: the cause, without the trace.
// Returns the kind of a file that cannot be opened, by the error, and the remedy; empty: not known.
std::string foreign_archive(const std::string& what);
std::string one_line(const std::string& what);
// Returns "torchvision::nms" if torch's error is that it knows no operator of that name; else
// empty.
std::string missing_operator(const std::string& what);

}  // namespace xsp::torch_adapter

#endif  // XSP_ADAPTERS_TORCH_PROGRAM_H_
