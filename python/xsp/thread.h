/* What each thread keeps: the calls that are open on it (calls.h), and what those who watch it
 * remember of it. It is reached by one load relative to the thread's register: the default for a
 * library that is loaded late is a call into the loader, at each of a dozen places of a span. The
 * one pointer fits into the space that the C library sets aside for such libraries. */
#ifndef XSP_PYTHON_XSP_THREAD_H_
#define XSP_PYTHON_XSP_THREAD_H_

#include <stddef.h>
#include <stdint.h>

#include "calls.h"

#define XSP_DEPTH_MAX 1024u
#define XSP_KNOWN_SITES 16384u /* a power of two */

/* See operators.h. */
typedef struct KnownSite {
  uint64_t hash;    /* of all that tells it apart; 0: none */
  uint64_t outputs; /* see xsp_values_hash; 0: not known */
  uint32_t site;
  uint32_t is_varied; /* of a position: it had several sites */
} KnownSite;

/* Of the thread that has it now; all zero when it gets it. */
typedef struct Now {
  uint32_t depth;
  uint32_t outer_calls; /* of no other call, since the position below was set */
  uint64_t position;
  /* In an outermost module, recorded or not: what is called in it is no model, even where recording
   * begins meanwhile. */
  uint32_t is_in_module;
  uint32_t is_in_model;   /* that the program says it calls */
  uint64_t torch_number;  /* as torch numbers threads, from 1; 0: not asked yet */
  uint64_t kind;          /* of the model that is being called, or was last: operators.h */
  uint32_t calls_of_kind; /* before it */
  uint32_t surprises;     /* operators that were not as in calls before */
  struct Tape* tape;      /* of the call that is going on; NULL: none */
  uint32_t next_on_tape;
} Now;

/* Never freed: a range may be closed by another thread after its own has gone. Threads that come
 * later take the blocks of those that have. */
typedef struct Thread {
  Now now;
  uint32_t instances;
  uint32_t id; /* the system's */
  struct Thread* next_free;
  struct Thread* next;  /* of all */
  int64_t busy_from_ns; /* see xsp_thread_is_busy; 0: it is not */
  int64_t busy_until_ns;
  struct Tape* tapes;
  Call calls[XSP_DEPTH_MAX];
  KnownSite sites[XSP_KNOWN_SITES];
} Thread;

extern __thread Thread* xsp_thread_here __attribute__((tls_model("initial-exec")));
Thread* xsp_thread_take(void);

/* The calling thread's; NULL: there is no memory. */
static inline Thread* xsp_this_thread(void) {
  Thread* thread = xsp_thread_here;
  return __builtin_expect(thread != NULL, 1) ? thread : xsp_thread_take();
}

/* The innermost open call, or NULL. */
static inline Call* xsp_innermost_of(Thread* thread) {
  return thread->now.depth > 0 ? &thread->calls[thread->now.depth - 1] : NULL;
}

/* The position of the next call that is opened. */
static inline uint64_t xsp_next_position_of(Thread* thread) {
  const Call* around = xsp_innermost_of(thread);
  uint64_t position = around == NULL ? thread->now.position : around->position;
  if (position == 0) return 0;
  position ^= around == NULL ? thread->now.outer_calls : around->inner_calls;
  position *= 0xd6e8feb86659fd93u;
  return (position ^ position >> 32) | 1u;
}

/* As xsp_call_open. */
Call* xsp_call_open_on(Thread* thread, uint32_t level, uint32_t site_id, uint32_t owner);

#endif /* XSP_PYTHON_XSP_THREAD_H_ */
