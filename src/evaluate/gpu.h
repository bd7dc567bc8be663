// Gpu: is there a GPU here that could be profiled? Libraries are loaded at run time, if they are
// there at all.
#ifndef XSP_EVALUATE_GPU_H_
#define XSP_EVALUATE_GPU_H_

#include <string>
#include <vector>

namespace xsp::evaluate {

struct Gpu {
  int count = 0;       // 0: none that the driver knows
  std::string driver;  // version of the CUDA driver interface, "13.0"; empty: no driver
  std::string reason;  // why count is 0, for people: "no GPU: libcuda.so.1 is not installed"
};
// Loads the driver's library and asks it.
Gpu find_gpu();

struct Library {
  std::string path;    // empty: none was found
  std::string reason;  // why not
};
// The first of these names that the dynamic loader can load; patterns with * are looked for in the
// file system, and the last in the order of names is tried first: the newest version.
Library find_library(const std::vector<std::string>& names);
Library find_cupti();
Library find_nvml();

}  // namespace xsp::evaluate

#endif  // XSP_EVALUATE_GPU_H_
