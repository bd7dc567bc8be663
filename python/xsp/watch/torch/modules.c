#include "modules.h"

#include <stddef.h>
#include <stdlib.h>

/* Open addressing: a module lies at its own place or behind it, with no gap in between. */
static Module* modules;
static size_t size; /* a power of two, or 0 */
static size_t used;

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

int xsp_module_add(Module module) {
  if (2 * (used + 1) > size && grow() != 0) return -1;
  Module* place = &modules[look_for(module.object)];
  if (place->object == NULL) ++used;
  *place = module;
  return 0;
}

/* Removes the module and moves later entries up where they would lie behind a gap. */
void xsp_module_remove(const void* object) {
  if (size == 0) return;
  size_t gap = look_for(object);
  if (modules[gap].object == NULL) return;
  modules[gap].object = NULL;
  --used;
  for (size_t at = (gap + 1) & (size - 1); modules[at].object != NULL; at = (at + 1) & (size - 1)) {
    const size_t own = place_of(modules[at].object);
    if (((at - own) & (size - 1)) < ((at - gap) & (size - 1))) continue;
    modules[gap] = modules[at];
    modules[at].object = NULL;
    gap = at;
  }
}
