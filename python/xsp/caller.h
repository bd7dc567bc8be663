/* What takes the place of `torch.nn.Module.__call__`: an object that calls what was there, at a
 * tenth of the price of a function in Python.
 *
 * It is a method as functions are: looked up on an object it is bound to it. */
#ifndef XSP_PYTHON_XSP_CALLER_H_
#define XSP_PYTHON_XSP_CALLER_H_

#include "python.h"

/* A new caller of `call`, and what is called with the arguments of each outermost call that is
 * recorded (`note`; what it returns or raises does not matter). None before Python 3.11, which does
 * not export what is needed; NULL with an error set. */
PyObject* xsp_caller_new(PyObject* call, PyObject* note);

#endif /* XSP_PYTHON_XSP_CALLER_H_ */
