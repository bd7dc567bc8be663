#include "modules.h"

#include <stddef.h>
#include <stdlib.h>

/* Open addressing: a module lies at its own place or behind it, with no gap in between. */
static Module* modules;
static size_t size; /* a power of two, or 0 */
static size_t used;
static PyObject* removed; /* by key: a heap of what removed modules had */
static PyObject* heapq;

static size_t place_of(const void* object) {
  const uint64_t hash = (uint64_t)(uintptr_t)object * 0x9e3779b97f4a7c15u;
  return (size_t)(hash >> 20) & (size - 1);
}

static size_t look_for(const void* object) {
  size_t at = place_of(object);
  while (modules[at].object != NULL && modules[at].object != object) at = (at + 1) & (size - 1);
  return at;
}

const Module* xsp_module_find(const void* object) {
  if (size == 0) return NULL;
  const Module* module = &modules[look_for(object)];
  return module->object != NULL ? module : NULL;
}

static int grow(void) {
  Module* const before = modules;
  const size_t before_size = size;
  Module* const after = calloc(before_size == 0 ? 1024 : 2 * before_size, sizeof *after);
  if (after == NULL) return -1;
  modules = after;
  size = before_size == 0 ? 1024 : 2 * before_size;
  for (size_t i = 0; i < before_size; ++i) {
    if (before[i].object != NULL) modules[look_for(before[i].object)] = before[i];
  }
  free(before);
  return 0;
}

/* What cannot be kept is lost: the next module of this key has its own then. */
static void keep_for_another(const Module* module) {
  PyObject* one = Py_BuildValue("III", module->model_site, module->layer_site, module->owner);
  PyObject* kept = removed == NULL ? NULL : PyDict_GetItemWithError(removed, module->key);
  Py_XINCREF(kept);
  if (kept == NULL && removed != NULL) {
    kept = PyList_New(0);
    if (kept != NULL) PyDict_SetItem(removed, module->key, kept);
  }
  if (kept != NULL && one != NULL) {
    Py_XDECREF(PyObject_CallMethod(heapq, "heappush", "OO", kept, one));
  }
  Py_XDECREF(one);
  Py_XDECREF(kept);
  PyErr_Clear();
}

int xsp_module_take_over(Module* module) {
  if (heapq == NULL) heapq = PyImport_ImportModule("heapq");
  if (removed == NULL && heapq != NULL) removed = PyDict_New();
  PyObject* kept = removed == NULL ? NULL : PyDict_GetItemWithError(removed, module->key);
  int is_taken = 0;
  if (kept != NULL && PyList_Size(kept) > 0) {
    PyObject* one = PyObject_CallMethod(heapq, "heappop", "O", kept);
    is_taken = one != NULL && PyArg_ParseTuple(one, "III", &module->model_site, &module->layer_site,
                                               &module->owner);
    Py_XDECREF(one);
  }
  PyErr_Clear();
  return is_taken;
}

int xsp_module_add(Module module) {
  xsp_module_remove(module.object);
  if (2 * (used + 1) > size && grow() != 0) return -1;
  modules[look_for(module.object)] = module;
  ++used;
  return 0;
}

/* Removes the module and moves later entries up where they would lie behind a gap. */
void xsp_module_remove(const void* object) {
  if (size == 0) return;
  size_t gap = look_for(object);
  if (modules[gap].object == NULL) return;
  const Module gone = modules[gap];
  modules[gap].object = NULL;
  --used;
  for (size_t at = (gap + 1) & (size - 1); modules[at].object != NULL; at = (at + 1) & (size - 1)) {
    const size_t own = place_of(modules[at].object);
    if (((at - own) & (size - 1)) < ((at - gap) & (size - 1))) continue;
    modules[gap] = modules[at];
    modules[at].object = NULL;
    gap = at;
  }
  if (gone.key == NULL) return;
  keep_for_another(&gone);
  Py_DECREF(gone.key);
}
