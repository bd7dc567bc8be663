/* Calls of modules: decides which calls are recorded, and in which role.
 *
 * The outermost module of a thread is the model, and a step; modules inside it are layers. So are
 * replicas that torch.nn.DataParallel makes in its call, each of which it calls on another thread.
 *
 * The interpreter's lock guards all of it. */
#ifndef XSP_PYTHON_XSP_WATCH_TORCH_ENTERING_H_
#define XSP_PYTHON_XSP_WATCH_TORCH_ENTERING_H_

#include "python.h"

/* The role in which a call was entered. */
enum {
  XSP_NOT_RECORDED = 0,
  XSP_IS_LAYER = 1,
  XSP_IS_MODEL = 2,    /* the outermost module of its thread, with a span */
  XSP_IS_CALL = 3,     /* ... its level is not recorded, but levels of the calls in it are */
  XSP_IS_OUTERMOST = 4 /* ... nothing of it is recorded now */
};

/* Sets the function that is called with a module that is not yet known; it makes it known
 * (xsp_module_add). */
void xsp_name_modules_with(PyObject* function);
/* Sets the function that is called before a model begins, with a flag whether layers are recorded:
 * it starts and stops the framework's profiler. */
void xsp_follow_models_with(PyObject* function);
/* Notes that a call of the module with these arguments begins. Unless the result is
 * XSP_NOT_RECORDED, xsp_module_leave must be called with it. It leaves no error set. */
int xsp_module_enter(PyObject* object, PyObject* const* arguments, size_t count);
void xsp_module_leave(int entered);
/* Notes that the object replicates a module, for a call of a module that is open on this thread:
 * called on any thread it is the module as a layer. Returns 0 if no module is open, or if the one
 * is not known: then the replica is a module like others. */
int xsp_module_replicate(const PyObject* replica, const PyObject* object);
/* The same as entering and leaving, for a model that the program reports itself. The outermost call
 * of a thread is a step; calls inside it are not. xsp_model_leave must be called with the result,
 * on any thread. */
uintptr_t xsp_model_enter(void);
void xsp_model_leave(uintptr_t entered);

#endif /* XSP_PYTHON_XSP_WATCH_TORCH_ENTERING_H_ */
