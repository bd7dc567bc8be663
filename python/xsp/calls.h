/* The calls that are open on each thread: of modules (from Python), of operators and ranges (from
 * the framework's own observers).
 *
 * Each call has an owner, which tells what part of the program it belongs to: a module in one
 * phase of the training, or nothing. What is called inside it inherits the owner.
 *
 * Threads: a call is opened, and looked at, by its thread alone; it may be closed by another.
 * Nothing here needs the interpreter's lock. */
#ifndef XSP_PYTHON_XSP_CALLS_H_
#define XSP_PYTHON_XSP_CALLS_H_

#include <stdint.h>

#include "xsp/xsp.h"

enum { XSP_PHASE_NONE, XSP_PHASE_FORWARD, XSP_PHASE_BACKWARD, XSP_PHASE_OPTIMIZER, XSP_PHASE_DATA };

typedef struct Call {
  /* First, and never changed: the framework is given a call as its observer's context, and deletes
   * it through this table, which does nothing. */
  void (*const* table)(void*);
  xsp_span span;
  uint32_t level;
  uint32_t instance; /* see xsp_layer_mark */
  uint32_t owner;
  /* Of an operator, see operators.h; else 0. */
  uint64_t key;
  uint64_t hash;
  uint64_t outputs;
  /* Tells apart the calls in one call of a model, and is the same in the next; 0: not known. */
  uint64_t position;
  uint32_t inner_calls; /* so far */
  uint32_t is_open;
  uint16_t is_pair;  /* the call below it closes with it */
  uint16_t is_inner; /* modules called in it are layers: it is a module, or inside one */
} Call;

/* Begins a span of the site, unless its level is not recorded: the call is then there without one.
 * NULL if too many are open: what follows is not recorded. */
Call* xsp_call_open(uint32_t level, uint32_t site_id, uint32_t owner);
/* NULL is allowed. Calls that close before those inside them leave when these have gone. */
void xsp_call_close(Call* call);
/* The innermost open call of this thread, or NULL. */
Call* xsp_call_innermost(void);
/* Closes every call of this thread from the innermost down to the one at this depth, from 1. */
void xsp_call_close_to(uint32_t depth);
/* The open calls of this thread. */
uint32_t xsp_call_depth(void);

/* A model is called on this thread: from now on positions count from this one (not 0). */
void xsp_call_positions_from(uint64_t position);
/* Threads that a framework owns (that on which the engine of backward passes drives a device) have
 * no span around what they run. From now on this one is busy with a piece of work, until the last
 * of the calls that are opened on it has closed. */
void xsp_thread_is_busy(void);
/* The work is done: a span of this site, level application, on each thread that was busy. */
void xsp_emit_busy_threads(uint32_t site_id);

/* ---- Owners ---- */

/* A new owner: a module with this path and class, or what else has a phase. 0 if there are too
 * many: it is the owner of what belongs to nothing. The texts are copied. */
uint32_t xsp_owner_new(const char* path, const char* type, uint32_t phase);
/* The same module in its backward phase, and its site there; made at first mention. */
uint32_t xsp_owner_backward(uint32_t owner, uint32_t* site_id);
uint32_t xsp_owner_phase(uint32_t owner);
const char* xsp_phase_name(uint32_t phase); /* NULL: none */
uint32_t xsp_phase_number(const char* name);

/* The path of a module; NULL: it is none. */
const char* xsp_owner_path(uint32_t owner);
/* Tells of the site what its owner is. */
void xsp_owner_describe(uint32_t owner, uint32_t site);

#endif /* XSP_PYTHON_XSP_CALLS_H_ */
