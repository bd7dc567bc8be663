/* Reads the shapes and element types of the tensors among an operator's values (c10::IValue) from
 * PyTorch's memory, without a call into PyTorch and without allocating memory.
 *
 * The layout differs between releases. It is found by looking at known tensors: nothing is read
 * before all of it has been found.
 *
 * Finding the layout needs the interpreter's lock; any thread may read. */
#ifndef XSP_PYTHON_XSP_VALUES_H_
#define XSP_PYTHON_XSP_VALUES_H_

#include <stddef.h>
#include <stdint.h>

typedef struct Values {
  const char* at; /* address of the first */
  size_t count;   /* 0: none are known */
} Values;

#define XSP_VALUE_BYTES 16u
/* Returns the values of a std::vector. */
Values xsp_values_of_vector(const char* vector);

/* ---- Finding out ---- */

/* A contiguous tensor of at most 4 dimensions, none of which has size 1. */
typedef struct Example {
  const void* address; /* address of the at::TensorImpl; NULL: not known */
  uint32_t rank;
  int64_t sizes[4];
  uint16_t type; /* the number of at::ScalarType */
} Example;

/* Forgets the layout that was found. */
void xsp_values_forget(void);
/* Learns from the values of an operator whose only value is this tensor. Returns 0 if they cannot
 * be. */
int xsp_values_are(Values values, const Example* example);
/* Learns the layout of lists, if the first value is a list that holds this tensor twice. */
void xsp_values_have_list(Values values, const Example* example);
/* Returns whether three examples, each with another element type, left no doubt. */
int xsp_values_are_understood(void);

/* ---- Reading ---- */

/* Two operators whose tensors have the same shapes and types have the same hash; it is never 0 or
 * 1. */
uint64_t xsp_values_hash(Values values);
/* Returns the hash of one tensor, given its at::TensorImpl. Without sizes, all tensors of its rank
 * and type have the same hash. Only for an understood layout. */
uint64_t xsp_values_hash_tensor(const void* tensor, int with_sizes);
/* Writes the JSON of the site attributes input_shapes and input_dtypes (see plugin.h). Returns 0 if
 * there is no room. */
int xsp_values_describe(Values values, char* shapes, size_t shapes_size, char* types,
                        size_t types_size);

#endif /* XSP_PYTHON_XSP_VALUES_H_ */
