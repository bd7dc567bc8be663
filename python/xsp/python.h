/* Python's C API as the whole package uses it: the stable ABI, so that one library works with every
 * Python from 3.8 on. */
#ifndef XSP_PYTHON_XSP_PYTHON_H_
#define XSP_PYTHON_XSP_PYTHON_H_

#define Py_LIMITED_API 0x03080000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#endif /* XSP_PYTHON_XSP_PYTHON_H_ */
