/* xsp._native: the functions of xsp.h that Python code calls for every span, at the cost of one
 * call.
 *
 * Spans that nest strictly on a thread (calls of modules) are begun and ended in pairs: the library
 * keeps them on a stack of the thread. Others (generators, coroutines) are emitted with their
 * times.
 *
 * It is built for the stable ABI (3.8 on), so one file serves every Python on the machine.
 * Refused: ctypes, ten times the price of a call; pybind11, a build per version. */
#include <errno.h>

#include "arguments.h"
#include "calls.h"
#include "python.h"
#include "watch/jax/xplane.h"
#include "watch/torch/caller.h"
#include "watch/torch/entering.h"
#include "watch/torch/modules.h"
#include "watch/torch/observer.h"
#include "xsp/xsp.h"

static uint32_t batch_key;
static uint32_t autograd_site; /* for a backward pass, on the threads of its engine */

static PyObject* enter(PyObject* self, PyObject* object) {
  (void)self;
  return PyLong_FromLong(xsp_module_enter(object, NULL, 0));
}

static PyObject* enter_with(PyObject* self, PyObject* args) {
  (void)self;
  PyObject* object = NULL;
  PyObject* arguments[2];
  if (!PyArg_ParseTuple(args, "OOO", &object, &arguments[0], &arguments[1])) return NULL;
  return PyLong_FromLong(xsp_module_enter(object, arguments, 2));
}

static PyObject* leave(PyObject* self, PyObject* unused) {
  (void)self;
  (void)unused;
  Call* call = xsp_call_innermost();
  const int is_backward = call != NULL && call->level == XSP_LEVEL_APPLICATION &&
                          xsp_owner_phase(call->owner) == XSP_PHASE_BACKWARD;
  xsp_call_close(call);
  if (is_backward) xsp_emit_busy_threads(autograd_site);
  Py_RETURN_NONE;
}

static PyObject* leave_model(PyObject* self, PyObject* entered) {
  (void)self;
  xsp_module_leave((int)PyLong_AsLong(entered));
  Py_RETURN_NONE;
}

static PyObject* set_batch(PyObject* self, PyObject* args) {
  (void)self;
  long long batch = 0;
  if (!PyArg_ParseTuple(args, "L", &batch)) return NULL;
  Call* call = xsp_call_innermost();
  if (call != NULL && call->level == XSP_LEVEL_MODEL) {
    xsp_span_int(&call->span, batch_key, batch);
  }
  Py_RETURN_NONE;
}

static PyObject* know_module(PyObject* self, PyObject* args) {
  (void)self;
  PyObject* object = NULL;
  const char* path = NULL;
  const char* type = NULL;
  int is_part = 0;
  PyObject* more = NULL;
  if (!PyArg_ParseTuple(args, "Ossp|O", &object, &path, &type, &is_part, &more)) return NULL;
  Module module = {object, 0, 0, 0, PyTuple_GetSlice(args, 1, PyTuple_Size(args))};
  if (module.key == NULL) return NULL;
  const int is_as_before = xsp_module_take_over(&module);
  if (!is_as_before) {
    const char* name = *path != '\0' ? path : type;
    if (!is_part) module.model_site = xsp_intern_site(XSP_LEVEL_MODEL, name, type);
    module.layer_site = xsp_new_site(XSP_LEVEL_LAYER, name, type);
    module.owner = xsp_owner_new(path, type, XSP_PHASE_FORWARD);
    xsp_site_attribute(module.layer_site, "phase", xsp_phase_name(XSP_PHASE_FORWARD));
  }
  if (xsp_module_add(module) != 0) {
    Py_DECREF(module.key);
    return PyErr_NoMemory();
  }
  if (is_as_before) Py_RETURN_NONE;
  return Py_BuildValue("II", module.model_site, module.layer_site);
}

static PyObject* know_replica(PyObject* self, PyObject* args) {
  (void)self;
  PyObject* replica = NULL;
  PyObject* object = NULL;
  if (!PyArg_ParseTuple(args, "OO", &replica, &object)) return NULL;
  return PyBool_FromLong(xsp_module_replicate(replica, object));
}

static PyObject* is_known(PyObject* self, PyObject* object) {
  (void)self;
  return PyBool_FromLong(xsp_module_find(object) != NULL);
}

static PyObject* forget_module(PyObject* self, PyObject* address) {
  (void)self;
  xsp_module_remove(PyLong_AsVoidPtr(address));
  if (PyErr_Occurred()) return NULL;
  Py_RETURN_NONE;
}

static PyObject* know_phase(PyObject* self, PyObject* args) {
  (void)self;
  const char* name = NULL;
  const char* phase = NULL;
  if (!PyArg_ParseTuple(args, "ss", &name, &phase)) return NULL;
  const uint32_t number = xsp_phase_number(phase);
  const uint32_t site = xsp_intern_site(XSP_LEVEL_APPLICATION, name, "phase");
  xsp_site_attribute(site, "phase", phase);
  /* The optimiser's name identifies its operators; other operators outside of modules share an
   * owner. */
  const int is_named = number == XSP_PHASE_OPTIMIZER;
  return Py_BuildValue("II", site,
                       xsp_owner_new(is_named ? name : "", is_named ? name : "", number));
}

static PyObject* enter_phase(PyObject* self, PyObject* args) {
  (void)self;
  unsigned int site = 0;
  unsigned int owner = 0;
  if (!PyArg_ParseTuple(args, "II", &site, &owner)) return NULL;
  Call* call = xsp_call_open(XSP_LEVEL_APPLICATION, site, owner);
  if (call == NULL) Py_RETURN_FALSE;
  /* Modules that prepare data, or are called again for the backward pass, are no models; modules
   * that an optimiser calls for its loss are models. */
  call->is_inner = xsp_owner_phase(owner) != XSP_PHASE_OPTIMIZER;
  Py_RETURN_TRUE;
}

static PyObject* know_launch(PyObject* self, PyObject* args) {
  (void)self;
  const char* name = NULL;
  const char* type = NULL;
  const char* path = NULL;
  const char* owner_type = NULL;
  const char* phase = NULL;
  if (!PyArg_ParseTuple(args, "sssss", &name, &type, &path, &owner_type, &phase)) return NULL;
  const uint32_t site = xsp_new_site(XSP_LEVEL_LAYER, name, type);
  xsp_site_attribute(site, "phase", phase);
  const uint32_t owner = xsp_owner_new(path, owner_type, xsp_phase_number(phase));
  return Py_BuildValue("KI", (unsigned long long)site << 32 | owner, site);
}

static PyObject* enter_launch(PyObject* self, PyObject* handle) {
  (void)self;
  if (!xsp_is_recorded(XSP_LEVEL_LAYER)) Py_RETURN_FALSE;
  const unsigned long long both = PyLong_AsUnsignedLongLong(handle);
  Call* call = xsp_call_open(XSP_LEVEL_LAYER, (uint32_t)(both >> 32), (uint32_t)both);
  return PyBool_FromLong(call != NULL);
}

static PyObject* name_with(PyObject* self, PyObject* function) {
  (void)self;
  xsp_name_modules_with(function);
  Py_RETURN_NONE;
}

static PyObject* caller(PyObject* self, PyObject* args) {
  (void)self;
  PyObject* call = NULL;
  PyObject* note = NULL;
  if (!PyArg_ParseTuple(args, "OO", &call, &note)) return NULL;
  return xsp_caller_new(call, note);
}

static PyObject* observe(PyObject* self, PyObject* args) {
  (void)self;
  const char* library = NULL;
  PyObject* tensor_type = NULL;
  PyObject* tensor = NULL;
  unsigned long long addresses[XSP_EXAMPLES] = {0};
  if (!PyArg_ParseTuple(args, "|sOOKKK", &library, &tensor_type, &tensor, &addresses[0],
                        &addresses[1], &addresses[2])) {
    return NULL;
  }
  const void* tensors[XSP_EXAMPLES];
  for (size_t i = 0; i < XSP_EXAMPLES; ++i) tensors[i] = (const void*)(uintptr_t)addresses[i];
  if (tensor != NULL) xsp_arguments_learn(tensor_type, tensor, tensors[0]);
  const char* why = library != NULL ? xsp_observer_prepare(library, tensors) : xsp_observer_check();
  if (why == NULL) Py_RETURN_NONE;
  return PyUnicode_FromString(why);
}

static PyObject* observes_shapes(PyObject* self, PyObject* unused) {
  (void)self;
  (void)unused;
  return PyBool_FromLong(xsp_observer_has_shapes());
}

static PyObject* now_ns(PyObject* self, PyObject* unused) {
  (void)self;
  (void)unused;
  return PyLong_FromLongLong(xsp_now_ns());
}

static PyObject* emit(PyObject* self, PyObject* args) {
  (void)self;
  unsigned int site = 0;
  unsigned int thread = 0;
  long long start = 0;
  long long batch = 0;
  long long end = 0;
  if (!PyArg_ParseTuple(args, "IL|LLI", &site, &start, &batch, &end, &thread)) return NULL;
  const xsp_value value = {batch_key, XSP_VALUE_INT, {batch}};
  xsp_complete_span span = {0};
  span.values = &value;
  span.value_count = batch > 0 ? 1 : 0;
  span.struct_size = sizeof span;
  span.site_id = site;
  span.start_ns = start;
  span.duration_ns = (end > 0 ? end : xsp_now_ns()) - start;
  span.thread = thread;
  xsp_emit(&span);
  Py_RETURN_NONE;
}

static PyObject* enter_model(PyObject* self, PyObject* unused) {
  (void)self;
  (void)unused;
  return PyLong_FromVoidPtr((void*)xsp_model_enter());
}

static PyObject* leave_own_model(PyObject* self, PyObject* entered) {
  (void)self;
  xsp_model_leave((uintptr_t)PyLong_AsVoidPtr(entered));
  if (PyErr_Occurred()) return NULL;
  Py_RETURN_NONE;
}

static PyObject* site(PyObject* self, PyObject* args) {
  (void)self;
  unsigned int level = 0;
  const char* name = NULL;
  const char* type = NULL;
  int is_new = 0;
  if (!PyArg_ParseTuple(args, "Isz|p", &level, &name, &type, &is_new)) return NULL;
  return PyLong_FromUnsignedLong(is_new ? xsp_new_site(level, name, type)
                                        : xsp_intern_site(level, name, type));
}

static PyObject* site_attribute(PyObject* self, PyObject* args) {
  (void)self;
  unsigned int id = 0;
  const char* key = NULL;
  const char* value = NULL;
  if (!PyArg_ParseTuple(args, "Iss", &id, &key, &value)) return NULL;
  xsp_site_attribute(id, key, value);
  Py_RETURN_NONE;
}

static PyObject* site_counter(PyObject* self, PyObject* args) {
  (void)self;
  unsigned int id = 0;
  const char* key = NULL;
  double value = 0;
  if (!PyArg_ParseTuple(args, "Isd", &id, &key, &value)) return NULL;
  xsp_site_counter(id, key, value);
  Py_RETURN_NONE;
}

static PyObject* is_recorded(PyObject* self, PyObject* args) {
  (void)self;
  unsigned int level = 0;
  if (!PyArg_ParseTuple(args, "I", &level)) return NULL;
  return PyBool_FromLong(xsp_is_recorded(level));
}

static PyObject* step(PyObject* self, PyObject* args) {
  (void)self;
  unsigned int kind = XSP_STEP_MARK;
  if (!PyArg_ParseTuple(args, "|I", &kind)) return NULL;
  xsp_step_end(kind);
  Py_RETURN_NONE;
}

static PyObject* start(PyObject* self, PyObject* args) {
  (void)self;
  const char* path = NULL;
  unsigned int levels = 0;
  if (!PyArg_ParseTuple(args, "sI", &path, &levels)) return NULL;
  if (xsp_is_watched()) Py_RETURN_FALSE;
  xsp_options options = {0};
  options.struct_size = sizeof options;
  options.path = path;
  options.levels = levels;
  const int error = xsp_start(&options);
  if (error == 0) {
    xsp_observer_follow();
    Py_RETURN_TRUE;
  }
  if (error == EALREADY) Py_RETURN_FALSE;
  errno = error;
  return PyErr_SetFromErrnoWithFilename(PyExc_OSError, path);
}

static PyObject* stop(PyObject* self, PyObject* unused) {
  (void)self;
  (void)unused;
  const int error = xsp_stop();
  xsp_observer_follow();
  if (error == 0) Py_RETURN_NONE;
  errno = error;
  return PyErr_SetFromErrno(PyExc_OSError);
}

/* Returns the function's answer: the site, negative if the instruction runs others inside itself.
 */
static XplaneSite site_of_instruction(void* function, int64_t program_id, XplaneText module,
                                      XplaneText instruction) {
  XplaneSite site = {0, 0};
  PyObject* answer =
      PyObject_CallFunction(function, "Ls#s#", (long long)program_id, module.at,
                            (Py_ssize_t)module.size, instruction.at, (Py_ssize_t)instruction.size);
  const long long number = answer == NULL ? 0 : PyLong_AsLongLong(answer);
  Py_XDECREF(answer);
  PyErr_Clear(); /* the name is no text: the instruction is left out */
  site.is_control = number < 0;
  site.site = (uint32_t)(number < 0 ? -number : number);
  return site;
}

static PyObject* emit_xplane(PyObject* self, PyObject* args) {
  (void)self;
  XplaneAnchor anchors[64];
  const char* record = NULL;
  Py_ssize_t size = 0;
  PyObject* list = NULL;
  PyObject* function = NULL;
  if (!PyArg_ParseTuple(args, "y#OO", &record, &size, &list, &function)) return NULL;
  size_t count = 0;
  for (; count < sizeof anchors / sizeof *anchors; ++count) {
    PyObject* item = PySequence_GetItem(list, (Py_ssize_t)count);
    if (item == NULL) break;
    long long times[3];
    unsigned int thread = 0;
    const int is_good = PyArg_ParseTuple(item, "ILLL", &thread, &times[0], &times[1], &times[2]);
    Py_DECREF(item);
    if (!is_good) return NULL;
    anchors[count] = (XplaneAnchor){thread, times[0], times[1], times[2]};
  }
  PyErr_Clear(); /* the end of the list */
  const int64_t emitted = xsp_xplane_emit((const uint8_t*)record, (size_t)size, anchors, count,
                                          site_of_instruction, function);
  return PyLong_FromLongLong(emitted);
}

static PyObject* follow_with(PyObject* self, PyObject* function) {
  (void)self;
  xsp_follow_models_with(function);
  Py_RETURN_NONE;
}

static PyObject* join(PyObject* self, PyObject* unused) {
  (void)self;
  (void)unused;
  xsp_join();
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"enter", enter, METH_O,
     "enter(module) -> 0: not recorded; 1: leave() is to be called; 2, 3, 4: it is the outermost "
     "of\n"
     "its thread, leave_model() is to be called with this; 2: set_batch may be called."},
    {"enter_with", enter_with, METH_VARARGS,
     "enter_with(module, arguments, named) -> as enter, of a module of torch's."},
    {"leave", leave, METH_NOARGS, "leave(): the innermost call that is open on this thread ends."},
    {"leave_model", leave_model, METH_O, "leave_model(entered): the outermost module has ended."},
    {"set_batch", set_batch, METH_VARARGS, "set_batch(n): of the model that was just entered."},
    {"know_module", know_module, METH_VARARGS,
     "know_module(module, path, type, is_part, more=None) -> its sites as the model and as a "
     "layer. "
     "A\n"
     "part is no model even where it is the outermost; its first site is 0. None: the sites, with\n"
     "their facts, are those of an earlier object, now gone, of which all this was the same."},
    {"know_replica", know_replica, METH_VARARGS,
     "know_replica(replica, module) -> whether it is that module as a layer, see entering.h."},
    {"is_known", is_known, METH_O, "is_known(module) -> bool"},
    {"forget_module", forget_module, METH_O, "forget_module(address): it is no more."},
    {"know_phase", know_phase, METH_VARARGS,
     "know_phase(name, phase) -> (site, owner), for enter_phase; made once for each."},
    {"enter_phase", enter_phase, METH_VARARGS,
     "enter_phase(site, owner) -> whether leave() is to be called."},
    {"caller", caller, METH_VARARGS,
     "caller(call, note) -> what takes a method's place: it calls `call` with what it is given,\n"
     "between enter and leave; `note` is called with the arguments of each outermost call that is\n"
     "recorded. None where this Python cannot have it."},
    {"know_launch", know_launch, METH_VARARGS,
     "know_launch(name, type, path, class, phase) -> (handle for enter_launch, site): what a "
     "compiled\n"
     "program launches for the module with this path and class; '' if it is not one module."},
    {"enter_launch", enter_launch, METH_O,
     "enter_launch(handle) -> whether leave() is to be called."},
    {"name_with", name_with, METH_O,
     "name_with(function): what is called with a module that is not known yet."},
    {"observe", observe, METH_VARARGS,
     "observe(library, tensor, tensor, tensor): looks at the operators that this thread calls "
     "now,\n"
     "to understand what libtorch_cpu tells of them (see observer.h; addresses, 0: not known).\n"
     "observe(): understands it, and observes operators from now on.\n"
     "Both return None, or why it cannot be done."},
    {"observes_shapes", observes_shapes, METH_NOARGS, "observes_shapes() -> bool"},
    {"join", join, METH_NOARGS,
     "join(): a process that a fork made is recorded from here on, not from its first span."},
    {"now_ns", now_ns, METH_NOARGS, "now_ns() -> the trace's clock, as UNIX time."},
    {"emit", emit, METH_VARARGS,
     "emit(site, start_ns, batch=0, end_ns=0, thread=0): a span from then until end_ns, or now,\n"
     "around that many inputs, on this thread or on the one with that number."},
    {"enter_model", enter_model, METH_NOARGS,
     "enter_model() -> what leave_own_model is to be called with: the program calls a model."},
    {"leave_own_model", leave_own_model, METH_O, "leave_own_model(entered): on any thread."},
    {"emit_xplane", emit_xplane, METH_VARARGS,
     "emit_xplane(record, anchors, site_of) -> spans of instructions that XLA executed, see "
     "xplane.h;\n"
     "-1: none can be had. anchors: (thread, before_ns, inside_ns, after_ns), 64 at most;\n"
     "site_of(program_id, module, instruction) -> its site, negative if others run inside it."},
    {"follow_with", follow_with, METH_O,
     "follow_with(function): what is called, with whether layers are recorded, before a model of "
     "the\n"
     "outermost call begins."},
    {"site", site, METH_VARARGS,
     "site(level, name, type, is_new=False) -> id of the site with these, or of a new one."},
    {"site_attribute", site_attribute, METH_VARARGS, "site_attribute(site, key, text)"},
    {"site_counter", site_counter, METH_VARARGS, "site_counter(site, key, number)"},
    {"step", step, METH_VARARGS,
     "step(kind=3): a step of the main loop has ended; kind 2: an optimiser's, 3: the program's "
     "own."},
    {"start", start, METH_VARARGS,
     "start(path, levels) -> True; False if this process is being recorded already."},
    {"stop", stop, METH_NOARGS, "stop(): ends the recording; its file is complete."},
    {"is_recorded", is_recorded, METH_VARARGS, "is_recorded(level) -> bool, now."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT,
                                    "xsp._native",
                                    "Spans, from Python.",
                                    -1,
                                    methods,
                                    NULL,
                                    NULL,
                                    NULL,
                                    NULL};

PyMODINIT_FUNC PyInit__native(void) {
  batch_key = xsp_intern_key("batch");
  autograd_site = xsp_intern_site(XSP_LEVEL_APPLICATION, "backward", "autograd thread");
  return PyModule_Create(&module);
}
