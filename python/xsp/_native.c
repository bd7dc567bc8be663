/* xsp._native: the calls of xsp.h that Python code makes for every span, at the price of a call.
 *
 * Built against the stable ABI: one library serves every Python from 3.8 on.
 *
 * Spans that nest strictly on a thread (calls of modules) are begun and ended in pairs: the library
 * keeps them on a stack of the thread. Others (generators, coroutines) are emitted with their
 * times.
 */
#define Py_LIMITED_API 0x03080000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "xsp/xsp.h"

#define DEPTH_MAX 1024

typedef struct Stack {
  uint32_t depth; /* may exceed DEPTH_MAX: those beyond are not recorded */
  xsp_span spans[DEPTH_MAX];
} Stack;
static __thread Stack stack;

static uint32_t iteration_key;
static int64_t iterations; /* of the outermost modules; the interpreter's lock guards it */

static xsp_span* push(uint32_t level, uint32_t site_id) {
  const uint32_t at = stack.depth++;
  if (at >= DEPTH_MAX) return NULL;
  xsp_site site = {NULL, NULL, level, site_id};
  stack.spans[at] = site_id == 0 ? (xsp_span){0, 0, 0, 0} : xsp_begin(&site);
  return &stack.spans[at];
}

static PyObject* begin_module(PyObject* self, PyObject* args) {
  (void)self;
  unsigned int model_site = 0;
  unsigned int layer_site = 0;
  if (!PyArg_ParseTuple(args, "II", &model_site, &layer_site)) return NULL;
  if (stack.depth != 0) {
    push(XSP_LEVEL_LAYER, layer_site);
  } else {
    if (iteration_key == 0) iteration_key = xsp_intern_key("iteration");
    xsp_span* span = push(XSP_LEVEL_MODEL, model_site);
    xsp_span_int(span, iteration_key, iterations++);
  }
  Py_RETURN_NONE;
}

static PyObject* end(PyObject* self, PyObject* unused) {
  (void)self;
  (void)unused;
  if (stack.depth > 0 && --stack.depth < DEPTH_MAX) xsp_end(&stack.spans[stack.depth]);
  Py_RETURN_NONE;
}

static PyObject* depth(PyObject* self, PyObject* unused) {
  (void)self;
  (void)unused;
  return PyLong_FromUnsignedLong(stack.depth);
}

static PyObject* now_ns(PyObject* self, PyObject* unused) {
  (void)self;
  (void)unused;
  return PyLong_FromLongLong(xsp_now_ns());
}

static PyObject* emit(PyObject* self, PyObject* args) {
  (void)self;
  unsigned int site = 0;
  long long start = 0;
  if (!PyArg_ParseTuple(args, "IL", &site, &start)) return NULL;
  xsp_complete_span span = {0};
  span.struct_size = sizeof span;
  span.site_id = site;
  span.start_ns = start;
  span.duration_ns = xsp_now_ns() - start;
  xsp_emit(&span);
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

static PyMethodDef methods[] = {
    {"begin_module", begin_module, METH_VARARGS,
     "begin_module(model_site, layer_site): a module is called; the outermost one of its thread\n"
     "is the model, and counts an iteration."},
    {"end", end, METH_NOARGS, "end(): the innermost call that was begun on this thread ends."},
    {"depth", depth, METH_NOARGS, "depth() -> calls that are open on this thread."},
    {"now_ns", now_ns, METH_NOARGS, "now_ns() -> the trace's clock, as UNIX time."},
    {"emit", emit, METH_VARARGS, "emit(site, start_ns): a span from then until now."},
    {"site", site, METH_VARARGS,
     "site(level, name, type, is_new=False) -> id of the site with these, or of a new one."},
    {"site_attribute", site_attribute, METH_VARARGS, "site_attribute(site, key, text)"},
    {"site_counter", site_counter, METH_VARARGS, "site_counter(site, key, number)"},
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

PyMODINIT_FUNC PyInit__native(void) { return PyModule_Create(&module); }
