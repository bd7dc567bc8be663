/* Python's C API as all of this is built: the stable ABI, so that one library serves every Python
 * from 3.8 on. */
#ifndef XSP_PYTHON_XSP_PYTHON_H_
#define XSP_PYTHON_XSP_PYTHON_H_

#define Py_LIMITED_API 0x03080000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#endif /* XSP_PYTHON_XSP_PYTHON_H_ */
