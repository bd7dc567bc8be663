/* Hashes the arguments of a model's call, as far as they determine the shapes in it.
 *
 * The interpreter's lock guards all of it. */
#ifndef XSP_PYTHON_XSP_ARGUMENTS_H_
#define XSP_PYTHON_XSP_ARGUMENTS_H_

#include <stddef.h>
#include <stdint.h>

#include "python.h"

/* Learns the layout of a tensor in Python, from one whose at::TensorImpl is at this address. */
void xsp_arguments_learn(PyObject* tensor_type, PyObject* tensor, const void* address);

/* Both are 0 if the layout of tensors is not known, or if there are too many values. */
typedef struct ArgumentsHash {
  /* Calls with the same whole numbers, and with tensors of the same shapes and types, also in
   * tuples, lists and dicts, have the same hash. */
  uint64_t exact;
  uint64_t plain; /* the same, but ignores the numbers and the sizes */
} ArgumentsHash;
ArgumentsHash xsp_arguments_hash(PyObject* const* values, size_t count);

#endif /* XSP_PYTHON_XSP_ARGUMENTS_H_ */
