#include "entering.h"

#include "arguments.h"
#include "calls.h"
#include "modules.h"
#include "observer.h"
#include "operators.h"
#include "thread.h"
#include "xsp/xsp.h"

static int64_t iterations; /* number of calls of outermost modules */
static PyObject* name_modules;
static PyObject* follow_models;

static void keep(PyObject** place, PyObject* function) {
  PyObject* before = *place;
  Py_INCREF(function);
  *place = function;
  Py_XDECREF(before);
}

void xsp_name_modules_with(PyObject* function) { keep(&name_modules, function); }
void xsp_follow_models_with(PyObject* function) { keep(&follow_models, function); }

static uint32_t iteration_key(void) {
  static uint32_t key;
  if (key == 0) key = xsp_intern_key("iteration");
  return key;
}

static int enter_module(Thread* thread, const Module* module, int is_inner) {
  const int is_layer = is_inner || module->model_site == 0;
  const uint32_t level = is_layer ? XSP_LEVEL_LAYER : XSP_LEVEL_MODEL;
  const uint32_t site = is_layer ? module->layer_site : module->model_site;
  Call* call = xsp_call_open_on(thread, level, site, module->owner);
  if (is_layer) {
    if (call != NULL) call->is_inner = 1;
    return call == NULL ? XSP_NOT_RECORDED : XSP_IS_LAYER;
  }
  if (call == NULL) return XSP_IS_OUTERMOST;
  call->is_inner = 1;
  xsp_span_int(&call->span, iteration_key(), iterations - 1);
  return call->span.start != 0 ? XSP_IS_MODEL : XSP_IS_CALL;
}

/* Returns the module, and makes it known if necessary; NULL: it cannot be recorded. */
static const Module* module_of(PyObject* object) {
  const Module* module = xsp_module_find(object);
  if (module != NULL || name_modules == NULL) return module;
  PyObject* done = PyObject_CallFunctionObjArgs(name_modules, object, NULL);
  if (done == NULL) {
    /* The program's own call must go on as without xsp. */
    PyErr_Clear();
    return NULL;
  }
  Py_DECREF(done);
  return xsp_module_find(object);
}

static uint32_t recorded_levels(void) {
  return __atomic_load_n(&xsp_recorded_levels, __ATOMIC_RELAXED);
}

static void tell_follower(void) {
  if (follow_models == NULL) return;
  const int has_layers = (recorded_levels() & XSP_LEVEL_BIT(XSP_LEVEL_LAYER)) != 0;
  PyObject* done = PyObject_CallFunction(follow_models, "i", has_layers);
  Py_XDECREF(done);
  PyErr_Clear(); /* it should never fail, and must not make the program fail */
}

static int is_training(PyObject* object) {
  PyObject* training = PyObject_GetAttrString(object, "training");
  const int is_true = training == Py_True;
  Py_XDECREF(training);
  PyErr_Clear(); /* an object without it is no torch module */
  return is_true;
}

/* Returns a hash that two model calls share if the shapes in them are the same; 0: not known. */
static uint64_t kind_of_call(PyObject* object, PyObject* const* arguments, size_t count) {
  const ArgumentsHash hash = xsp_arguments_hash(arguments, count);
  if (hash.exact == 0) return 0;
  const uint64_t modes = (uint64_t)is_training(object) << 3 | (uint64_t)xsp_observer_modes();
  const uint64_t model = (uint64_t)(uintptr_t)object >> 4 ^ modes << 60;
  return xsp_operators_kind(((hash.exact ^ model) * 0x9e3779b97f4a7c15u) | 1u,
                            ((hash.plain ^ model) * 0xd6e8feb86659fd93u) | 1u);
}

/* Enters a replica, whose thread has no span of the model: one of the application stands for it. */
static int enter_replica(Thread* thread, const Module* module) {
  static uint32_t site;
  if (site == 0) site = xsp_intern_site(XSP_LEVEL_APPLICATION, "replica", "DataParallel thread");
  Call* around = xsp_call_open_on(thread, XSP_LEVEL_APPLICATION, site, module->owner);
  const int entered = enter_module(thread, module, 1);
  if (entered == XSP_NOT_RECORDED) {
    xsp_call_close(around);
  } else {
    xsp_innermost_of(thread)->is_pair = 1;
  }
  return entered;
}

/* Enters the outermost module of its thread. It is a step even if nothing is recorded, and the
 * levels may be switched before it. */
static int enter_outermost(Thread* thread, PyObject* object, PyObject* const* arguments,
                           size_t count) {
  const Module* module = module_of(object);
  if (module == NULL) return XSP_NOT_RECORDED;
  const int is_model = module->model_site != 0;
  if (is_model) {
    thread->now.is_in_module = 1;
    ++iterations;
    if (!thread->now.is_in_model) xsp_step_begin(XSP_STEP_MODEL);
  }
  xsp_observer_follow();
  tell_follower();
  const uint32_t wanted = XSP_LEVEL_BIT(XSP_LEVEL_LAYER) | XSP_LEVEL_BIT(XSP_LEVEL_MODEL);
  /* Other modules are entered all the same: modules that they call are no models. */
  if (is_model && (recorded_levels() & wanted) == 0) return XSP_IS_OUTERMOST;
  if (module->key == NULL) return enter_replica(thread, module);
  uint64_t kind = 0;
  if (is_model && xsp_observer_has_shapes() && xsp_is_recorded(XSP_LEVEL_LAYER)) {
    kind = kind_of_call(object, arguments, count);
    xsp_observer_look(xsp_operators_follow(kind));
  }
  const int entered = enter_module(thread, module, 0);
  if (kind != 0 && (entered == XSP_IS_MODEL || entered == XSP_IS_CALL)) {
    xsp_innermost_of(thread)->position = kind;
  }
  return entered;
}

static int is_inside(Thread* thread) {
  const Call* around = xsp_innermost_of(thread);
  return thread->now.is_in_module || (around != NULL && around->is_inner);
}

int xsp_module_enter(PyObject* object, PyObject* const* arguments, size_t count) {
  Thread* thread = xsp_this_thread();
  if (thread == NULL) return XSP_NOT_RECORDED;
  if (!is_inside(thread)) return enter_outermost(thread, object, arguments, count);
  if (!xsp_is_recorded(XSP_LEVEL_LAYER)) return XSP_NOT_RECORDED;
  const Module* module = module_of(object);
  return module == NULL ? XSP_NOT_RECORDED : enter_module(thread, module, 1);
}

void xsp_module_leave(int entered) {
  if (entered == XSP_NOT_RECORDED) return;
  if (entered != XSP_IS_OUTERMOST) xsp_call_close(xsp_call_innermost());
  if (entered == XSP_IS_LAYER) return;
  Thread* thread = xsp_this_thread();
  if (thread == NULL) return;
  thread->now.is_in_module = 0;
  if (!thread->now.is_in_model) xsp_step_end(XSP_STEP_MODEL);
}

int xsp_module_replicate(const PyObject* replica, const PyObject* object) {
  Thread* thread = xsp_this_thread();
  if (thread == NULL || !is_inside(thread)) return 0;
  const Module* module = xsp_module_find(object);
  if (module == NULL) return 0;
  const Module same = {replica, 0, module->layer_site, module->owner, NULL};
  return xsp_module_add(same) == 0;
}

uintptr_t xsp_model_enter(void) {
  Thread* thread = xsp_this_thread();
  if (thread == NULL || thread->now.is_in_model || thread->now.is_in_module) return 0;
  thread->now.is_in_model = 1;
  xsp_step_begin(XSP_STEP_MODEL);
  return (uintptr_t)thread;
}

void xsp_model_leave(uintptr_t entered) {
  if (entered == 0) return;
  ((Thread*)entered)->now.is_in_model = 0;
  xsp_step_end(XSP_STEP_MODEL);
}
