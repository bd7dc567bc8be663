// planted: rule=allocation, culprit=cudaMalloc|cudaFree, device=gpu
// cause: every step allocates and frees its buffers, for which the device is waited for.
// bound: the time in which the device is idle while memory is allocated and freed, about seven tenths of a step.
// Smooths a signal in several passes, each with a buffer of its own.
#include <cuda_runtime.h>

#include <array>

#include "common.h"
#include "device.h"

namespace {

constexpr int kCount = 1 << 24;
constexpr int kPasses = 8;

__global__ void smooth(const float* from, float* to) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < kCount - 1) to[i] = 0.25f * from[i - 1] + 0.5f * from[i] + 0.25f * from[i + 1];
}

}  // namespace

int main(int argc, char** argv) {
  const planted::Options options(argc, argv);
  if (!planted::has_device()) return planted::kSkipped;
  float* signal = nullptr;
  planted::check(cudaMalloc(&signal, sizeof(float) * kCount));
  planted::check(cudaMemset(signal, 0, sizeof(float) * kCount));
  std::array<float*, kPasses> buffers = {};
  const auto allocate = [&] {
    for (float*& one : buffers) planted::check(cudaMalloc(&one, sizeof(float) * kCount));
  };
  if (options.is_mended) allocate();
  const auto step = [&] {
    if (!options.is_mended) allocate();
    const float* from = signal;
    for (float* to : buffers) {
      smooth<<<kCount / 256, 256>>>(from, to);
      from = to;
    }
    if (!options.is_mended) {
      for (float* one : buffers) planted::check(cudaFree(one));
    }
    planted::check(cudaDeviceSynchronize());
  };
  planted::repeat(options, step, [] { planted::check(cudaDeviceSynchronize()); });
}
