/* The program's objects whose calls are recorded, by address.
 *
 * The interpreter's lock guards all of it. */
#ifndef XSP_PYTHON_XSP_WATCH_TORCH_MODULES_H_
#define XSP_PYTHON_XSP_WATCH_TORCH_MODULES_H_

#include <stdint.h>

typedef struct Module {
  const void* object; /* NULL: none */
  uint32_t model_site;
  uint32_t layer_site;
  uint32_t owner;
} Module;

/* Returns the module at this address, or NULL. The pointer is valid until the next change. */
const Module* xsp_module_find(const void* object);
/* Returns 0, or -1 if there is no memory. */
int xsp_module_add(Module module);
void xsp_module_remove(const void* object);

#endif /* XSP_PYTHON_XSP_WATCH_TORCH_MODULES_H_ */
