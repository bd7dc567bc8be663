/* What a model is called with, as far as the shapes in it follow from that.
 *
 * Threads: the interpreter's lock guards all of it. */
#ifndef XSP_PYTHON_XSP_ARGUMENTS_H_
#define XSP_PYTHON_XSP_ARGUMENTS_H_

#include <stddef.h>
#include <stdint.h>

#include "python.h"

/* Learns how a tensor looks in Python, from one whose at::TensorImpl is at this address. */
void xsp_arguments_learn(PyObject* tensor_type, PyObject* tensor, const void* address);

/* Both 0: tensors are not understood, or these are too many. */
typedef struct ArgumentsHash {
  /* The same for calls with the same whole numbers, and tensors of the same shapes and types, also
   * in tuples, lists and dicts. */
  uint64_t exact;
  uint64_t plain; /* likewise, whatever the numbers and the sizes */
} ArgumentsHash;
ArgumentsHash xsp_arguments_hash(PyObject* const* values, size_t count);

#endif /* XSP_PYTHON_XSP_ARGUMENTS_H_ */
