/* The open calls on each thread: calls of modules (from Python), and of operators and ranges (from
 * the framework's own observers).
 *
 * Each call has an owner, which tells the part of the program to which it belongs: a module in one
 * phase of the training, or nothing. Calls inside it inherit the owner.
 *
 * Only its thread opens a call and looks at it; another thread may close it. Nothing here needs the
 * interpreter's lock.
 *
 * A node of the autograd graph belongs to the module that was open when its number was next:
 * operators tell the number that their node will get. Each thread numbers its own nodes, so the
 * key has the forward thread, too; torch keeps it behind the operator's outputs, at a place that
 * is found by looking. Where it is not found, the number alone is the key. Refused: hooks on
 * tensors, which keep graphs alive; and starting the autograd engine at import to learn the
 * threads' numbers, because it counts the CUDA devices and so breaks programs that fork
 * afterwards. A thread of the autograd engine has one span for each backward pass, given when
 * the pass has ended, because its begin is not reported. */
#ifndef XSP_PYTHON_XSP_CALLS_H_
#define XSP_PYTHON_XSP_CALLS_H_

#include <stdint.h>

#include "xsp/xsp.h"

enum { XSP_PHASE_NONE, XSP_PHASE_FORWARD, XSP_PHASE_BACKWARD, XSP_PHASE_OPTIMIZER, XSP_PHASE_DATA };

typedef struct Call {
  /* First, and never changed: the framework gets a call as its observer's context, and deletes it
   * through this table, which does nothing. */
  void (*const* table)(void*);
  xsp_span span;
  uint32_t level;
  uint32_t instance; /* see xsp_layer_mark */
  uint32_t owner;
  /* For an operator, see operators.h; otherwise 0. */
  uint64_t key;
  uint64_t hash;
  uint64_t outputs;
  /* Distinguishes the calls within one model call; it is the same in the next model call. 0: not
   * known. */
  uint64_t position;
  uint32_t inner_calls; /* number of calls inside it so far */
  uint32_t is_open;
  uint16_t is_pair;  /* the call below it closes together with it */
  uint16_t is_inner; /* modules called in it are layers: it is a module, or is inside one */
} Call;

/* Opens a call and begins a span of the site. If the site's level is not recorded, the call has no
 * span. Returns NULL if too many calls are open: the call is not recorded then. */
Call* xsp_call_open(uint32_t level, uint32_t site_id, uint32_t owner);
/* `call` may be NULL. A call that closes before its inner calls leaves the stack when these have
 * gone. */
void xsp_call_close(Call* call);
/* Returns the innermost open call of this thread, or NULL. */
Call* xsp_call_innermost(void);
/* Closes every call of this thread from the innermost one down to the one at this depth, counted
 * from 1. */
void xsp_call_close_to(uint32_t depth);
/* Returns the number of open calls of this thread. */
uint32_t xsp_call_depth(void);

/* A model is called on this thread: positions count from this one (not 0) from now on. */
void xsp_call_positions_from(uint64_t position);
/* Threads that a framework owns (for example the one on which the engine of backward passes drives
 * a device) have no span around their work. This function marks the thread as busy with a piece of
 * work, until the last call that is opened on it has closed. */
void xsp_thread_is_busy(void);
/* The work is done: emits a span of this site, level application, on each thread that was busy. */
void xsp_emit_busy_threads(uint32_t site_id);

/* ---- Owners ---- */

/* Makes a new owner: a module with this path and class, or another part with a phase. Returns 0,
 * the owner of calls that belong to nothing, if there are too many. The texts are copied. */
uint32_t xsp_owner_new(const char* path, const char* type, uint32_t phase);
/* Returns the owner of the same module in its backward phase, and its site there. They are made at
 * the first request. */
uint32_t xsp_owner_backward(uint32_t owner, uint32_t* site_id);
uint32_t xsp_owner_phase(uint32_t owner);
const char* xsp_phase_name(uint32_t phase); /* NULL: none */
uint32_t xsp_phase_number(const char* name);

/* Returns the path of a module; NULL: the owner is no module. */
const char* xsp_owner_path(uint32_t owner);
/* Adds the owner's phase to the site's facts. */
void xsp_owner_describe(uint32_t owner, uint32_t site);

#endif /* XSP_PYTHON_XSP_CALLS_H_ */
