// Shared by the planted programs in CUDA: an error of the runtime ends them.
#ifndef XSP_TESTS_PLANTED_DEVICE_H_
#define XSP_TESTS_PLANTED_DEVICE_H_

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

namespace planted {

inline void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "error: %s\n", cudaGetErrorString(error));
  std::exit(1);
}

inline bool has_device() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0) return true;
  std::printf("skipped: no GPU\n");
  return false;
}

}  // namespace planted

#endif  // XSP_TESTS_PLANTED_DEVICE_H_
