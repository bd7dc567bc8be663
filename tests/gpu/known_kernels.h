/* Kernels whose numbers are known on paper, to hold hardware counters against: a library that nvcc
 * builds of known_kernels.cu, loaded at run time, so that known itself needs nothing of CUDA.
 *
 * Each case launches one kernel (cuBLAS may add small ones around a product) and says what counters
 * of it should read: from the source of the kernel, or 2 * M * N * K for a product of matrices. */
#ifndef XSP_TESTS_GPU_KNOWN_KERNELS_H_
#define XSP_TESTS_GPU_KNOWN_KERNELS_H_

#ifdef __cplusplus
extern "C" {
#endif

struct known_case {
  const char* name;    /* "axpy", "gemm_fp16" */
  const char* counter; /* that the work is counted under: "fp32_flops", "tensor_fp16_flops" */
  double work;         /* what it should read, summed over the case's kernels */
  double read_bytes;   /* what it reads from memory; 0: not known */
  double
      write_bytes; /* what it writes to memory, at once or when the cache is emptied; 0: likewise */
};

/* Makes the cases that this device and these libraries can run, and what they need; prints why one
 * is left out. Their number; 0 if CUDA failed. */
int known_open(void);
struct known_case known_get(int index);
/* Enqueues the case. 0, or not. */
int known_launch(int index);
/* A CUDA graph, captured at the first call. 0, or not. */
int known_launch_graph(void);
/* How often it has run to its end, by what it left in memory. */
double known_graph_runs(void);
/* What the kernels of the graph read together, and as much they write. */
double known_graph_bytes(void);
/* Waits for the device. 0, or a CUDA error. */
int known_wait(void);
/* Of the device's L2 cache: what was written last may still be there. */
double known_l2_bytes(void);

#ifdef __cplusplus
}
#endif

#endif /* XSP_TESTS_GPU_KNOWN_KERNELS_H_ */
