#include "adapters/torch/settings.h"

#include <ATen/Context.h>
#include <torch/csrc/jit/passes/tensorexpr_fuser.h>
#include <torch/version.h>

#include <exception>

#include "xsp/plugin.hpp"

namespace xsp::torch_adapter {
namespace {

#if TORCH_VERSION_MAJOR >= 2
// Releases that have newer settings beside these warn if the old ones are read.
class Silent : public c10::WarningHandler {
 public:
  void process(const c10::Warning& /*warning*/) override {}
};
#endif

template <typename Read>
void describe(uint32_t site, const char* key, Read&& read) {
  try {
    xsp_site_attribute(site, key, read());
  } catch (const std::exception&) {
    // A newer setting may have a value that the older one cannot express.
  }
}

const char* name_of(at::Float32MatmulPrecision precision) {
  switch (precision) {
    case at::Float32MatmulPrecision::HIGHEST:
      return "highest";
    case at::Float32MatmulPrecision::HIGH:
      return "high";
    case at::Float32MatmulPrecision::MEDIUM:
      return "medium";
  }
  return "unknown";
}

}  // namespace

void describe_settings(uint32_t model_site, bool is_package) {
  if (is_package) {
    xsp_site_attribute(model_site, "setting.compiler", "aotinductor");
  } else {
    xsp_site_attribute(model_site, "setting.torchscript_fuser",
                       torch::jit::tensorExprFuserEnabled() ? "true" : "false");
  }
#if TORCH_VERSION_MAJOR >= 2
  Silent silent;
  const c10::WarningUtils::WarningHandlerGuard guard(&silent);
#endif
  const at::Context& context = at::globalContext();
  describe(model_site, "setting.cudnn_tf32",
           [&] { return context.allowTF32CuDNN() ? "true" : "false"; });
  describe(model_site, "setting.matmul_tf32",
           [&] { return context.allowTF32CuBLAS() ? "true" : "false"; });
  describe(model_site, "setting.float32_matmul_precision",
           [&] { return name_of(context.float32MatmulPrecision()); });
}

}  // namespace xsp::torch_adapter
