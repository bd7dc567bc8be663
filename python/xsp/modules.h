/* Objects of the program's whose calls are recorded, by their address.
 *
 * Threads: the interpreter's lock guards all of it. */
#ifndef XSP_PYTHON_XSP_MODULES_H_
#define XSP_PYTHON_XSP_MODULES_H_

#include <stdint.h>

typedef struct Module {
  const void* object; /* NULL: none */
  uint32_t model_site;
  uint32_t layer_site;
  uint32_t owner;
} Module;

/* The module at this address, or NULL; valid until the next change. */
const Module* xsp_module_find(const void* object);
/* 0, or -1 where there is no memory. */
int xsp_module_add(Module module);
void xsp_module_remove(const void* object);

#endif /* XSP_PYTHON_XSP_MODULES_H_ */
