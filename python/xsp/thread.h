/* The data of each thread: its open calls (calls.h), and the memory of the code that observes it.
 * One load relative to the thread register reaches it. The default for a library that is loaded
 * late would be a call into the loader, at each of a dozen places of a span. The single pointer
 * fits into the space that the C library reserves for such libraries. */
#ifndef XSP_PYTHON_XSP_THREAD_H_
#define XSP_PYTHON_XSP_THREAD_H_

#include <stddef.h>
#include <stdint.h>

#include "calls.h"

#define XSP_DEPTH_MAX 1024u
#define XSP_KNOWN_SITES 16384u /* a power of two */

/* See operators.h. */
typedef struct KnownSite {
  uint64_t hash;    /* hash of everything that identifies it; 0: none */
  uint64_t outputs; /* see xsp_values_hash; 0: not known */
  uint32_t site;
  uint32_t is_varied; /* for a position: it had several sites */
} KnownSite;

/* Holds the state of the thread that owns the block now; it is all zero when the thread takes the
 * block. */
typedef struct Now {
  uint32_t depth;
  uint32_t outer_calls; /* number of outermost calls since `position` was set */
  uint64_t position;
  /* The thread is in an outermost module, recorded or not: modules called in it are no models, even
   * if the recording begins meanwhile. */
  uint32_t is_in_module;
  uint32_t is_in_model;   /* in a model that the program reports itself */
  uint64_t torch_number;  /* torch's own number of the thread, from 1; 0: not asked yet */
  uint64_t kind;          /* kind of the current or latest model call: operators.h */
  uint32_t calls_of_kind; /* number of earlier calls of this kind */
  uint32_t surprises;     /* operators that differed from those in earlier calls */
  struct Tape* tape;      /* tape of the current call; NULL: none */
  uint32_t next_on_tape;
} Now;

/* A Thread is never freed: another thread may close a range after the range's own thread has ended.
 * New threads take the blocks of ended ones. */
typedef struct Thread {
  Now now;
  uint32_t instances;
  uint32_t id; /* the system's id */
  struct Thread* next_free;
  struct Thread* next;  /* in the list of all threads */
  int64_t busy_from_ns; /* see xsp_thread_is_busy; 0: it is not */
  int64_t busy_until_ns;
  struct Tape* tapes;
  Call calls[XSP_DEPTH_MAX];
  KnownSite sites[XSP_KNOWN_SITES];
} Thread;

extern __thread Thread* xsp_thread_here __attribute__((tls_model("initial-exec")));
Thread* xsp_thread_take(void);

/* Returns the calling thread's data; NULL: there is no memory. */
static inline Thread* xsp_this_thread(void) {
  Thread* thread = xsp_thread_here;
  return __builtin_expect(thread != NULL, 1) ? thread : xsp_thread_take();
}

/* Returns the innermost open call, or NULL. */
static inline Call* xsp_innermost_of(Thread* thread) {
  return thread->now.depth > 0 ? &thread->calls[thread->now.depth - 1] : NULL;
}

/* Returns the position of the next call that is opened. */
static inline uint64_t xsp_next_position_of(Thread* thread) {
  const Call* around = xsp_innermost_of(thread);
  uint64_t position = around == NULL ? thread->now.position : around->position;
  if (position == 0) return 0;
  position ^= around == NULL ? thread->now.outer_calls : around->inner_calls;
  position *= 0xd6e8feb86659fd93u;
  return (position ^ position >> 32) | 1u;
}

/* Does the same as xsp_call_open. */
Call* xsp_call_open_on(Thread* thread, uint32_t level, uint32_t site_id, uint32_t owner);

#endif /* XSP_PYTHON_XSP_THREAD_H_ */
