#define _DEFAULT_SOURCE /* syscall */
#include "calls.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "xsp/plugin.h"

#define DEPTH_MAX 1024u
#define OWNERS_MAX (1u << 18)

/* Never freed: a range may be closed by another thread after its own has gone. Threads that come
 * later take the blocks of those that have. */
typedef struct Thread {
  struct Thread* next_free;
  struct Thread* next;  /* of all */
  uint32_t id;          /* the system's */
  int64_t busy_from_ns; /* see xsp_thread_is_busy; 0: it is not */
  int64_t busy_until_ns;
  uint32_t depth;
  uint32_t outer_calls; /* of no other call, since the position below was set */
  uint64_t position;
  uint32_t instances;
  uint32_t is_in_model; /* that the program says it calls */
  Call calls[DEPTH_MAX];
  KnownSite sites[XSP_KNOWN_SITES];
  struct Tape* tapes;
} Thread;

typedef struct Owner {
  char* path;
  char* type;
  uint32_t phase;
  uint32_t backward; /* the owner of the same path in the backward phase; 0: not yet made */
  uint32_t site;     /* of that, in the twin */
} Owner;

static __thread Thread* here;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* The lock guards all that follows. */
static pthread_key_t thread_end;
static int has_thread_end;
static Thread* free_threads;
static Thread* threads;
static uint32_t thread_count;
static Owner* owners;
static uint32_t owner_count;

/* ---- Threads ---- */

static void delete_nothing(void* call) { (void)call; }
/* As the C++ ABI lays out the table of a class whose destructor is its one virtual function: the
 * complete destructor, and the deleting one. */
static void (*const call_table[2])(void*) = {delete_nothing, delete_nothing};

static void give_back_thread(void* pointer) {
  Thread* thread = pointer;
  pthread_mutex_lock(&lock);
  thread->next_free = free_threads;
  free_threads = thread;
  pthread_mutex_unlock(&lock);
}

static Thread* take_thread(void) {
  pthread_mutex_lock(&lock);
  if (!has_thread_end) has_thread_end = pthread_key_create(&thread_end, give_back_thread) == 0;
  Thread* thread = free_threads;
  if (thread != NULL) {
    free_threads = thread->next_free;
  } else {
    thread = calloc(1, sizeof *thread);
    /* Executions of a layer on two threads are told apart by the upper bits. */
    if (thread != NULL) {
      thread->instances = thread_count++ << 24;
      thread->next = threads;
      threads = thread;
    }
  }
  const int is_known = thread != NULL && has_thread_end;
  pthread_mutex_unlock(&lock);
  if (thread == NULL) return NULL;
  for (uint32_t i = 0; i < DEPTH_MAX && thread->calls[i].table == NULL; ++i) {
    thread->calls[i].table = call_table;
  }
  thread->depth = thread->outer_calls = 0;
  thread->is_in_model = 0;
  thread->position = 0;
  thread->id = (uint32_t)syscall(SYS_gettid);
  if (is_known) pthread_setspecific(thread_end, thread);
  return here = thread;
}

static inline Thread* this_thread(void) { return here != NULL ? here : take_thread(); }

/* ---- Calls ---- */

static uint64_t inner_position(uint64_t position, uint32_t number) {
  if (position == 0) return 0;
  position = (position ^ number) * 0xd6e8feb86659fd93u;
  return (position ^ position >> 32) | 1u;
}

uint64_t xsp_call_next_position(void) {
  const Thread* thread = here;
  if (thread == NULL) return 0;
  if (thread->depth == 0) return inner_position(thread->position, thread->outer_calls);
  const Call* around = &thread->calls[thread->depth - 1];
  return inner_position(around->position, around->inner_calls);
}

void xsp_call_positions_from(uint64_t position) {
  Thread* thread = this_thread();
  if (thread == NULL) return;
  thread->position = position;
  thread->outer_calls = 0;
}

Call* xsp_call_open(uint32_t level, uint32_t site_id, uint32_t owner) {
  Thread* thread = this_thread();
  if (thread == NULL || thread->depth == DEPTH_MAX) return NULL;
  const uint64_t position = xsp_call_next_position();
  ++*(thread->depth == 0 ? &thread->outer_calls : &thread->calls[thread->depth - 1].inner_calls);
  Call* call = &thread->calls[thread->depth++];
  xsp_site site = {NULL, NULL, level, site_id};
  call->level = level;
  call->instance = ++thread->instances;
  call->owner = owner;
  call->key = 0;
  call->position = position;
  call->inner_calls = 0;
  call->is_pair = 0;
  call->is_inner = thread->depth > 1 && (call - 1)->is_inner;
  __atomic_store_n(&call->is_open, 1u, __ATOMIC_RELAXED);
  call->span = site_id == 0 ? (xsp_span){0, 0, 0, 0} : xsp_begin(&site);
  return call;
}

static void end_span(Call* call) {
  xsp_end(&call->span);
  call->span.start = 0;
  __atomic_store_n(&call->is_open, 0u, __ATOMIC_RELEASE);
}

void xsp_call_close(Call* call) {
  if (call == NULL) return;
  end_span(call);
  if (call->is_pair) end_span(call - 1);
  Thread* thread = here;
  if (thread == NULL) return;
  while (thread->depth > 0 &&
         !__atomic_load_n(&thread->calls[thread->depth - 1].is_open, __ATOMIC_ACQUIRE)) {
    --thread->depth;
  }
  if (thread->depth == 0 && __atomic_load_n(&thread->busy_from_ns, __ATOMIC_RELAXED) != 0) {
    __atomic_store_n(&thread->busy_until_ns, xsp_now_ns(), __ATOMIC_RELEASE);
  }
}

void xsp_thread_is_busy(void) {
  Thread* thread = this_thread();
  if (thread == NULL || thread->depth != 0 || thread->busy_from_ns != 0) return;
  __atomic_store_n(&thread->busy_until_ns, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&thread->busy_from_ns, xsp_now_ns(), __ATOMIC_RELEASE);
}

void xsp_emit_busy_threads(uint32_t site_id) {
  pthread_mutex_lock(&lock);
  for (Thread* thread = threads; thread != NULL; thread = thread->next) {
    const int64_t from = __atomic_load_n(&thread->busy_from_ns, __ATOMIC_ACQUIRE);
    const int64_t until = __atomic_load_n(&thread->busy_until_ns, __ATOMIC_ACQUIRE);
    if (from == 0 || until < from) continue;
    __atomic_store_n(&thread->busy_from_ns, 0, __ATOMIC_RELEASE);
    if (thread == here) continue; /* it has a span of its own around this */
    xsp_complete_span span = {0};
    span.struct_size = sizeof span;
    span.site_id = site_id;
    span.thread = thread->id;
    span.start_ns = from;
    span.duration_ns = until - from;
    xsp_emit(&span);
  }
  pthread_mutex_unlock(&lock);
}

Call* xsp_call_innermost(void) {
  Thread* thread = here;
  return thread != NULL && thread->depth > 0 ? &thread->calls[thread->depth - 1] : NULL;
}

KnownSite* xsp_known_sites(void) {
  Thread* thread = this_thread();
  return thread != NULL ? thread->sites : NULL;
}

struct Tape** xsp_thread_tapes(void) {
  Thread* thread = this_thread();
  return thread != NULL ? &thread->tapes : NULL;
}

uint32_t* xsp_thread_model(void) {
  Thread* thread = this_thread();
  return thread != NULL ? &thread->is_in_model : NULL;
}

uint32_t xsp_call_depth(void) { return here != NULL ? here->depth : 0; }

void xsp_call_close_to(uint32_t depth) {
  while (here != NULL && here->depth >= depth && here->depth > 0) {
    xsp_call_close(&here->calls[here->depth - 1]);
  }
}

static xsp_layer_mark open_layer(void) {
  const Thread* thread = here;
  for (uint32_t i = thread != NULL ? thread->depth : 0; i-- > 0;) {
    const Call* call = &thread->calls[i];
    if (call->level != XSP_LEVEL_LAYER || call->span.start == 0) continue;
    return (xsp_layer_mark){call->span.site_id, call->instance};
  }
  return (xsp_layer_mark){0, 0};
}

__attribute__((constructor)) static void offer(void) { xsp_offer_open_layer(open_layer); }

/* ---- Owners ---- */

static char* copy_of(const char* text) {
  const size_t size = strlen(text) + 1;
  char* copy = malloc(size);
  return copy != NULL ? memcpy(copy, text, size) : NULL;
}

static uint32_t new_owner(const char* path, const char* type, uint32_t phase) {
  if (owners == NULL) {
    owners = calloc(OWNERS_MAX, sizeof *owners); /* pages are taken as they are used */
    owner_count = 1;
  }
  if (owners == NULL || owner_count == OWNERS_MAX) return 0;
  Owner* owner = &owners[owner_count];
  owner->path = copy_of(path);
  owner->type = copy_of(type);
  owner->phase = phase;
  if (owner->path == NULL || owner->type == NULL) return 0;
  return owner_count++;
}

uint32_t xsp_owner_new(const char* path, const char* type, uint32_t phase) {
  pthread_mutex_lock(&lock);
  const uint32_t owner = new_owner(path, type, phase);
  pthread_mutex_unlock(&lock);
  return owner;
}

uint32_t xsp_owner_phase(uint32_t owner) { return owner == 0 ? 0 : owners[owner].phase; }

static const char* const phase_names[] = {NULL, "forward", "backward", "optimizer", "data"};

const char* xsp_phase_name(uint32_t phase) { return phase_names[phase]; }

uint32_t xsp_phase_number(const char* name) {
  for (uint32_t i = XSP_PHASE_FORWARD; i <= XSP_PHASE_DATA; ++i) {
    if (strcmp(phase_names[i], name) == 0) return i;
  }
  return XSP_PHASE_NONE;
}

const char* xsp_owner_path(uint32_t owner) {
  return owner != 0 && *owners[owner].type != '\0' ? owners[owner].path : NULL;
}

void xsp_owner_describe(uint32_t owner, uint32_t site) {
  const char* phase = xsp_phase_name(xsp_owner_phase(owner));
  if (site != 0 && phase != NULL) xsp_site_attribute(site, "phase", phase);
}

uint32_t xsp_owner_backward(uint32_t owner, uint32_t* site_id) {
  *site_id = 0;
  if (owner == 0) return 0;
  uint32_t twin = __atomic_load_n(&owners[owner].backward, __ATOMIC_ACQUIRE);
  if (twin == 0) {
    pthread_mutex_lock(&lock);
    twin = owners[owner].backward;
    const Owner* one = &owners[owner];
    if (one->phase == XSP_PHASE_BACKWARD) {
      twin = owner; /* the gradient of a gradient */
    } else if (twin == 0) {
      twin = new_owner(one->path, one->type, XSP_PHASE_BACKWARD);
    }
    if (twin != 0 && owners[twin].site == 0) {
      const char* name = *one->path != '\0' ? one->path : one->type;
      owners[twin].site = xsp_new_site(XSP_LEVEL_LAYER, name, one->type);
      xsp_owner_describe(twin, owners[twin].site);
    }
    __atomic_store_n(&owners[owner].backward, twin, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
  }
  *site_id = owners[twin].site;
  return twin;
}
