#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "caller.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>
#include <structmember.h>

#include "entering.h"

/* Python's vectorcall protocol (PEP 590) is in the stable ABI only from 3.12 on, so its functions
 * are looked up: they are exported from 3.11 on. */
typedef PyObject* (*Vectorcall)(PyObject* callable, PyObject* const* args, size_t count,
                                PyObject* names);
#define MAY_CHANGE_BEFORE \
  ((size_t)1 << (8 * sizeof(size_t) - 1)) /* PY_VECTORCALL_ARGUMENTS_OFFSET */
#define HAS_VECTORCALL (1UL << 11)        /* Py_TPFLAGS_HAVE_VECTORCALL */
#define IS_METHOD (1UL << 17)             /* Py_TPFLAGS_METHOD_DESCRIPTOR */

static Vectorcall vectorcall;                                         /* PyObject_Vectorcall */
static PyObject* (*call_with_tuple)(PyObject*, PyObject*, PyObject*); /* PyVectorcall_Call */
static PyObject* method_type;                                         /* types.MethodType */
static PyObject* caller_type;

typedef struct Caller {
  PyObject_HEAD Vectorcall call_this;
  PyObject* call;
  PyObject* note;
  PyObject* attributes; /* its attributes, as functions have them */
} Caller;

static void note_arguments(Caller* caller, PyObject* const* args, size_t count, PyObject* names) {
  PyObject* done = vectorcall(caller->note, args + 1, count - 1, names);
  if (done == NULL) PyErr_Clear();
  Py_XDECREF(done);
}

/* Returns the number of arguments after the module. Arguments with names follow the others. */
static size_t count_of(size_t positional, PyObject* names) {
  return positional - 1 + (names == NULL ? 0 : (size_t)PyTuple_Size(names));
}

static PyObject* call_module(PyObject* callable, PyObject* const* args, size_t count,
                             PyObject* names) {
  Caller* caller = (Caller*)callable;
  const size_t positional = count & ~MAY_CHANGE_BEFORE;
  if (positional == 0) return vectorcall(caller->call, args, count, names);
  const int entered = xsp_module_enter(args[0], args + 1, count_of(positional, names));
  if (entered == XSP_IS_MODEL) note_arguments(caller, args, positional, names);
  PyObject* result = vectorcall(caller->call, args, count, names);
  xsp_module_leave(entered);
  return result;
}

static PyObject* bind(PyObject* self, PyObject* object, PyObject* type) {
  (void)type;
  if (object != NULL && object != Py_None) {
    return PyObject_CallFunctionObjArgs(method_type, self, object, NULL);
  }
  Py_INCREF(self);
  return self;
}

static void delete_caller(PyObject* self) {
  Caller* caller = (Caller*)self;
  Py_XDECREF(caller->call);
  Py_XDECREF(caller->note);
  Py_XDECREF(caller->attributes);
  PyObject* type = (PyObject*)Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Caller, call_this), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(Caller, attributes), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static int is_possible(void) {
  void* const one = dlsym(RTLD_DEFAULT, "PyObject_Vectorcall");
  void* const other = dlsym(RTLD_DEFAULT, "PyVectorcall_Call");
  memcpy(&vectorcall, &one, sizeof vectorcall);
  memcpy(&call_with_tuple, &other, sizeof call_with_tuple);
  return vectorcall != NULL && call_with_tuple != NULL;
}

static PyObject* call_in_tuple(PyObject* self, PyObject* args, PyObject* names) {
  return call_with_tuple(self, args, names);
}

/* Returns a function's address in the way that ISO C allows. */
static void* address_of(void (*function)(void)) {
  void* address = NULL;
  memcpy(&address, &function, sizeof address);
  return address;
}

/* Returns 0 with an error set if it fails. */
static int make_type(void) {
  if (caller_type != NULL) return 1;
  PyObject* types = PyImport_ImportModule("types");
  if (types == NULL) return 0;
  method_type = PyObject_GetAttrString(types, "MethodType");
  Py_DECREF(types);
  if (method_type == NULL) return 0;
  PyType_Slot slots[] = {{Py_tp_dealloc, address_of((void (*)(void))delete_caller)},
                         {Py_tp_call, address_of((void (*)(void))call_in_tuple)},
                         {Py_tp_descr_get, address_of((void (*)(void))bind)},
                         {Py_tp_members, members},
                         {0, NULL}};
  PyType_Spec spec = {"xsp._native.Caller", sizeof(Caller), 0,
                      Py_TPFLAGS_DEFAULT | HAS_VECTORCALL | IS_METHOD, slots};
  caller_type = PyType_FromSpec(&spec);
  return caller_type != NULL;
}

PyObject* xsp_caller_new(PyObject* call, PyObject* note) {
  if (!is_possible()) Py_RETURN_NONE;
  if (!make_type()) return NULL;
  Caller* caller = PyObject_New(Caller, (PyTypeObject*)caller_type);
  if (caller == NULL) return NULL;
  caller->call_this = call_module;
  caller->attributes = NULL;
  Py_INCREF(call);
  caller->call = call;
  Py_INCREF(note);
  caller->note = note;
  return (PyObject*)caller;
}
