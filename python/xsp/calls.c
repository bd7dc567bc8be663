#define _DEFAULT_SOURCE /* syscall */
#include "calls.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "thread.h"
#include "xsp/plugin.h"

#define OWNERS_MAX (1u << 18)

typedef struct Owner {
  char* path;
  char* type;
  uint32_t phase;
  uint32_t backward; /* the owner of the same path in the backward phase; 0: not yet made */
  uint32_t site;     /* site of the backward owner; set in the twin */
} Owner;

__thread Thread* xsp_thread_here;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* The lock guards everything below. */
static pthread_key_t thread_end;
static int has_thread_end;
static Thread* free_threads;
static Thread* threads;
static uint32_t thread_count;
static Owner* owners;
static uint32_t owner_count;

/* ---- Threads ---- */

static void delete_nothing(void* call) { (void)call; }
/* This is the C++ ABI's table of a class whose only virtual function is its destructor: the
 * complete destructor, and the deleting one. */
static void (*const call_table[2])(void*) = {delete_nothing, delete_nothing};

static void give_back_thread(void* pointer) {
  Thread* thread = pointer;
  pthread_mutex_lock(&lock);
  thread->next_free = free_threads;
  free_threads = thread;
  pthread_mutex_unlock(&lock);
}

Thread* xsp_thread_take(void) {
  pthread_mutex_lock(&lock);
  if (!has_thread_end) has_thread_end = pthread_key_create(&thread_end, give_back_thread) == 0;
  Thread* thread = free_threads;
  if (thread != NULL) {
    free_threads = thread->next_free;
  } else {
    thread = calloc(1, sizeof *thread);
    /* The upper bits distinguish executions of a layer on two threads. */
    if (thread != NULL) {
      thread->instances = thread_count++ << 24;
      thread->next = threads;
      threads = thread;
    }
  }
  const int is_known = thread != NULL && has_thread_end;
  pthread_mutex_unlock(&lock);
  if (thread == NULL) return NULL;
  for (uint32_t i = 0; i < XSP_DEPTH_MAX && thread->calls[i].table == NULL; ++i) {
    thread->calls[i].table = call_table;
  }
  thread->now = (Now){0};
  thread->id = (uint32_t)syscall(SYS_gettid);
  if (is_known) pthread_setspecific(thread_end, thread);
  return xsp_thread_here = thread;
}

/* ---- Calls ---- */

void xsp_call_positions_from(uint64_t position) {
  Thread* thread = xsp_this_thread();
  if (thread == NULL) return;
  thread->now.position = position;
  thread->now.outer_calls = 0;
}

Call* xsp_call_open_on(Thread* thread, uint32_t level, uint32_t site_id, uint32_t owner) {
  const uint32_t depth = thread->now.depth;
  if (depth == XSP_DEPTH_MAX) return NULL;
  Call* call = &thread->calls[depth];
  call->level = level;
  call->instance = ++thread->instances;
  call->owner = owner;
  call->key = 0;
  call->position = xsp_next_position_of(thread);
  call->inner_calls = 0;
  call->is_pair = 0;
  if (depth == 0) {
    call->is_inner = 0;
    ++thread->now.outer_calls;
  } else {
    call->is_inner = (call - 1)->is_inner;
    ++(call - 1)->inner_calls;
  }
  thread->now.depth = depth + 1;
  __atomic_store_n(&call->is_open, 1u, __ATOMIC_RELAXED);
  xsp_site site = {NULL, NULL, level, site_id};
  call->span = site_id == 0 ? (xsp_span){0, 0, 0, 0} : xsp_begin(&site);
  return call;
}

Call* xsp_call_open(uint32_t level, uint32_t site_id, uint32_t owner) {
  Thread* thread = xsp_this_thread();
  return thread == NULL ? NULL : xsp_call_open_on(thread, level, site_id, owner);
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
  Thread* thread = xsp_thread_here;
  if (thread == NULL) return;
  uint32_t depth = thread->now.depth;
  while (depth > 0 && !__atomic_load_n(&thread->calls[depth - 1].is_open, __ATOMIC_ACQUIRE))
    --depth;
  thread->now.depth = depth;
  if (depth == 0 && __atomic_load_n(&thread->busy_from_ns, __ATOMIC_RELAXED) != 0) {
    __atomic_store_n(&thread->busy_until_ns, xsp_now_ns(), __ATOMIC_RELEASE);
  }
}

void xsp_thread_is_busy(void) {
  Thread* thread = xsp_this_thread();
  if (thread == NULL || thread->now.depth != 0 || thread->busy_from_ns != 0) return;
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
    if (thread == xsp_thread_here) continue; /* this thread has its own span around the work */
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
  Thread* thread = xsp_thread_here;
  return thread != NULL ? xsp_innermost_of(thread) : NULL;
}

uint32_t xsp_call_depth(void) { return xsp_thread_here != NULL ? xsp_thread_here->now.depth : 0; }

void xsp_call_close_to(uint32_t depth) {
  Thread* const thread = xsp_thread_here;
  while (thread != NULL && thread->now.depth >= depth && thread->now.depth > 0) {
    xsp_call_close(xsp_innermost_of(thread));
  }
}

static xsp_layer_mark open_layer(void) {
  const Thread* thread = xsp_thread_here;
  for (uint32_t i = thread != NULL ? thread->now.depth : 0; i-- > 0;) {
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
    owners = calloc(OWNERS_MAX, sizeof *owners); /* pages are allocated as they are used */
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
