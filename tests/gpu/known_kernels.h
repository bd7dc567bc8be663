/* Kernels whose counters can be computed on paper, to check hardware counters: a library that nvcc
 * builds from known_kernels.cu, loaded at run time, so that known itself needs nothing of CUDA.
 *
 * Each case launches one kernel (cuBLAS may add small ones around a product) and states the
 * expected counters: from the source of the kernel, or 2 * M * N * K for a product of matrices. */
#ifndef XSP_TESTS_GPU_KNOWN_KERNELS_H_
#define XSP_TESTS_GPU_KNOWN_KERNELS_H_

#ifdef __cplusplus
extern "C" {
#endif

struct known_case {
  const char* name;    /* "axpy", "gemm_fp16" */
  const char* counter; /* counter of the work: "fp32_flops", "tensor_fp16_flops" */
  double work;         /* its expected value, summed over the case's kernels */
  double read_bytes;   /* bytes read from memory; 0: not known */
  double write_bytes;  /* bytes written, at once or when the cache is emptied; 0: not known */
};

/* Makes the cases that this device and these libraries can run, with their data; prints why one is
 * left out. Returns their number; 0 if CUDA failed. */
int known_open(void);
struct known_case known_get(int index);
/* Enqueues the case. Returns 0 on success. */
int known_launch(int index);
/* Launches a CUDA graph, captured at the first call. Returns 0 on success. */
int known_launch_graph(void);
/* Returns how often it has run to its end, judged by its results in memory. */
double known_graph_runs(void);
/* Returns the bytes that the kernels of the graph read together; they write as many. */
double known_graph_bytes(void);
/* Waits for the device. Returns 0, or a CUDA error. */
int known_wait(void);
/* Returns the size of the device's L2 cache: the data written last may still be there. */
double known_l2_bytes(void);

#ifdef __cplusplus
}
#endif

#endif /* XSP_TESTS_GPU_KNOWN_KERNELS_H_ */
