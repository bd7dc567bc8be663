#include "xplane.h"

#include <stdlib.h>
#include <string.h>

#include "xsp/xsp.h"

#define NAMES_MAX (1u << 20) /* names of a plane; they are numbered from 1 */
#define SITES_KEPT 4096u     /* a power of two */
#define SPANS_PER_FLUSH 4000 /* a quarter of a thread's ring */
#define OPEN_MAX 64
#define LONGEST_PS ((uint64_t)1 << 60) /* two weeks: a longer time is an error */
/* The number of the lane lies above the thread's number, see Lanes in xsp/adapter.hpp. */
#define THREAD_BITS 22
#define LANES 1023u
/* Threads without a known system id get numbers above all of those. */
#define UNKNOWN_THREADS (1u << THREAD_BITS)
#define UNKNOWN_COUNT 1000003u /* a prime */

/* ---- Protocol buffers ---- */

typedef struct Bytes {
  const uint8_t* at;
  const uint8_t* end;
} Bytes;

typedef struct Field {
  uint32_t number;
  uint32_t type; /* 0: `value`, 2: `body` */
  uint64_t value;
  Bytes body;
} Field;

static int read_varint(Bytes* bytes, uint64_t* value) {
  *value = 0;
  for (unsigned shift = 0; shift < 64 && bytes->at < bytes->end; shift += 7) {
    const uint8_t byte = *bytes->at++;
    *value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) return 1;
  }
  return 0;
}

/* Reads the next field. Returns 0 at the end, and before a malformed field. */
static int next(Bytes* bytes, Field* field) {
  uint64_t tag = 0;
  if (bytes->at >= bytes->end || !read_varint(bytes, &tag)) return 0;
  field->number = (uint32_t)(tag >> 3);
  field->type = (uint32_t)(tag & 7);
  field->value = 0;
  uint64_t size = 0;
  switch (field->type) {
    case 0:
      return read_varint(bytes, &field->value);
    case 1:
      size = 8;
      break;
    case 2:
      if (!read_varint(bytes, &size)) return 0;
      break;
    case 5:
      size = 4;
      break;
    default:
      return 0;
  }
  if (size > (uint64_t)(bytes->end - bytes->at)) return 0;
  field->body.at = bytes->at;
  bytes->at += size;
  field->body.end = bytes->at;
  return 1;
}

static int is_bytes(const Field* field, uint32_t number) {
  return field->number == number && field->type == 2;
}
static int is_number(const Field* field, uint32_t number) {
  return field->number == number && field->type == 0;
}

static XplaneText text_of(Bytes bytes) {
  return (XplaneText){(const char*)bytes.at, (size_t)(bytes.end - bytes.at)};
}

static int equals(XplaneText text, const char* other) {
  return text.size == strlen(other) && memcmp(text.at, other, text.size) == 0;
}

/* ---- The contents of a record ---- */

typedef struct Names {
  XplaneText* at; /* by number */
  size_t size;
} Names;

typedef struct Event {
  uint64_t run; /* an execution of a program on a device */
  int64_t start_ps;
  int64_t end_ps;
  uint32_t line;
  uint32_t site;
  int is_control;
} Event;

typedef struct Line {
  uint64_t id;
  uint32_t thread; /* the system's id; 0: not known */
} Line;

/* The threads of the process that an anchor has identified, in any record: their numbers stay the
 * same. */
#define CALLERS_MAX 64
static Line callers[CALLERS_MAX];
static size_t caller_count;

typedef struct Known {
  uint64_t hash; /* 0: empty */
  XplaneSite site;
} Known;

typedef struct Reader {
  const XplaneAnchor* anchors;
  size_t anchor_count;
  XplaneSiteOf site_of;
  void* context;
  Names events;
  Names stats;
  Event* found;
  size_t found_count;
  size_t found_room;
  Line* lines;
  size_t line_count;
  size_t line_room;
  /* The record's zero lies between these bounds: not before `low`, not after `high`. */
  int64_t low_ns;
  int64_t high_ns;
  int has_anchor;
  int is_out_of_memory;
  int64_t emitted;
  Known known[SITES_KEPT];
} Reader;

static void* grown(void* array, size_t count, size_t* room, size_t item) {
  if (count < *room) return array;
  const size_t wanted = *room == 0 ? 1024 : 2 * *room;
  void* const more = realloc(array, wanted * item);
  if (more != NULL) *room = wanted;
  return more;
}

/* Adds an entry of XPlane.event_metadata or stat_metadata. */
static void add_name(Reader* reader, Names* names, Bytes entry) {
  uint64_t number = 0;
  XplaneText name = {NULL, 0};
  for (Field field; next(&entry, &field);) {
    if (is_number(&field, 1)) number = field.value;
    if (!is_bytes(&field, 2)) continue;
    for (Field inner; next(&field.body, &inner);) {
      if (is_bytes(&inner, 2)) name = text_of(inner.body);
    }
  }
  if (number >= NAMES_MAX) return;
  if (number >= names->size) {
    const size_t size = 2 * (number + 512);
    XplaneText* const more = realloc(names->at, size * sizeof *more);
    if (more == NULL) {
      reader->is_out_of_memory = 1;
      return;
    }
    memset(more + names->size, 0, (size - names->size) * sizeof *more);
    names->at = more;
    names->size = size;
  }
  names->at[number] = name;
}

static XplaneText name_of(const Names* names, uint64_t number) {
  return number < names->size ? names->at[number] : (XplaneText){NULL, 0};
}

/* Holds the XStats of an event. */
typedef struct Stats {
  XplaneText instruction;
  XplaneText module;
  int64_t program_id;
  uint64_t run_id;
  uint64_t device;
} Stats;

static void read_stat(const Reader* reader, Bytes stat, Stats* stats) {
  XplaneText key = {NULL, 0};
  XplaneText text = {NULL, 0};
  uint64_t number = 0;
  for (Field field; next(&stat, &field);) {
    if (is_number(&field, 1)) key = name_of(&reader->stats, field.value);
    if (is_number(&field, 3) || is_number(&field, 4)) number = field.value;
    if (is_bytes(&field, 5)) text = text_of(field.body);
    if (is_number(&field, 7)) text = name_of(&reader->stats, field.value);
  }
  if (equals(key, "hlo_op")) stats->instruction = text;
  if (equals(key, "hlo_module")) stats->module = text;
  if (equals(key, "program_id")) stats->program_id = (int64_t)number;
  if (equals(key, "run_id")) stats->run_id = number;
  if (equals(key, "device_ordinal")) stats->device = number;
}

static uint64_t hash_of(uint64_t hash, const void* data, size_t size) {
  const unsigned char* at = data;
  for (size_t i = 0; i < size; ++i) hash = (hash ^ at[i]) * 0x100000001b3u;
  return (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9u;
}

static XplaneSite site_of(Reader* reader, const Stats* stats) {
  uint64_t hash = hash_of((uint64_t)stats->program_id, stats->module.at, stats->module.size);
  hash = hash_of(hash, stats->instruction.at, stats->instruction.size) | 1u;
  Known* known = &reader->known[hash >> 32 & (SITES_KEPT - 1)];
  if (known->hash != hash) {
    known->site =
        reader->site_of(reader->context, stats->program_id, stats->module, stats->instruction);
    known->hash = hash;
  }
  return known->site;
}

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static uint32_t thread_of_caller(uint64_t line_id) {
  for (size_t i = 0; i < caller_count; ++i) {
    if (callers[i].id == line_id) return callers[i].thread;
  }
  return 0;
}

static void note_caller(const Line* line) {
  for (size_t i = 0; i < caller_count; ++i) {
    if (callers[i].id != line->id) continue;
    callers[i].thread = line->thread;
    return;
  }
  if (caller_count < CALLERS_MAX) callers[caller_count++] = *line;
}

static void note_anchor(Reader* reader, XplaneText name, const Event* event) {
  size_t index = 0;
  for (size_t i = 4; i < name.size; ++i) {
    if (name.at[i] < '0' || name.at[i] > '9' || index > reader->anchor_count) return;
    index = 10 * index + (size_t)(name.at[i] - '0');
  }
  if (name.size == 4 || index >= reader->anchor_count) return;
  const XplaneAnchor* anchor = &reader->anchors[index];
  reader->lines[event->line].thread = anchor->thread;
  note_caller(&reader->lines[event->line]);
  const int64_t start_ns = event->start_ps / 1000;
  const int64_t end_ns = event->end_ps / 1000;
  const int64_t low = most(anchor->before_ns - start_ns, anchor->inside_ns - end_ns);
  const int64_t high = least(anchor->inside_ns - start_ns, anchor->after_ns - end_ns);
  if (!reader->has_anchor || low > reader->high_ns || high < reader->low_ns) {
    reader->low_ns = low; /* the system's clock was set meanwhile: the latest anchor counts */
    reader->high_ns = high;
  } else {
    reader->low_ns = most(reader->low_ns, low);
    reader->high_ns = least(reader->high_ns, high);
  }
  reader->has_anchor = 1;
}

static void read_event(Reader* reader, Bytes bytes, int64_t line_start_ps) {
  Event event = {0};
  Stats stats = {{NULL, 0}, {NULL, 0}, 0, 0, 0};
  XplaneText name = {NULL, 0};
  for (Field field; next(&bytes, &field);) {
    if (is_number(&field, 1)) name = name_of(&reader->events, field.value);
    if (is_number(&field, 2) || is_number(&field, 3)) {
      if (field.value > LONGEST_PS) return;
    }
    if (is_number(&field, 2)) event.start_ps = line_start_ps + (int64_t)field.value;
    if (is_number(&field, 3)) event.end_ps = (int64_t)field.value;
    if (is_bytes(&field, 4)) read_stat(reader, field.body, &stats);
  }
  event.end_ps += event.start_ps;
  event.line = (uint32_t)reader->line_count - 1;
  if (name.size >= 4 && memcmp(name.at, "xsp ", 4) == 0) {
    note_anchor(reader, name, &event);
    return;
  }
  if (stats.instruction.size == 0) return;
  const XplaneSite site = site_of(reader, &stats);
  if (site.site == 0) return;
  event.site = site.site;
  event.is_control = site.is_control;
  const uint64_t run[] = {(uint64_t)stats.program_id, stats.run_id, stats.device};
  event.run = hash_of(0, run, sizeof run);
  Event* const found =
      grown(reader->found, reader->found_count, &reader->found_room, sizeof *found);
  if (found == NULL) {
    reader->is_out_of_memory = 1;
    return;
  }
  reader->found = found;
  found[reader->found_count++] = event;
}

static void read_line(Reader* reader, Bytes line) {
  Line* const lines = grown(reader->lines, reader->line_count, &reader->line_room, sizeof *lines);
  if (lines == NULL) {
    reader->is_out_of_memory = 1;
    return;
  }
  reader->lines = lines;
  Line* one = &lines[reader->line_count++];
  *one = (Line){0, 0};
  int64_t start_ps = 0;
  Bytes again = line;
  for (Field field; next(&again, &field);) {
    if (is_number(&field, 1)) one->id = field.value;
    if (is_number(&field, 3)) {
      if (field.value > LONGEST_PS / 1000) return;
      start_ps = (int64_t)field.value * 1000;
    }
  }
  one->thread = thread_of_caller(one->id);
  for (Field field; next(&line, &field);) {
    if (is_bytes(&field, 4)) read_event(reader, field.body, start_ps);
  }
}

static void read_plane(Reader* reader, Bytes plane) {
  reader->events.size = reader->stats.size = 0;
  Bytes again = plane;
  for (Field field; next(&again, &field);) {
    if (is_bytes(&field, 4)) add_name(reader, &reader->events, field.body);
    if (is_bytes(&field, 5)) add_name(reader, &reader->stats, field.body);
  }
  for (Field field; next(&plane, &field);) {
    if (is_bytes(&field, 3)) read_line(reader, field.body);
  }
}

/* ---- The threads on which instructions are shown ---- */

static int compare(const void* left, const void* right) {
  const Event* a = left;
  const Event* b = right;
  if (a->run != b->run) return a->run < b->run ? -1 : 1;
  if (a->start_ps != b->start_ps) return a->start_ps < b->start_ps ? -1 : 1;
  return (a->end_ps < b->end_ps) - (a->end_ps > b->end_ps);
}

/* The open instructions on the caller's thread, outermost first. */
typedef struct Open {
  const Event* at[OPEN_MAX];
  size_t count;
} Open;

static int fits(Open* open, const Event* event) {
  while (open->count > 0 && open->at[open->count - 1]->end_ps <= event->start_ps) --open->count;
  if (open->count == OPEN_MAX) return 0;
  if (open->count == 0) return 1;
  const Event* around = open->at[open->count - 1];
  return event->end_ps <= around->end_ps && (around->is_control || around->line == event->line);
}

static uint32_t thread_of(const Reader* reader, uint32_t line) {
  const Line* one = &reader->lines[line];
  return one->thread != 0 ? one->thread : UNKNOWN_THREADS + (uint32_t)(one->id % UNKNOWN_COUNT);
}

/* Returns the line of the calling thread. If no thread is known, returns that of the first
 * instruction. */
static uint32_t caller_of(const Reader* reader, const Event* first, const Event* end) {
  for (const Event* event = first; event < end; ++event) {
    if (reader->lines[event->line].thread != 0) return event->line;
  }
  return first->line;
}

static void emit(Reader* reader, const Event* event, uint32_t thread) {
  const int64_t zero_ns = reader->low_ns + (reader->high_ns - reader->low_ns) / 2;
  xsp_complete_span span = {0};
  span.struct_size = sizeof span;
  span.site_id = event->site;
  span.thread = thread;
  span.start_ns = zero_ns + event->start_ps / 1000;
  span.duration_ns = zero_ns + event->end_ps / 1000 - span.start_ns;
  xsp_emit(&span);
  if (++reader->emitted % SPANS_PER_FLUSH == 0) xsp_flush();
}

/* Emits the instructions of one run, in order of start. Instructions of the caller's own thread
 * stay there. An instruction for which there is no room beside them goes to a lane of that thread;
 * each of XLA's threads has one lane. */
static void emit_run(Reader* reader, const Event* first, const Event* end) {
  const uint32_t caller = caller_of(reader, first, end);
  const uint32_t thread = thread_of(reader, caller);
  Open open = {{NULL}, 0};
  const Event* ours = first; /* the caller's next one that runs no others inside */
  for (const Event* event = first; event < end; ++event) {
    int is_there = fits(&open, event);
    if (event->line != caller) {
      while (ours < end &&
             (ours->line != caller || ours->is_control || ours->end_ps <= event->start_ps)) {
        ++ours;
      }
      is_there = is_there && (ours == end || ours->start_ps >= event->end_ps);
    }
    if (is_there) open.at[open.count++] = event;
    uint32_t where = thread;
    if (!is_there) {
      where = thread < UNKNOWN_THREADS ? thread | (1 + event->line % LANES) << THREAD_BITS
                                       : thread_of(reader, event->line);
    }
    emit(reader, event, where);
  }
}

static void emit_all(Reader* reader) {
  qsort(reader->found, reader->found_count, sizeof *reader->found, compare);
  for (size_t at = 0; at < reader->found_count;) {
    size_t end = at + 1;
    while (end < reader->found_count && reader->found[end].run == reader->found[at].run) ++end;
    emit_run(reader, &reader->found[at], &reader->found[end]);
    at = end;
  }
}

int64_t xsp_xplane_emit(const uint8_t* record, size_t size, const XplaneAnchor* anchors,
                        size_t anchor_count, XplaneSiteOf site_of_instruction, void* context) {
  Reader* reader = calloc(1, sizeof *reader);
  if (reader == NULL) return -1;
  reader->anchors = anchors;
  reader->anchor_count = anchor_count;
  reader->site_of = site_of_instruction;
  reader->context = context;
  Bytes bytes = {record, record + size};
  for (Field field; next(&bytes, &field);) {
    if (is_bytes(&field, 1)) read_plane(reader, field.body);
  }
  int64_t count = -1;
  if (reader->has_anchor && !reader->is_out_of_memory) {
    if (reader->found_count > 0) emit_all(reader);
    count = reader->emitted;
  }
  free(reader->events.at);
  free(reader->stats.at);
  free(reader->found);
  free(reader->lines);
  free(reader);
  return count;
}
