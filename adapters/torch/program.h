// A model's file, opened: TorchScript, or an AOTInductor package. Includes torch: keep those who
// include this few.
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

// Functions throw what torch throws.
class Program {
 public:
  virtual ~Program() = default;
  // As the file has it, before any option; empty where it does not say.
  const std::string& signature_text() const { return signature_text_; }
  // Names of the inputs where the file names them without a signature.
  virtual std::vector<std::string> input_names() const { return {}; }
  // One inference; what it gave is kept until the next one.
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
  std::string why;  // it could not be opened: what is wrong and what to do; program is null
  xsp_status status = XSP_OK;
};

// Opens the file for the device.
Opened open_program(const std::string& path, c10::Device device, const Options& options);

// One line of what torch threw: the cause, without the trace of where.
std::string one_line(const std::string& what);
// "torchvision::nms" if that is what torch threw: it knows no operator of that name. Else empty.
std::string missing_operator(const std::string& what);

}  // namespace xsp::torch_adapter

#endif  // XSP_ADAPTERS_TORCH_PROGRAM_H_
