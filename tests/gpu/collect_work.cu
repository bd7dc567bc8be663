// The GPU's half of collect: see collect_work.h.
//
//   nvcc -std=c++17 -O1 -shared -Xcompiler -fPIC -o libcollect_work.so collect_work.cu -lcuda
#include "collect_work.h"

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstring>
#include <thread>
#include <vector>

namespace {

__global__ void axpy(int n, float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
template <typename T>
__global__ void scale(T* x, T a) {
  extern __shared__ char scratch[];
  if (threadIdx.x == 0) scratch[0] = 1;
  x[threadIdx.x] *= a;
}
__global__ void nothing() {}
__global__ void relu(int n, float* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] < 0) x[i] = 0;
}

#define CHECK(call)                                \
  do {                                             \
    const cudaError_t error_ = (call);             \
    if (error_ != cudaSuccess) return (int)error_; \
  } while (false)

constexpr int kElements = 1 << 16;
constexpr size_t kBytes = kElements * sizeof(float);

struct Memory {
  float* x = nullptr;
  float* y = nullptr;
  float* pinned = nullptr;
  std::vector<float> pageable;
};

int prepare(Memory* memory) {
  CHECK(cudaMalloc(&memory->x, kBytes));
  CHECK(cudaMalloc(&memory->y, kBytes));
  CHECK(cudaMallocHost(&memory->pinned, kBytes));
  memory->pageable.resize(kElements);
  return 0;
}

int release(Memory* memory, work_counts* counts) {
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(memory->x));
  CHECK(cudaFree(memory->y));
  CHECK(cudaFreeHost(memory->pinned));
  counts->allocations += 3;
  return 0;
}

int plain(work_layer layer, work_counts* counts) {
  Memory m;
  if (const int error = prepare(&m)) return error;
  for (int l = 0; l < 2; ++l) {
    layer(l);
    for (int i = 0; i < 500; ++i) axpy<<<256, 256>>>(kElements, 2.0f, m.x, m.y);
    counts->kernels += 500;
    counts->launches += 500;
    layer(-1);
  }
  // These have geometries of their own.
  layer(2);
  for (const int grid : {1, 2, 3}) {
    for (int i = 0; i < 10; ++i) scale<float><<<grid, 64, 1024 * grid>>>(m.x, 1.0f);
    counts->kernels += 10;
    counts->launches += 10;
  }
  scale<double><<<1, 32, 16>>>(reinterpret_cast<double*>(m.y), 1.0);
  ++counts->kernels;
  ++counts->launches;
  layer(-1);
  return release(&m, counts);
}

int streams(work_layer layer, work_counts* counts) {
  Memory m;
  if (const int error = prepare(&m)) return error;
  layer(3);
  cudaStream_t stream[4];
  for (cudaStream_t& s : stream) CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  for (int i = 0; i < 100; ++i) {
    for (cudaStream_t s : stream) axpy<<<64, 256, 0, s>>>(kElements / 4, 2.0f, m.x, m.y);
  }
  counts->kernels += 400;
  counts->launches += 400;
  for (int i = 0; i < 10; ++i) {
    CHECK(cudaMemcpyAsync(m.x, m.pinned, kBytes, cudaMemcpyHostToDevice, stream[0]));
    CHECK(cudaMemcpyAsync(m.pinned, m.x, kBytes, cudaMemcpyDeviceToHost, stream[1]));
    CHECK(cudaMemcpyAsync(m.y, m.x, kBytes, cudaMemcpyDeviceToDevice, stream[2]));
    CHECK(cudaMemsetAsync(m.x, 0, kBytes, stream[3]));
    CHECK(cudaMemcpy(m.x, m.pageable.data(), kBytes, cudaMemcpyHostToDevice));
  }
  CHECK(cudaMemsetAsync(m.x, 0, 0, stream[3]));  // executes nothing
  counts->copies += 40;
  counts->copied_bytes += 40.0 * kBytes;
  counts->sets += 10;
  for (cudaStream_t s : stream) {
    CHECK(cudaStreamSynchronize(s));
    CHECK(cudaStreamDestroy(s));
  }
  layer(-1);
  return release(&m, counts);
}

int threads(work_layer layer, work_counts* counts) {
  Memory m;
  if (const int error = prepare(&m)) return error;
  std::vector<std::thread> all;
  for (int t = 0; t < 4; ++t) {
    all.emplace_back([&] {
      layer(4);
      for (int i = 0; i < 200; ++i) axpy<<<64, 256>>>(kElements / 4, 2.0f, m.x, m.y);
      layer(-1);
    });
  }
  for (std::thread& one : all) one.join();
  counts->kernels += 800;
  counts->launches += 800;
  return release(&m, counts);
}

int capture(Memory* m, cudaStream_t stream, work_layer layer, cudaGraph_t* graph) {
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int l = 0; l < WORK_GRAPH_LAYERS; ++l) {
    layer(10 + l);
    for (int i = 0; i < WORK_GRAPH_KERNELS; ++i) {
      if (l == 1) {
        relu<<<64, 256, 0, stream>>>(kElements / 4, m->y);
      } else {
        axpy<<<64, 256, 0, stream>>>(kElements / 4, 2.0f, m->x, m->y);
      }
    }
    layer(-1);
  }
  layer(13);
  CHECK(cudaMemsetAsync(m->x, 0, kBytes, stream));
  CHECK(cudaMemcpyAsync(m->y, m->x, kBytes, cudaMemcpyDeviceToDevice, stream));
  layer(-1);
  return cudaStreamEndCapture(stream, graph);
}

int graph(work_layer layer, work_counts* counts) {
  Memory m;
  if (const int error = prepare(&m)) return error;
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  cudaGraph_t captured;
  if (const int error = capture(&m, stream, layer, &captured)) return error;
  counts->launches += WORK_GRAPH_LAYERS * WORK_GRAPH_KERNELS;  // calls, which execute nothing
  cudaGraph_t copy;
  CHECK(cudaGraphClone(&copy, captured));
  // One graph is instantiated from the capture, one from a copy of it. Both sources are destroyed
  // before the graphs run, and the graphs before their records are read.
  for (cudaGraph_t source : {captured, copy}) {
    cudaGraphExec_t executable;
    CHECK(cudaGraphInstantiate(&executable, source, 0));
    CHECK(cudaGraphDestroy(source));
    for (int i = 0; i < WORK_GRAPH_REPLAYS / 2; ++i) CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(executable));
  }
  counts->graph_launches += WORK_GRAPH_REPLAYS;
  counts->kernels += WORK_GRAPH_REPLAYS * WORK_GRAPH_LAYERS * WORK_GRAPH_KERNELS;
  counts->sets += WORK_GRAPH_REPLAYS;
  counts->copies += WORK_GRAPH_REPLAYS;
  counts->copied_bytes += static_cast<double>(WORK_GRAPH_REPLAYS) * kBytes;
  CHECK(cudaStreamDestroy(stream));
  return release(&m, counts);
}

// Launches only through the driver, as compilers' run times do.
int driver(work_layer layer, work_counts* counts) {
  Memory m;
  if (const int error = prepare(&m)) return error;
  cudaFunction_t function;
  CHECK(cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(relu)));
  layer(5);
  int n = kElements;
  void* arguments[] = {&n, &m.x};
  for (int i = 0; i < 50; ++i) {
    const CUresult result = cuLaunchKernel(reinterpret_cast<CUfunction>(function), 256, 1, 1, 256, 1,
                                           1, 0, nullptr, arguments, nullptr);
    if (result != CUDA_SUCCESS) return 10000 + static_cast<int>(result);
  }
  counts->kernels += 50;
  counts->launches += 50;
  if (cuMemsetD32(reinterpret_cast<CUdeviceptr>(m.x), 0, kElements) != CUDA_SUCCESS) return 10000;
  ++counts->sets;
  layer(-1);
  return release(&m, counts);
}

int allocation(work_layer, work_counts* counts) {
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  for (int i = 0; i < 10; ++i) {
    void* memory = nullptr;
    CHECK(cudaMalloc(&memory, 1 << 20));
    CHECK(cudaFree(memory));
    CHECK(cudaMallocAsync(&memory, 1 << 20, stream));
    CHECK(cudaFreeAsync(memory, stream));
    CHECK(cudaMallocManaged(&memory, 1 << 20));
    CHECK(cudaFree(memory));
  }
  counts->allocations += 30;
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaStreamDestroy(stream));
  return 0;
}

// Uses a second context on the device, and a launch that is refused.
int contexts(work_layer layer, work_counts* counts) {
  CUcontext context;
#if CUDA_VERSION >= 13000
  if (cuCtxCreate(&context, nullptr, 0, 0) != CUDA_SUCCESS) return 10000;
#else
  if (cuCtxCreate(&context, 0, 0) != CUDA_SUCCESS) return 10000;
#endif
  layer(6);
  for (int i = 0; i < 20; ++i) nothing<<<1, 32>>>();
  counts->kernels += 20;
  counts->launches += 20;
  CHECK(cudaDeviceSynchronize());
  nothing<<<1, 4096>>>();
  if (cudaGetLastError() == cudaSuccess) return 10001;
  layer(-1);
  return cuCtxDestroy(context) == CUDA_SUCCESS ? 0 : 10002;
}

}  // namespace

extern "C" {

const char* work_names(void) { return "plain,streams,threads,graph,driver,allocation,contexts"; }

int work_run(const char* name, work_layer layer, struct work_counts* counts) {
  if (std::strcmp(name, "plain") == 0) return plain(layer, counts);
  if (std::strcmp(name, "streams") == 0) return streams(layer, counts);
  if (std::strcmp(name, "threads") == 0) return threads(layer, counts);
  if (std::strcmp(name, "graph") == 0) return graph(layer, counts);
  if (std::strcmp(name, "driver") == 0) return driver(layer, counts);
  if (std::strcmp(name, "allocation") == 0) return allocation(layer, counts);
  if (std::strcmp(name, "contexts") == 0) return contexts(layer, counts);
  return -1;
}

int work_inference(int kernels, int as_graph) {
  static Memory m;
  static cudaStream_t stream;
  static cudaGraphExec_t executable;
  if (m.x == nullptr) {
    if (const int error = prepare(&m)) return error;
    CHECK(cudaStreamCreate(&stream));
    if (as_graph != 0) {
      cudaGraph_t captured;
      CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
      for (int i = 0; i < kernels; ++i) axpy<<<16, 256, 0, stream>>>(4096, 2.0f, m.x, m.y);
      CHECK(cudaStreamEndCapture(stream, &captured));
      CHECK(cudaGraphInstantiate(&executable, captured, 0));
    }
  }
  if (as_graph != 0) {
    CHECK(cudaGraphLaunch(executable, stream));
  } else {
    for (int i = 0; i < kernels; ++i) axpy<<<16, 256, 0, stream>>>(4096, 2.0f, m.x, m.y);
  }
  return cudaStreamSynchronize(stream);
}

}  // extern "C"
