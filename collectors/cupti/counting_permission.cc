#include "collectors/cupti/counting_permission.h"

#include <fstream>
#include <sstream>

namespace xsp::cupti {
namespace {

constexpr const char* kNotPermitted =
    "hardware counters: not permitted: the driver reserves them to administrators: have it loaded "
    "with NVreg_RestrictProfilingToAdminUsers=0, or run as root";

}  // namespace

std::string read_driver_parameters() {
  std::ifstream file("/proc/driver/nvidia/params");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string forbidden(const std::string& driver_parameters, bool is_administrator) {
  const bool is_reserved =
      driver_parameters.find("RmProfilingAdminOnly: 1") != driver_parameters.npos;
  return is_reserved && !is_administrator ? kNotPermitted : "";
}

std::string unsupported(const CUpti_Profiler_DeviceSupported_Params& answer) {
  const auto is_fine = [](CUpti_Profiler_Support_Level level) {
    return level == CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
  };
  const std::string what = "hardware counters: ";
  if (is_fine(answer.isSupported)) return "";
  if (!is_fine(answer.architecture)) {
    return what + "the GPU is older than compute capability 7.0: use a newer one";
  }
  if (answer.vGpu == CUPTI_PROFILER_CONFIGURATION_DISABLED) {
    return what + "the GPU is virtual and its profiling is off: have the host enable it";
  }
  if (!is_fine(answer.vGpu)) {
    return what + "the GPU is virtual, of a kind that has none: use a whole GPU";
  }
  if (!is_fine(answer.confidentialCompute)) {
    return what + "the GPU is in confidential computing mode: turn it off";
  }
  if (!is_fine(answer.wsl)) {
    return what + "not under this version of WSL: use a newer one, or Linux itself";
  }
  if (!is_fine(answer.sli)) return what + "the GPUs are joined by SLI: turn it off";
  return what + "this GPU does not offer them: use another";
}

std::string refusal(const CountingApi& api, CUptiResult result) {
  const std::string what = "hardware counters: ";
  switch (result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
      return kNotPermitted;
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
      return what +
             "not permitted: the GPU is virtual and its profiling is off: have the host enable "
             "vGPU profiling";
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return what +
             "not permitted: the GPU is virtual and others use it: have the host enable vGPU "
             "profiling for this machine alone";
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
      return what + "not possible: the GPU is in confidential computing mode: turn it off";
    case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_NOT_SUPPORTED:
    case CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED:
      return what + "this GPU or its mode does not offer them (" + api.error_text(result) +
             "): use another GPU";
    case CUPTI_ERROR_HARDWARE_BUSY:
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return what + "another profiler holds the GPU (" + api.error_text(result) +
             "): end it (Nsight, DCGM: `dcgmi profile --pause`)";
    case CUPTI_ERROR_OUT_OF_MEMORY:
      return what + "out of memory: use a smaller batch or --replay application";
    default:
      return what + api.error_text(result) + ": see docs/counters.md";
  }
}

}  // namespace xsp::cupti
