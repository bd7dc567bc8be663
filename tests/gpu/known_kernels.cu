// Known kernels: see known_kernels.h. nvcc builds a library or, with -DKNOWN_MAIN, a program that
// runs each case once, for other profilers:
//   nvcc -std=c++17 -arch=native -DKNOWN_MAIN known_kernels.cu -lcublas -lcublasLt
#include "known_kernels.h"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

namespace {

struct Case {
  known_case told{};
  std::function<bool()> launch;  // false if it failed, after an error was printed
};

std::vector<Case> all_cases;

constexpr int kAxpyElements = 1 << 26;
constexpr int kBlocks = 1024;
constexpr int kThreads = 256;
constexpr int kRounds = 1000;  // rounds of the loops; each is eight operations
constexpr int kChains = 8;     // independent chains, so that the pipe is full

__global__ void axpy(int n, float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

constexpr int kGraphElements = 1 << 20;
constexpr int kGraphKernels = 5;
float* graph_numbers = nullptr;

__global__ void increment(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] += 1; }

__device__ inline float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
__device__ inline double multiply_add(double a, double b, double c) { return fma(a, b, c); }
__device__ inline __half multiply_add(__half a, __half b, __half c) { return __hfma(a, b, c); }
__device__ inline __half2 multiply_add(__half2 a, __half2 b, __half2 c) { return __hfma2(a, b, c); }
__device__ inline __nv_bfloat162 multiply_add(__nv_bfloat162 a, __nv_bfloat162 b,
                                              __nv_bfloat162 c) {
  return __hfma2(a, b, c);
}

// Reads its operands and writes its result, so that the compiler keeps the loop.
template <typename T>
__global__ void multiply_add_loop(const T* in, T* out) {
  T chain[kChains];
  for (int i = 0; i < kChains; ++i) chain[i] = in[i];
  const T a = in[8], b = in[9];
  for (int round = 0; round < kRounds; ++round) {
#pragma unroll
    for (int i = 0; i < kChains; ++i) chain[i] = multiply_add(chain[i], a, b);
  }
#pragma unroll
  for (int i = 0; i < kChains; ++i) {
    out[(blockIdx.x * blockDim.x + threadIdx.x) * kChains + i] = chain[i];
  }
}

__global__ void add_loop(const float* in, float* out) {
  float chain[kChains];
  for (int i = 0; i < kChains; ++i) chain[i] = in[i];
  const float a = in[8];
  for (int round = 0; round < kRounds; ++round) {
#pragma unroll
    for (int i = 0; i < kChains; ++i) chain[i] = __fadd_rn(chain[i], a);
  }
#pragma unroll
  for (int i = 0; i < kChains; ++i) {
    out[(blockIdx.x * blockDim.x + threadIdx.x) * kChains + i] = chain[i];
  }
}

bool is_fine(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return true;
  std::fprintf(stderr, "known_kernels: %s: %s\n", what, cudaGetErrorString(status));
  return false;
}

bool is_fine(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return true;
  std::fprintf(stderr, "known_kernels: %s: %s\n", what, cublasGetStatusString(status));
  return false;
}

// Returns zeroed device memory, which is kept until the process ends.
void* room(size_t bytes) {
  void* pointer = nullptr;
  if (!is_fine(cudaMalloc(&pointer, bytes), "cudaMalloc")) return nullptr;
  is_fine(cudaMemset(pointer, 0, bytes), "cudaMemset");
  return pointer;
}

template <typename T>
Case loop_case(const char* name, const char* counter, double flops_per_operation) {
  T* in = static_cast<T*>(room(16 * sizeof(T)));
  T* out = static_cast<T*>(room(sizeof(T) * kBlocks * kThreads * kChains));
  Case result;
  result.told.name = name;
  result.told.counter = counter;
  result.told.work = flops_per_operation * kBlocks * kThreads * kRounds * kChains;
  result.launch = [in, out] {
    multiply_add_loop<T><<<kBlocks, kThreads>>>(in, out);
    return is_fine(cudaGetLastError(), "multiply_add_loop");
  };
  return result;
}

Case axpy_case() {
  float* x = static_cast<float*>(room(sizeof(float) * kAxpyElements));
  float* y = static_cast<float*>(room(sizeof(float) * kAxpyElements));
  Case result;
  result.told.name = "axpy";
  result.told.counter = "fp32_flops";
  result.told.work = 2.0 * kAxpyElements;
  result.told.read_bytes = 8.0 * kAxpyElements;
  result.told.write_bytes = 4.0 * kAxpyElements;
  result.launch = [x, y] {
    axpy<<<kAxpyElements / kThreads, kThreads>>>(kAxpyElements, 2.0f, x, y);
    return is_fine(cudaGetLastError(), "axpy");
  };
  return result;
}

Case add_case() {
  float* in = static_cast<float*>(room(16 * sizeof(float)));
  float* out = static_cast<float*>(room(sizeof(float) * kBlocks * kThreads * kChains));
  Case result;
  result.told.name = "fp32_add";
  result.told.counter = "fp32_flops";
  result.told.work = 1.0 * kBlocks * kThreads * kRounds * kChains;
  result.launch = [in, out] {
    add_loop<<<kBlocks, kThreads>>>(in, out);
    return is_fine(cudaGetLastError(), "add_loop");
  };
  return result;
}

struct Product {
  const char* name;
  const char* counter;
  cudaDataType_t in;
  cudaDataType_t out;
  cublasComputeType_t compute;
  cudaDataType_t scale;
  int size;
  size_t in_bytes, out_bytes;
};

// C = A^T B, square: 8-bit products require a transposed A.
Case product_case(cublasLtHandle_t handle, void* workspace, size_t workspace_bytes,
                  const Product& p) {
  const size_t elements = static_cast<size_t>(p.size) * p.size;
  Case result;
  result.told.name = p.name;
  result.told.counter = p.counter;
  result.told.work = 2.0 * p.size * p.size * p.size;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t in = nullptr, out = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  const cublasOperation_t transposed = CUBLAS_OP_T;
  cublasLtMatmulDescCreate(&operation, p.compute, p.scale);
  cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                 sizeof transposed);
  cublasLtMatrixLayoutCreate(&in, p.in, p.size, p.size, p.size);
  cublasLtMatrixLayoutCreate(&out, p.out, p.size, p.size, p.size);
  cublasLtMatmulPreferenceCreate(&preference);
  cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                       &workspace_bytes, sizeof workspace_bytes);
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      handle, operation, in, in, out, out, preference, 1, &found, &count);
  if (status != CUBLAS_STATUS_SUCCESS || count == 0) {
    std::fprintf(stderr, "known_kernels: %s: left out: cuBLAS offers no algorithm for it here\n",
                 p.name);
    return result;
  }
  void* a = room(elements * p.in_bytes);
  void* b = room(elements * p.in_bytes);
  void* c = room(elements * p.out_bytes);
  result.launch = [=] {
    // One and zero, wide enough for every scale type.
    const float one_float = 1.0f, zero_float = 0.0f;
    const double one_double = 1.0, zero_double = 0.0;
    const int32_t one_int = 1, zero_int = 0;
    const void* one = p.scale == CUDA_R_64F   ? static_cast<const void*>(&one_double)
                      : p.scale == CUDA_R_32I ? static_cast<const void*>(&one_int)
                                              : static_cast<const void*>(&one_float);
    const void* zero = p.scale == CUDA_R_64F   ? static_cast<const void*>(&zero_double)
                       : p.scale == CUDA_R_32I ? static_cast<const void*>(&zero_int)
                                               : static_cast<const void*>(&zero_float);
    return is_fine(cublasLtMatmul(handle, operation, one, a, in, b, in, zero, c, out, c, out,
                                  &found.algo, workspace, workspace_bytes, nullptr),
                   p.name);
  };
  return result;
}

std::vector<Case> make_cases() {
  std::vector<Case> cases;
  cases.push_back(axpy_case());
  cases.push_back(add_case());
  cases.push_back(loop_case<float>("fp32_fma", "fp32_flops", 2));
  cases.push_back(loop_case<double>("fp64_fma", "fp64_flops", 2));
  cases.push_back(loop_case<__half2>("half2_fma", "fp16_flops", 4));
  cases.push_back(loop_case<__nv_bfloat162>("bfloat162_fma", "fp16_flops", 4));
  cases.push_back(loop_case<__half>("half_fma", "fp16_flops", 2));
  cublasLtHandle_t handle = nullptr;
  constexpr size_t kWorkspace = 32u << 20;
  void* workspace = room(kWorkspace);
  if (!is_fine(cublasLtCreate(&handle), "cublasLtCreate")) return cases;
  const Product products[] = {
      {"gemm_fp32", "fp32_flops", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F, 2048, 4,
       4},
      {"gemm_fp16", "tensor_fp16_flops", CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F,
       4096, 2, 2},
      {"gemm_bf16", "tensor_bf16_flops", CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F,
       4096, 2, 2},
      {"gemm_tf32", "tensor_tf32_flops", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32,
       CUDA_R_32F, 4096, 4, 4},
      {"gemm_fp8", "tensor_fp8_flops", CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F,
       4096, 1, 2},
      {"gemm_fp64", "tensor_fp64_flops", CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F,
       2048, 8, 8},
      {"gemm_int8", "tensor_int8_ops", CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I, 4096,
       1, 4},
  };
  for (const Product& product : products) {
    Case made = product_case(handle, workspace, kWorkspace, product);
    if (made.launch) cases.push_back(std::move(made));
  }
  return cases;
}

}  // namespace

int known_open() {
  if (all_cases.empty() && is_fine(cudaFree(nullptr), "cudaFree")) all_cases = make_cases();
  return static_cast<int>(all_cases.size());
}

known_case known_get(int index) { return all_cases[static_cast<size_t>(index)].told; }

int known_launch(int index) { return all_cases[static_cast<size_t>(index)].launch() ? 0 : 1; }

int known_launch_graph() {
  static cudaStream_t stream = nullptr;
  static cudaGraphExec_t graph = nullptr;
  if (graph == nullptr) {
    cudaGraph_t captured = nullptr;
    graph_numbers = static_cast<float*>(room(kGraphElements * sizeof(float)));
    if (!is_fine(cudaStreamCreate(&stream), "cudaStreamCreate")) return 1;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    for (int i = 0; i < kGraphKernels; ++i) {
      increment<<<kGraphElements / kThreads, kThreads, 0, stream>>>(graph_numbers);
    }
    cudaStreamEndCapture(stream, &captured);
    if (!is_fine(cudaGraphInstantiate(&graph, captured, 0), "cudaGraphInstantiate")) return 1;
  }
  return is_fine(cudaGraphLaunch(graph, stream), "cudaGraphLaunch") ? 0 : 1;
}

double known_graph_runs() {
  float number = 0;
  if (graph_numbers == nullptr) return 0;
  cudaMemcpy(&number, graph_numbers, sizeof number, cudaMemcpyDeviceToHost);
  return number / kGraphKernels;
}

double known_graph_bytes() { return 1.0 * kGraphKernels * kGraphElements * sizeof(float); }

int known_wait() { return static_cast<int>(cudaDeviceSynchronize()); }

double known_l2_bytes() {
  int bytes = 0;
  cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, 0);
  return bytes;
}

#ifdef KNOWN_MAIN
int main() {
  const int count = known_open();
  bool is_fine = count > 0;
  for (int i = 0; i < count; ++i) is_fine = known_launch(i) == 0 && known_wait() == 0 && is_fine;
  return is_fine ? 0 : 1;
}
#endif
