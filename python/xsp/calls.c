#define _DEFAULT_SOURCE /* syscall */
#include "calls.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "xsp/plugin.h"

#define DEPTH_MAX 1024u
#define CACHE_SIZE 16384u         /* a power of two */
#define TABLE_SIZE_MAX (1u << 18) /* of the sites that all threads know; a power of two */
#define OWNERS_MAX (1u << 18)
#define PATH_BYTES_MAX 1024

typedef struct Known {
  uint64_t hash; /* 0: empty */
  uint32_t site;
} Known;

/* Never freed: a range may be closed by another thread after its own has gone. Threads that come
 * later take the blocks of those that have. */
typedef struct Thread {
  struct Thread* next_free;
  struct Thread* next;  /* of all */
  uint32_t id;          /* the system's */
  int64_t busy_from_ns; /* see xsp_thread_is_busy; 0: it is not */
  int64_t busy_until_ns;
  uint32_t depth;
  uint32_t instances;
  Call calls[DEPTH_MAX];
  Known cache[CACHE_SIZE];
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
static Known* table;
static uint32_t table_used;

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
  thread->depth = 0;
  thread->id = (uint32_t)syscall(SYS_gettid);
  if (is_known) pthread_setspecific(thread_end, thread);
  return here = thread;
}

static inline Thread* this_thread(void) { return here != NULL ? here : take_thread(); }

/* ---- Calls ---- */

Call* xsp_call_open(uint32_t level, uint32_t site_id, uint32_t owner) {
  Thread* thread = this_thread();
  if (thread == NULL || thread->depth == DEPTH_MAX) return NULL;
  Call* call = &thread->calls[thread->depth++];
  xsp_site site = {NULL, NULL, level, site_id};
  call->level = level;
  call->instance = ++thread->instances;
  call->owner = owner;
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

static void set_phase(uint32_t site, uint32_t owner) {
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
      set_phase(owners[twin].site, twin);
    }
    __atomic_store_n(&owners[owner].backward, twin, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
  }
  *site_id = owners[twin].site;
  return twin;
}

/* ---- Sites of operators ---- */

static uint64_t mix(uint64_t value) {
  value ^= value >> 32;
  value *= 0xd6e8feb86659fd93u;
  return value ^ (value >> 32);
}

static uint64_t hash_of(uint32_t owner, uint32_t level, const char* name) {
  size_t length = strlen(name);
  uint64_t hash = mix((uint64_t)owner << 8 | level) ^ length;
  for (; length >= 8; length -= 8, name += 8) {
    uint64_t word;
    memcpy(&word, name, 8);
    hash = mix(hash ^ word);
  }
  uint64_t rest = 0;
  memcpy(&rest, name, length);
  return mix(hash ^ rest) | 1u;
}

/* "aten::conv2d" is called conv2d in a module; a name with blanks stays as it is. */
static const char* short_name(const char* name) {
  const char* mark = strrchr(name, ':');
  return mark == NULL || strchr(name, ' ') != NULL || mark[1] == '\0' ? name : mark + 1;
}

static uint32_t new_operator_site(uint32_t owner, uint32_t level, const char* name) {
  char place[PATH_BYTES_MAX];
  const int is_named = owner != 0 && *owners[owner].type != '\0';
  const char* path = is_named ? owners[owner].path : "";
  snprintf(place, sizeof place, "%s%s%s", path, *path != '\0' ? "/" : "", short_name(name));
  const uint32_t site = xsp_new_site(level, is_named ? place : name, name);
  set_phase(site, owner);
  return site;
}

static uint32_t find_site(uint64_t hash, uint32_t owner, uint32_t level, const char* name) {
  pthread_mutex_lock(&lock);
  if (table == NULL) table = calloc(TABLE_SIZE_MAX, sizeof *table);
  uint32_t site = 0;
  if (table != NULL) {
    uint32_t at = (uint32_t)(hash >> 32) & (TABLE_SIZE_MAX - 1);
    while (table[at].hash != 0 && table[at].hash != hash) at = (at + 1) & (TABLE_SIZE_MAX - 1);
    if (table[at].hash == 0 && table_used < TABLE_SIZE_MAX / 2) {
      table[at].site = new_operator_site(owner, level, name);
      table[at].hash = hash;
      ++table_used;
    }
    site = table[at].site;
  }
  pthread_mutex_unlock(&lock);
  return site;
}

uint32_t xsp_operator_site(uint32_t owner, uint32_t level, const char* name) {
  Thread* thread = this_thread();
  if (thread == NULL) return 0;
  const uint64_t hash = hash_of(owner, level, name);
  Known* known = &thread->cache[hash >> 1 & (CACHE_SIZE - 1)];
  if (known->hash != hash) {
    known->site = find_site(hash, owner, level, name);
    known->hash = hash;
  }
  return known->site;
}
