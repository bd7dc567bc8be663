/* Calls of modules: which are recorded, and as what.
 *
 * The outermost module of a thread is the model, and a step; those inside it are layers.
 *
 * Threads: the interpreter's lock guards all of it. */
#ifndef XSP_PYTHON_XSP_ENTERING_H_
#define XSP_PYTHON_XSP_ENTERING_H_

#include "python.h"

/* What a call was entered as. */
enum {
  XSP_NOT_RECORDED = 0,
  XSP_IS_LAYER = 1,
  XSP_IS_MODEL = 2,    /* the outermost module of its thread, with a span */
  XSP_IS_CALL = 3,     /* ... whose level is not recorded, but those of what is called in it */
  XSP_IS_OUTERMOST = 4 /* ... of which nothing is recorded now */
};

/* What is called with a module that is not known yet; it makes it known (xsp_module_add). */
void xsp_name_modules_with(PyObject* function);
/* What is called, with whether layers are recorded, before a model begins: who starts and stops a
 * profiler of the framework's. */
void xsp_follow_models_with(PyObject* function);
/* A call of the module with these arguments begins: unless it is not recorded, xsp_module_leave is
 * to be called with what this answers. Leaves no error set. */
int xsp_module_enter(PyObject* object, PyObject* const* arguments, size_t count);
void xsp_module_leave(int entered);
/* The same of a model that the program says it calls. The outermost call of a thread is a step;
 * what is inside is none. xsp_model_leave is to be called with what this answers, on any thread. */
uintptr_t xsp_model_enter(void);
void xsp_model_leave(uintptr_t entered);

#endif /* XSP_PYTHON_XSP_ENTERING_H_ */
