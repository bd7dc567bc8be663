// An operator whose kernel never ends if a batch has more than one input. run.sh uses it to test a
// profile whose GPU hangs. For the adapter torch's option `library`.
#include <cuda.h>
#include <torch/library.h>

namespace {

constexpr const char* kKernel = R"(
.version 7.0
.target sm_50
.address_size 64
.visible .entry spin()
{
again:
  bra again;
}
)";

void check(CUresult result, const char* what) {
  TORCH_CHECK(result == CUDA_SUCCESS, what, " failed with ", static_cast<int>(result));
}

at::Tensor endless(const at::Tensor& input) {
  if (input.size(0) < 2) return input;
  CUmodule module = nullptr;
  CUfunction spin = nullptr;
  check(cuModuleLoadData(&module, kKernel), "cuModuleLoadData");
  check(cuModuleGetFunction(&spin, module, "spin"), "cuModuleGetFunction");
  check(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), "cuLaunchKernel");
  return input;
}

}  // namespace

TORCH_LIBRARY(xsp_test, library) { library.def("endless(Tensor input) -> Tensor", endless); }
