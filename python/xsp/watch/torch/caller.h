/* The object that replaces `torch.nn.Module.__call__`. It calls the original, at a tenth of the
 * cost of a function in Python.
 *
 * It is a method, as functions are: a look-up on an object binds it to that object. */
#ifndef XSP_PYTHON_XSP_WATCH_TORCH_CALLER_H_
#define XSP_PYTHON_XSP_WATCH_TORCH_CALLER_H_

#include "python.h"

/* Returns a new caller of `call`. It also calls `note` with the arguments of each outermost call
 * that is recorded, and ignores its result and exceptions. Returns None before Python 3.11, which
 * does not export the necessary functions, and NULL with an error set on failure. */
PyObject* xsp_caller_new(PyObject* call, PyObject* note);

#endif /* XSP_PYTHON_XSP_WATCH_TORCH_CALLER_H_ */
