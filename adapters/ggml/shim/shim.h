/* shim.h: the parts of llama.cpp that the adapter `ggml` needs, as a C interface that does not
 * change with llama.cpp.
 *
 * llama.cpp's own interface passes structs by value that grow with every release. So a small
 * library is compiled beside it, when it is installed, against its own headers (llama.cc here); the
 * adapter loads that. All calls on one model come from one thread.
 */
#ifndef XSP_ADAPTERS_GGML_SHIM_SHIM_H_
#define XSP_ADAPTERS_GGML_SHIM_SHIM_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define XSP_GGML_SHIM_VERSION 2
#define XSP_GGML_SOURCES_MAX 10

typedef struct xsp_ggml xsp_ggml;

typedef struct xsp_ggml_tensor {
  const char* type; /* "f32", "q4_0" */
  int64_t shape[4]; /* row-major */
  int64_t bytes;
  int is_weight;
} xsp_ggml_tensor;

typedef struct xsp_ggml_node {
  const char* name;
  const char* op; /* "MUL_MAT" */
  xsp_ggml_tensor output;
  xsp_ggml_tensor sources[XSP_GGML_SOURCES_MAX];
  int source_count;
} xsp_ggml_node;

typedef struct xsp_ggml_settings {
  const char* path;
  int threads; /* 0: as many as there are processors */
  int context; /* tokens of each sequence before a run begins; 0: a run is a prefill */
  /* Called before and after each node that computes something; NULL if there is no observer. */
  void (*watch)(void* user, int is_end, const void* node);
  void* user;
} xsp_ggml_settings;

typedef struct xsp_ggml_interface {
  int version; /* XSP_GGML_SHIM_VERSION */
  const char* (*build)(void);
  /* Returns NULL if the model cannot be opened, with the reason in the why_size bytes at `why`. */
  xsp_ggml* (*open)(const xsp_ggml_settings* settings, char* why, size_t why_size);
  int (*vocabulary)(const xsp_ggml* model);
  /* Sets the tokens of each of `batch` sequences, one after the other. Returns 0 on success. */
  int (*set_tokens)(xsp_ggml* model, const int32_t* tokens, int batch, int length);
  /* Forgets all tokens, and makes room for these. From then on the tokens of set_tokens follow
   * those that were set before and have run. Returns 0 on success. */
  int (*keep)(xsp_ggml* model, int sequences, int tokens);
  /* Returns the bytes of the keys and values of all sequences, as llama.cpp would save them. */
  int64_t (*kept_bytes)(xsp_ggml* model);
  int (*run)(xsp_ggml* model);
  /* Returns the scores of every token of the vocabulary, after the last token of a sequence. */
  const float* (*scores)(xsp_ggml* model, int sequence);
  void (*describe)(const void* node, xsp_ggml_node* facts);
  void (*close)(xsp_ggml* model);
} xsp_ggml_interface;

#define XSP_GGML_SHIM_SYMBOL "xsp_ggml_shim"

#ifdef __cplusplus
}
#endif

#endif /* XSP_ADAPTERS_GGML_SHIM_SHIM_H_ */
