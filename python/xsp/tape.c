#include "tape.h"

#include <stdlib.h>

#include "calls.h"

/* 16 MiB of a thread at most. */
#define TAPES 64u        /* of a thread; a power of two: later kinds replace those before */
#define SLOTS_FIRST 256u /* of a tape */
#define SLOTS_MAX (1u << 14)
#define AHEAD_MAX 8u /* operators that may be missing */

typedef struct Slot {
  uint64_t position;
  uint32_t site;
} Slot;

typedef struct Tape {
  uint64_t kind;
  Slot* slots;
  uint32_t capacity;
  uint32_t count;
} Tape;

static __thread Tape* tape; /* of the call that is going on; NULL: none */
static __thread uint32_t next;

void xsp_tape_begin(uint64_t kind, int is_new) {
  tape = NULL;
  next = 0;
  if (kind == 0) return;
  Tape** tapes = xsp_thread_tapes();
  if (tapes == NULL) return;
  if (*tapes == NULL) *tapes = calloc(TAPES, sizeof **tapes);
  if (*tapes == NULL) return;
  tape = &(*tapes)[kind >> 1 & (TAPES - 1)];
  if (tape->kind != kind || is_new) tape->count = 0;
  tape->kind = kind;
}

uint32_t xsp_tape_next(uint64_t position) {
  if (tape == NULL) return 0;
  for (uint32_t i = next; i < tape->count && i < next + AHEAD_MAX; ++i) {
    if (tape->slots[i].position != position) continue;
    next = i + 1;
    return tape->slots[i].site;
  }
  return 0;
}

static int has_room(void) {
  if (tape->count < tape->capacity) return 1;
  const uint32_t capacity = tape->capacity == 0 ? SLOTS_FIRST : 2 * tape->capacity;
  if (capacity > SLOTS_MAX) return 0;
  Slot* slots = realloc(tape->slots, capacity * sizeof *slots);
  if (slots == NULL) return 0;
  tape->slots = slots;
  tape->capacity = capacity;
  return 1;
}

void xsp_tape_add(uint64_t position, uint32_t site) {
  /* What comes between those that are known is not always there. */
  if (tape == NULL || next != tape->count || !has_room()) return;
  tape->slots[tape->count++] = (Slot){position, site};
  next = tape->count;
}
