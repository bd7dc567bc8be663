/* The work that collect gives to a GPU: a library that nvcc builds from collect_work.cu, loaded at
 * run time, so that collect itself needs nothing of CUDA. Each piece of work counts its requests.
 */
#ifndef XSP_TESTS_GPU_COLLECT_WORK_H_
#define XSP_TESTS_GPU_COLLECT_WORK_H_

#ifdef __cplusplus
extern "C" {
#endif

struct work_counts {
  int kernels;
  int copies;
  int sets;
  int launches; /* calls that launched kernels, one by one */
  int graph_launches;
  int allocations; /* and as many releases */
  double copied_bytes;
};

/* Reports where a layer begins (its number >= 0) and ends (-1); in work_graph they are captured. */
typedef void (*work_layer)(int layer);

/* Returns 0, or a CUDA error. `name` is one of work_names. */
int work_run(const char* name, work_layer layer, struct work_counts* counts);
/* Returns names, comma separated, in the order in which they are to be run. */
const char* work_names(void);
/* Runs one inference of `kernels` small kernels, and waits for the last. */
int work_inference(int kernels, int as_graph);

#define WORK_GRAPH_LAYERS 3
#define WORK_GRAPH_KERNELS 10 /* kernels of each layer */
#define WORK_GRAPH_REPLAYS 100

#ifdef __cplusplus
}
#endif

#endif /* XSP_TESTS_GPU_COLLECT_WORK_H_ */
