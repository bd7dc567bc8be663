#include "operators.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tape.h"
#include "thread.h"

#define TABLE_SIZE (1u << 19) /* a power of two */
#define SITES_MAX (TABLE_SIZE / 2)
#define POSITIONS_MAX (TABLE_SIZE / 4) /* leave room for sites */
#define SHAPES_MAX 32u                 /* shapes of one operator */
#define PATH_BYTES_MAX 1024
#define SHAPES_BYTES_MAX 4096
#define TYPES_BYTES_MAX 1024
#define NOT_TOLD 1u /* value for the outputs of a site without shapes */

/* An entry holds the information under a hash. For the key of an operator: the site for shapes
 * beyond the limit, and the number of its other shapes. For a name: the number of sites that have
 * it. For a position in a model: the site of the operator there. */
typedef struct Entry {
  uint64_t hash; /* 0: empty */
  uint64_t outputs;
  char* inputs; /* JSON of the shapes, '\0', JSON of the types; NULL: not known */
  uint32_t site;
  uint32_t count; /* for a position: how often its site has changed */
} Entry;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* The lock guards everything below. */
static Entry* table;
static uint32_t table_used;

/* ---- Hashes ---- */

static uint64_t mix(uint64_t value) {
  value ^= value >> 32;
  value *= 0xd6e8feb86659fd93u;
  return value ^ (value >> 32);
}

static inline uint64_t word_at(const char* text) {
  uint64_t word;
  memcpy(&word, text, sizeof word);
  return word;
}

/* Hashes a name. The last word of a name overlaps the one before it. */
static uint64_t hash_of(uint32_t owner, uint64_t around, const char* name) {
  const size_t length = strlen(name);
  uint64_t hash = mix(around ^ owner) ^ length;
  if (length < sizeof hash) {
    uint64_t word = 0;
    memcpy(&word, name, length);
    return mix(hash ^ word) | 1u;
  }
  for (size_t at = 0; at + 8 < length; at += 8) hash = mix(hash ^ word_at(name + at));
  return mix(hash ^ word_at(name + length - 8)) | 1u;
}

static uint64_t with(uint64_t hash, uint64_t more) { return mix(hash ^ more * 3) | 1u; }

/* ---- The table: the caller holds the lock ---- */

/* Returns the entry of this hash and makes it if it is new. Returns NULL if the table already has
 * `count_max` entries. */
static Entry* entry_among(uint64_t hash, uint32_t count_max) {
  if (table == NULL) table = calloc(TABLE_SIZE, sizeof *table); /* pages are taken as used */
  if (table == NULL) return NULL;
  uint32_t at = (uint32_t)(hash >> 32) & (TABLE_SIZE - 1);
  while (table[at].hash != 0 && table[at].hash != hash) at = (at + 1) & (TABLE_SIZE - 1);
  if (table[at].hash == 0) {
    if (table_used >= count_max) return NULL;
    ++table_used;
    table[at].hash = hash;
  }
  return &table[at];
}

static Entry* entry_of(uint64_t hash) { return entry_among(hash, SITES_MAX); }

/* Returns the name to use in a module: conv2d for "aten::conv2d"; a name with blanks stays as it
 * is. */
static const char* short_name(const char* name) {
  const char* mark = strrchr(name, ':');
  return mark == NULL || strchr(name, ' ') != NULL || mark[1] == '\0' ? name : mark + 1;
}

static uint32_t new_site(uint32_t owner, const char* name) {
  char place[PATH_BYTES_MAX];
  char number[16] = "";
  const char* path = xsp_owner_path(owner);
  Entry* named = entry_of(with(hash_of(owner, 0, name), 2));
  if (named == NULL) return 0;
  if (++named->count > 1) snprintf(number, sizeof number, "#%u", named->count);
  if (path == NULL) {
    snprintf(place, sizeof place, "%s%s", name, number);
  } else {
    snprintf(place, sizeof place, "%s%s%s%s", path, *path != '\0' ? "/" : "", short_name(name),
             number);
  }
  const uint32_t site = xsp_new_site(XSP_LEVEL_LAYER, place, name);
  xsp_owner_describe(owner, site);
  return site;
}

static void tell_inputs(uint32_t site, const char* inputs) {
  if (inputs == NULL) return;
  xsp_site_attribute(site, "input_shapes", inputs);
  xsp_site_attribute(site, "input_dtypes", inputs + strlen(inputs) + 1);
}

static char* inputs_of(Values values) {
  char shapes[SHAPES_BYTES_MAX];
  char types[TYPES_BYTES_MAX];
  if (!xsp_values_describe(values, shapes, sizeof shapes, types, sizeof types)) return NULL;
  const size_t size = strlen(shapes) + 1;
  char* both = malloc(size + strlen(types) + 1);
  if (both == NULL) return NULL;
  memcpy(both, shapes, size);
  memcpy(both + size, types, strlen(types) + 1);
  return both;
}

/* Returns the entry of an operator with one more shape. If the operator has too many shapes,
 * returns the operator's entry. */
static Entry* shaped_entry(uint64_t key, uint64_t hash) {
  Entry* all = entry_of(key);
  Entry* one = entry_of(hash);
  if (all == NULL || one == NULL) return all;
  if (one->site == 0 && all->count == SHAPES_MAX) return all;
  if (one->site == 0) ++all->count;
  return one;
}

/* ---- Which calls are looked at ---- */

#define KINDS 4096u    /* kinds of calls; a power of two: later ones replace earlier ones */
#define LOOKS_FIRST 3u /* calls of a kind */
#define LOOKS_AGAIN 2u /* after a call that differed from earlier ones */
#define LOOKS_EVERY 32u
/* Limits the number of kinds that differ only in sizes; further ones have no sites of their own. */
#define EXACT_MAX SHAPES_MAX

typedef struct Kind {
  uint64_t hash;
  uint32_t calls;
  uint32_t looks; /* number of calls still to look at */
  uint32_t exact; /* kinds that differ from this one only in sizes */
} Kind;
/* Several threads may update a count at once, and lose one call. */
static Kind kinds[KINDS];

const Values xsp_values_unseen = {NULL, 0};

static Kind* kind_at(uint64_t hash) {
  Kind* here = &kinds[hash >> 1 & (KINDS - 1)];
  if (here->hash != hash) *here = (Kind){hash, 0, LOOKS_FIRST, 0};
  return here;
}

uint64_t xsp_operators_kind(uint64_t exact, uint64_t plain) {
  if (kinds[exact >> 1 & (KINDS - 1)].hash == exact) return exact;
  Kind* all = kind_at(plain);
  if (all->exact == EXACT_MAX) return plain;
  ++all->exact;
  return exact;
}

int xsp_operators_follow(uint64_t kind) {
  xsp_call_positions_from(kind);
  Thread* thread = xsp_this_thread();
  if (thread == NULL) return 1;
  Now* now = &thread->now;
  const int is_as_before = now->surprises == 0 || kind != now->kind;
  now->kind = kind;
  now->surprises = now->calls_of_kind = 0;
  if (kind == 0) {
    xsp_tape_begin(0, 0);
    return 1;
  }
  Kind* here = kind_at(kind);
  if (here->looks == 0 && !is_as_before) here->looks = LOOKS_AGAIN;
  if (here->looks == 0 && here->calls % LOOKS_EVERY == 0) here->looks = 1;
  now->calls_of_kind = here->calls++;
  xsp_tape_begin(kind, here->looks != 0);
  if (here->looks == 0) return 0;
  --here->looks;
  return 1;
}

/* ---- Sites ---- */

typedef struct Operator {
  const char* name;
  uint32_t owner;
  uint64_t key;
  uint64_t hash;
  const Values* inputs;
} Operator;

static KnownSite make_known(const Operator* one) {
  KnownSite known = {one->hash, NOT_TOLD, 0, 0};
  pthread_mutex_lock(&lock);
  Entry* entry = one->inputs == NULL ? entry_of(one->key) : shaped_entry(one->key, one->hash);
  if (entry != NULL) {
    const int is_new = entry->site == 0;
    if (is_new) entry->site = new_site(one->owner, one->name);
    if (entry->hash != one->key) {
      if (is_new) tell_inputs(entry->site, entry->inputs = inputs_of(*one->inputs));
      known.outputs = entry->outputs;
    }
    known.site = entry->site;
  }
  pthread_mutex_unlock(&lock);
  return known;
}

static void tell_outputs(Entry* entry, uint64_t hash, Values values) {
  char shapes[SHAPES_BYTES_MAX];
  char types[TYPES_BYTES_MAX];
  entry->outputs = hash;
  if (!xsp_values_describe(values, shapes, sizeof shapes, types, sizeof types)) return;
  xsp_site_attribute(entry->site, "output_shapes", shapes);
  xsp_site_attribute(entry->site, "output_dtypes", types);
}

/* The operator was called with the same inputs before: `hash` also includes its outputs. */
static KnownSite make_known_by_outputs(const Call* call, const char* name, uint64_t hash,
                                       uint64_t outputs, Values values) {
  KnownSite known = {hash, outputs, call->span.site_id, 0};
  pthread_mutex_lock(&lock);
  Entry* first = entry_of(call->hash);
  if (first != NULL && first->outputs == 0) {
    tell_outputs(first, outputs, values);
  } else if (first != NULL && first->outputs != outputs) {
    Entry* entry = shaped_entry(call->key, hash);
    const int is_new = entry != NULL && entry->site == 0;
    if (is_new) entry->site = new_site(call->owner, name);
    if (is_new && entry->hash == hash) {
      tell_inputs(entry->site, first->inputs);
      tell_outputs(entry, outputs, values);
    }
    known.site = entry != NULL ? entry->site : 0;
  }
  pthread_mutex_unlock(&lock);
  return known;
}

static KnownSite* place_of(Thread* thread, uint64_t hash) {
  return &thread->sites[hash >> 1 & (XSP_KNOWN_SITES - 1)];
}

/* Notes that the operator at this position had this site. The first two calls say little: they
 * contain operators that run only once. */
static void note_position(Thread* thread, uint64_t position, uint32_t site) {
  KnownSite* known = place_of(thread, position);
  if (known->hash == position && (known->is_varied || known->site == site)) return;
  pthread_mutex_lock(&lock);
  Entry* entry = entry_among(position, POSITIONS_MAX);
  if (entry != NULL) {
    const int is_learnt = thread->now.calls_of_kind + 1 >= LOOKS_FIRST;
    if (entry->site != site) ++thread->now.surprises;
    if (entry->site != 0 && entry->site != site && is_learnt) ++entry->count;
    entry->site = site;
    *known = (KnownSite){position, 0, site, entry->count != 0};
  }
  pthread_mutex_unlock(&lock);
}

static uint32_t site_without_shapes(Thread* thread, const Operator* one) {
  Operator all = *one;
  all.inputs = NULL;
  all.hash = all.key;
  KnownSite* known = place_of(thread, all.key);
  if (known->hash != all.key) *known = make_known(&all);
  return known->site;
}

static uint32_t find_site_at(Thread* thread, uint64_t position, const Operator* one) {
  KnownSite* known = place_of(thread, position);
  if (known->hash != position) {
    pthread_mutex_lock(&lock);
    const Entry* entry = entry_among(position, POSITIONS_MAX);
    *known = (KnownSite){position, 0, 0, 0};
    if (entry != NULL) *known = (KnownSite){position, 0, entry->site, entry->count != 0};
    pthread_mutex_unlock(&lock);
  }
  if (known->site != 0 && !known->is_varied) return known->site;
  if (known->site == 0) {
    known->hash = 0; /* another thread may find it later */
    ++thread->now.surprises;
  }
  return site_without_shapes(thread, one);
}

/* Returns the site of an operator whose tensors are not looked at. */
static uint32_t site_at(Thread* thread, uint64_t position, const Operator* one) {
  uint32_t site = xsp_tape_next(position);
  if (site != 0) return site;
  const uint32_t before = thread->now.surprises;
  site = find_site_at(thread, position, one);
  if (thread->now.surprises == before) xsp_tape_add(position, site);
  return site;
}

Call* xsp_operator_open(uint32_t owner, const char* name, const Values* inputs) {
  Thread* thread = xsp_this_thread();
  if (thread == NULL) return NULL;
  const Call* around = xsp_innermost_of(thread);
  const uint64_t key = hash_of(owner, around != NULL ? around->key : 0, name);
  const int is_seen = inputs != NULL && inputs != &xsp_values_unseen;
  Operator one = {name, owner, key, key, inputs};
  KnownSite found = {0, NOT_TOLD, 0, 0};
  if (is_seen) {
    one.hash = with(key, xsp_values_hash(*inputs));
    KnownSite* known = place_of(thread, one.hash);
    if (known->hash != one.hash) *known = make_known(&one);
    found = *known;
  } else {
    const uint64_t position = inputs == NULL ? 0 : xsp_next_position_of(thread);
    found.site = position == 0 ? site_without_shapes(thread, &one)
                               : site_at(thread, with(position, key), &one);
  }
  Call* call = xsp_call_open_on(thread, XSP_LEVEL_LAYER, found.site, owner);
  if (call == NULL) return NULL;
  call->key = key;
  call->hash = is_seen ? one.hash : 0;
  call->outputs = found.outputs;
  return call;
}

static void find_site_by_outputs(Thread* thread, Call* call, const char* name, Values values) {
  const uint64_t outputs = xsp_values_hash(values);
  if (outputs == call->outputs) return;
  const uint64_t hash = with(call->hash, outputs);
  KnownSite* known = place_of(thread, hash);
  if (known->hash != hash) *known = make_known_by_outputs(call, name, hash, outputs, values);
  if (call->outputs == 0) {
    KnownSite* first = place_of(thread, call->hash);
    if (first->hash == call->hash && first->site == known->site) first->outputs = outputs;
  }
  call->span.site_id = known->site;
}

void xsp_operator_returns(Call* call, const char* name, Values values) {
  if (call == NULL || call->hash == 0) return;
  Thread* thread = xsp_this_thread();
  if (thread == NULL) return;
  if (call->outputs != NOT_TOLD) find_site_by_outputs(thread, call, name, values);
  if (call->position != 0) {
    note_position(thread, with(call->position, call->key), call->span.site_id);
  }
}
