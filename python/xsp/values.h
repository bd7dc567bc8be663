/* The tensors among an operator's values (c10::IValue): their shapes and element types, as
 * PyTorch keeps them in memory, read without a call into it and without memory of our own.
 *
 * Where things lie differs from release to release, and is found by looking at tensors that are
 * known: nothing is read before all of it has been found.
 *
 * Threads: finding needs the interpreter's lock; then any thread. */
#ifndef XSP_PYTHON_XSP_VALUES_H_
#define XSP_PYTHON_XSP_VALUES_H_

#include <stddef.h>
#include <stdint.h>

typedef struct Values {
  const char* at; /* of the first */
  size_t count;   /* 0: none are known */
} Values;

#define XSP_VALUE_BYTES 16u
/* Of a std::vector of values. */
Values xsp_values_of_vector(const char* vector);

/* ---- Finding out ---- */

/* A tensor that is contiguous, and has no extent of 1: at most 4 dimensions. */
typedef struct Example {
  const void* address; /* of the at::TensorImpl; NULL: not known */
  uint32_t rank;
  int64_t sizes[4];
  uint16_t type; /* as at::ScalarType numbers it */
} Example;

/* Forgets all that was found. */
void xsp_values_forget(void);
/* These are the values of an operator whose only value is this tensor. 0: they cannot be. */
int xsp_values_are(Values values, const Example* example);
/* Whether the first of these is a list that holds this tensor twice: finds how lists look. */
void xsp_values_have_list(Values values, const Example* example);
/* Whether three examples, with an element type each, left no doubt. */
int xsp_values_are_understood(void);

/* ---- Reading ---- */

/* Two operators whose tensors have the same shapes and types have the same; never
 * 0 or 1. */
uint64_t xsp_values_hash(Values values);
/* Likewise of one tensor, whose at::TensorImpl this is; without sizes, of all that have its rank
 * and type. Only where values are understood. */
uint64_t xsp_values_hash_tensor(const void* tensor, int with_sizes);
/* Writes the JSON of the site attributes input_shapes and input_dtypes (see plugin.h). 0: there is
 * no room. */
int xsp_values_describe(Values values, char* shapes, size_t shapes_size, char* types,
                        size_t types_size);

#endif /* XSP_PYTHON_XSP_VALUES_H_ */
