// bare_torch: a program that only calls torch; xsp's model latency is compared with its latency.
//
//   bare_torch MODEL.pt cpu|cuda SHAPE[:DTYPE]...        bare_torch resnet50.pt cuda 1,3,224,224
//
// Opens the model as any C++ program would, with an input for each shape. For each line of standard
// input, a number N, it runs N inferences, each to its end, and prints their durations in
// nanoseconds on one line, so that its blocks can be interleaved with those of xsp-worker. Built
// with the adapter's flags; on CUDA, LD_PRELOAD libtorch_cuda.so unless it is linked.
#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace {

at::Tensor make_input(const std::string& text, c10::Device device) {
  const size_t colon = text.find(':');
  const std::string dtype = colon == std::string::npos ? "float32" : text.substr(colon + 1);
  std::istringstream sizes(text.substr(0, colon));
  std::vector<int64_t> shape;
  for (std::string size; std::getline(sizes, size, ',');) shape.push_back(std::atoll(size.c_str()));
  if (dtype == "int64") {
    return at::randint(1, 100, shape, at::TensorOptions().dtype(at::kLong)).to(device);
  }
  const at::ScalarType type = dtype == "float16"    ? at::kHalf
                              : dtype == "bfloat16" ? at::kBFloat16
                                                    : at::kFloat;
  return at::rand(shape).to(type).to(device);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: bare_torch MODEL.pt cpu|cuda SHAPE[:DTYPE]...\n");
    return 2;
  }
  const c10::InferenceMode inference;
  const c10::Device device(argv[2]);
  torch::jit::Module module = torch::jit::load(argv[1], device);
  module.eval();
  std::vector<c10::IValue> inputs;
  for (int i = 3; i < argc; ++i) inputs.emplace_back(make_input(argv[i], device));
  for (size_t count = 0; std::scanf("%zu", &count) == 1;) {
    std::vector<long long> durations;
    c10::IValue result;
    for (size_t i = 0; i < count; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      result = {};
      result = module.forward(inputs);
      if (device.is_cuda()) {
        const c10::impl::VirtualGuardImpl guard(device.type());
        guard.synchronizeStream(guard.getStream(device));
      }
      durations.push_back((std::chrono::steady_clock::now() - begin).count());
    }
    for (size_t i = 0; i < count; ++i) std::printf("%s%lld", i == 0 ? "" : " ", durations[i]);
    std::printf("\n");
    std::fflush(stdout);
  }
  return 0;
}
