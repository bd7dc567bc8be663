// A library of operators that is no part of PyTorch: xsp_test::twice, which custom.pt calls.
#include <ATen/Functions.h>
#include <torch/library.h>

namespace {
at::Tensor twice(const at::Tensor& x) { return at::mul(x, 2); }
}  // namespace

TORCH_LIBRARY(xsp_test, library) {
  library.def("twice(Tensor x) -> Tensor");
  library.impl("twice", c10::DispatchKey::CompositeExplicitAutograd, TORCH_FN(twice));
}
