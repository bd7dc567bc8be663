#include "arguments.h"

#include <string.h>

#include "values.h"

#define VALUES_MAX 1024u
#define DEPTH_MAX 8u

/* The first bytes are the object header. In releases before 2.10 a flag follows that says whether
 * it borrows the tensor. */
#define OBJECT_BYTES 16u
#define TENSOR_FIRST OBJECT_BYTES
#define TENSOR_LAST 32u

static PyTypeObject* tensor_class;
static size_t tensor_offset; /* 0: not known */

static const void* pointer_in(PyObject* object, size_t offset) {
  const void* pointer;
  memcpy(&pointer, (const char*)object + offset, sizeof pointer);
  return pointer;
}

void xsp_arguments_learn(PyObject* tensor_type, PyObject* tensor, const void* address) {
  tensor_offset = 0;
  for (size_t offset = TENSOR_FIRST; offset <= TENSOR_LAST && tensor_offset == 0; offset += 8) {
    if (address != NULL && pointer_in(tensor, offset) == address) tensor_offset = offset;
  }
  Py_INCREF(tensor_type);
  Py_XDECREF((PyObject*)tensor_class);
  tensor_class = (PyTypeObject*)tensor_type;
}

typedef struct Walk {
  ArgumentsHash hash;
  size_t left; /* values that may still be looked at */
} Walk;

static uint64_t mixed(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}

static void add(Walk* walk, uint64_t exact, uint64_t plain) {
  walk->hash.exact = mixed(walk->hash.exact, exact);
  walk->hash.plain = mixed(walk->hash.plain, plain);
}

static void add_value(Walk* walk, PyObject* value, unsigned depth);

static void add_items(Walk* walk, PyObject* sequence, unsigned depth) {
  const int is_tuple = PyTuple_Check(sequence);
  const Py_ssize_t count = is_tuple ? PyTuple_Size(sequence) : PyList_Size(sequence);
  add(walk, (uint64_t)count, (uint64_t)count);
  for (Py_ssize_t i = 0; i < count && walk->left > 0; ++i) {
    add_value(walk, is_tuple ? PyTuple_GetItem(sequence, i) : PyList_GetItem(sequence, i), depth);
  }
}

static void add_tensor(Walk* walk, PyObject* tensor) {
  /* A borrowed tensor has another layout. */
  const uint64_t is_borrowed =
      tensor_offset == OBJECT_BYTES ? 0 : *((const unsigned char*)tensor + OBJECT_BYTES);
  if (is_borrowed) {
    walk->left = 0;
  } else {
    const void* values = pointer_in(tensor, tensor_offset);
    add(walk, xsp_values_hash_tensor(values, 1), xsp_values_hash_tensor(values, 0));
  }
}

static void add_value(Walk* walk, PyObject* value, unsigned depth) {
  if (walk->left == 0) return;
  if (--walk->left == 0 || value == NULL) return;
  if (PyType_IsSubtype(Py_TYPE(value), tensor_class)) {
    add_tensor(walk, value);
  } else if (PyLong_Check(value)) {
    const uint64_t number = (uint64_t)PyLong_AsUnsignedLongLongMask(value);
    PyErr_Clear();
    add(walk, number, PyBool_Check(value) ? number : 0); /* a flag is not a size */
  } else if ((PyTuple_Check(value) || PyList_Check(value)) && depth < DEPTH_MAX) {
    add_items(walk, value, depth + 1);
  } else if (PyDict_Check(value) && depth < DEPTH_MAX) {
    Py_ssize_t place = 0;
    PyObject* key = NULL;
    PyObject* item = NULL;
    while (walk->left > 0 && PyDict_Next(value, &place, &key, &item)) {
      add_value(walk, item, depth + 1);
    }
  } else {
    const uint64_t type = (uint64_t)(uintptr_t)Py_TYPE(value);
    add(walk, type, type);
  }
}

ArgumentsHash xsp_arguments_hash(PyObject* const* values, size_t count) {
  const ArgumentsHash none = {0, 0};
  if (tensor_offset == 0) return none;
  Walk walk = {{0x8ebc6af09c88c6e3u, 0x5851f42d4c957f2du}, VALUES_MAX};
  for (size_t i = 0; i < count; ++i) add_value(&walk, values[i], 0);
  return walk.left == 0 ? none : walk.hash;
}
