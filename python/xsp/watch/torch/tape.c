#include "tape.h"

#include <stdlib.h>

#include "thread.h"

/* These limits allow at most 16 MiB per thread. */
#define TAPES 64u        /* tapes of a thread; a power of two: later kinds replace earlier ones */
#define SLOTS_FIRST 256u /* slots of a tape */
#define SLOTS_MAX (1u << 14)
#define AHEAD_MAX 8u /* number of operators that may be missing */

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

void xsp_tape_begin(uint64_t kind, int is_new) {
  Thread* thread = xsp_this_thread();
  if (thread == NULL) return;
  thread->now.tape = NULL;
  thread->now.next_on_tape = 0;
  if (kind == 0) return;
  if (thread->tapes == NULL) thread->tapes = calloc(TAPES, sizeof *thread->tapes);
  if (thread->tapes == NULL) return;
  Tape* tape = &thread->tapes[kind >> 1 & (TAPES - 1)];
  if (tape->kind != kind || is_new) tape->count = 0;
  tape->kind = kind;
  thread->now.tape = tape;
}

uint32_t xsp_tape_next(uint64_t position) {
  Thread* thread = xsp_thread_here;
  const Tape* tape = thread != NULL ? thread->now.tape : NULL;
  if (tape == NULL) return 0;
  const uint32_t next = thread->now.next_on_tape;
  for (uint32_t i = next; i < tape->count && i < next + AHEAD_MAX; ++i) {
    if (tape->slots[i].position != position) continue;
    thread->now.next_on_tape = i + 1;
    return tape->slots[i].site;
  }
  return 0;
}

static int has_room(Tape* tape) {
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
  Thread* thread = xsp_thread_here;
  Tape* tape = thread != NULL ? thread->now.tape : NULL;
  /* An operator between known ones does not always run, so it is not added. */
  if (tape == NULL || thread->now.next_on_tape != tape->count || !has_room(tape)) return;
  tape->slots[tape->count++] = (Slot){position, site};
  thread->now.next_on_tape = tape->count;
}
