// planted: rule=synchronisation, culprit=cudaDeviceSynchronize|cudaStreamSynchronize, device=gpu
// cause: the device is waited for after each small kernel, so that it is idle while the next is launched.
// bound: the time in which the device is idle after a synchronisation, about six tenths of a step.
// Diffuses heat on a grid, in many small steps of time.
#include <cuda_runtime.h>

#include <utility>

#include "common.h"
#include "device.h"

namespace {

constexpr int kSize = 1024;
constexpr int kIterations = 200;

__global__ void diffuse(const float* from, float* to) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x == 0 || y == 0 || x >= kSize - 1 || y >= kSize - 1) return;
  const float* here = from + y * kSize + x;
  to[y * kSize + x] = here[0] + 0.2f * (here[-1] + here[1] + here[-kSize] + here[kSize] - 4 * here[0]);
}

}  // namespace

int main(int argc, char** argv) {
  const planted::Options options(argc, argv);
  if (!planted::has_device()) return planted::kSkipped;
  float* heat[2];
  for (float*& one : heat) {
    planted::check(cudaMalloc(&one, sizeof(float) * kSize * kSize));
    planted::check(cudaMemset(one, 0, sizeof(float) * kSize * kSize));
  }
  const dim3 block(32, 8), grid(kSize / 32, kSize / 8);
  const auto step = [&] {
    for (int i = 0; i < kIterations; ++i) {
      diffuse<<<grid, block>>>(heat[0], heat[1]);
      std::swap(heat[0], heat[1]);
      if (!options.is_mended) planted::check(cudaDeviceSynchronize());
    }
    planted::check(cudaDeviceSynchronize());
  };
  planted::repeat(options, step, [] { planted::check(cudaDeviceSynchronize()); });
}
