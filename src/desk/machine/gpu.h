// Gpu: finds a GPU of this machine that can be profiled. Libraries are loaded at run time, if they
// are installed.
#ifndef XSP_DESK_MACHINE_GPU_H_
#define XSP_DESK_MACHINE_GPU_H_

#include <string>
#include <vector>

namespace xsp::machine {

struct Gpu {
  int count = 0;       // 0: the driver knows no GPU
  std::string driver;  // version of the CUDA driver interface, "13.0"; empty: no driver
  std::string reason;  // why count is 0, for the user: "no GPU: libcuda.so.1 is not installed"
};
// Loads the driver's library and queries it.
Gpu find_gpu();

struct Library {
  std::string path;    // empty: no library was found
  std::string reason;  // why no library was found
};
// Returns the first of these libraries that the dynamic loader can load. Names with * are matched
// against the file system; of the matches, the last in alphabetical order (the newest version) is
// tried first.
Library find_library(const std::vector<std::string>& names);
Library find_cupti();
Library find_nvml();

}  // namespace xsp::machine

#endif  // XSP_DESK_MACHINE_GPU_H_
