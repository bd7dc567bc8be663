/* The program's objects whose calls are recorded, by address.
 *
 * A program may make a module at each call, in `forward`. The sites and the owner of an object that
 * is gone serve the next one that is like it, so that both are one layer, and the tables of sites
 * stay small.
 *
 * The interpreter's lock guards all of it. */
#ifndef XSP_PYTHON_XSP_WATCH_TORCH_MODULES_H_
#define XSP_PYTHON_XSP_WATCH_TORCH_MODULES_H_

#include <stdint.h>

#include "python.h"

typedef struct Module {
  const void* object; /* NULL: none */
  uint32_t model_site;
  uint32_t layer_site;
  uint32_t owner;
  PyObject*
      key; /* objects with equal ones are alike, owned; NULL: a replica, with what another has */
} Module;

/* Returns the module at this address, or NULL. The pointer is valid until the next change. */
const Module* xsp_module_find(const void* object);
/* Takes the key's reference. Returns 0, or -1 if there is no memory. */
int xsp_module_add(Module module);
/* Gives the module the sites and the owner of a removed one with an equal key: of several the
 * oldest, so that modules that are made in the same order at each call have the same ones. Returns
 * 0 if there is none. It leaves no error set. */
int xsp_module_take_over(Module* module);
void xsp_module_remove(const void* object);

#endif /* XSP_PYTHON_XSP_WATCH_TORCH_MODULES_H_ */
