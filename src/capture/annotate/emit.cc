// The emitting threads' half: what runs with every span.
//
// A span costs two clock readings, an entry on the lane's open-span stack, and one 32-byte record.
// There is no lock, no system call and no allocation, but with a thread's first span, which joins
// the recording. Thread-local access is initial-exec: one load relative to the thread's register,
// where the default model of a shared library would call into the loader; the one pointer fits into
// the space that the C library sets aside for libraries loaded late.
//
// Order of the stores, so that a kill at any instant leaves nothing twice and nothing forgotten:
// the record, the ring's head, then, in one store, the count of accepted spans and the depth of the
// stack.
#include <errno.h>
#include <string.h>

#include "capture/annotate/session.h"
#include "capture/annotate/tables.h"
#include "xsp/xsp.h"

namespace xsp::capture {
namespace {

using trace::Extra;
using trace::Lane;
using trace::LaneBlock;
using trace::OpenEntry;
using trace::PendingHead;
using trace::Record;

constexpr uint32_t kNoSite = UINT32_MAX;  // in xsp_site::id: the table was full
constexpr int kKeyKindShift = 16;         // in xsp_span::key: the kind of its value, above the key

inline bool is_likely(bool condition) { return __builtin_expect(condition, 1); }

inline uint64_t now_ticks() {
  return is_likely(session.tick_source == TickSource::kTsc)
             ? read_tsc()
             : static_cast<uint64_t>(clock_ns(CLOCK_MONOTONIC));
}

inline Lane* current_lane() {
  Lane* lane = thread_lane;
  if (is_likely(lane != nullptr && lane->generation.load(std::memory_order_relaxed) ==
                                       session.generation.load(std::memory_order_relaxed))) {
    return lane;
  }
  return nullptr;
}

// Of a span that no lane takes: counted, unless nothing is being recorded any more.
__attribute__((noinline)) void drop_without_lane(uint64_t count) {
  if ((session.generation.load(std::memory_order_relaxed) & 1) == 0) session.dropped_ring += count;
}

__attribute__((noinline)) uint32_t make_site(xsp_site* site) {
  uint32_t id = intern_site(site->level, site->name, site->type);
  if (id == 0) id = kNoSite;
  __atomic_store_n(&site->id, id, __ATOMIC_RELAXED);
  return id;
}

inline Record* slot(Lane* lane, uint64_t position) { return &lane->slots[position & lane->mask]; }

// Takes the span off the stack, and with it spans above it that were never ended, and adds to the
// count of accepted ones, in one store.
__attribute__((noinline)) void pop_unordered(Lane* lane, uint64_t start, uint64_t accepted) {
  LaneBlock* block = lane->block;
  const uint64_t live = trace::load(block->accepted_and_depth);
  uint64_t depth = live & LaneBlock::kDepthMask;
  uint64_t at = depth < trace::kOpenMax ? depth : trace::kOpenMax;
  while (at > 0 && block->open[at - 1].start != start) --at;
  // Not found: it began on another thread, or lies above what the stack keeps.
  if (at > 0) {
    depth = at - 1;
  } else if (depth > trace::kOpenMax) {
    --depth;
  }
  if (depth == 0) lane->pending_used = 0;
  trace::store(&block->accepted_and_depth,
               ((live & ~LaneBlock::kDepthMask) | depth) + accepted * LaneBlock::kOneAccepted);
}

inline void pop(Lane* lane, uint64_t start, uint64_t accepted) {
  LaneBlock* block = lane->block;
  const uint64_t live = trace::load(block->accepted_and_depth);
  const uint64_t depth = live & LaneBlock::kDepthMask;
  if (is_likely(depth - 1 < trace::kOpenMax && block->open[depth - 1].start == start)) {
    trace::store(&block->accepted_and_depth, live - 1 + accepted * LaneBlock::kOneAccepted);
  } else {
    pop_unordered(lane, start, accepted);
  }
}

__attribute__((noinline)) void push_deep(LaneBlock* block) {
  const uint64_t live = trace::load(block->accepted_and_depth);
  if ((live & LaneBlock::kDepthMask) < LaneBlock::kDepthMask) {
    trace::store(&block->accepted_and_depth, live + 1);
  }
}

inline void fill(Record* record, const xsp_span* span, uint64_t end, uint32_t extra_slots) {
  record->start = span->start;
  // Time-stamp counters of two cores may differ by a few ticks.
  record->duration = end > span->start ? end - span->start : 0;
  record->payload = span->value;
  record->site_id = span->site_id;
  record->key = static_cast<uint16_t>(span->key);
  record->bits =
      static_cast<uint16_t>((span->key >> kKeyKindShift) | (extra_slots << Record::kExtraShift));
}

// ---- Values of spans still open
// ------------------------------------------------------------------

// Calls visit(head, at) for the pending values of the span, and takes them out.
template <typename Visit>
void take_pending(Lane* lane, uint64_t start, Visit visit) {
  uint32_t kept = 0;
  for (uint32_t at = 0; at < lane->pending_used;) {
    PendingHead head;
    memcpy(&head, &lane->pending[at], sizeof head);
    const uint32_t size = 1 + head.slots;
    if (head.start == start) {
      visit(head.slots, &lane->pending[at + 1]);
    } else {
      memmove(&lane->pending[kept], &lane->pending[at], size * sizeof(Record));
      kept += size;
    }
    at += size;
  }
  lane->pending_used = kept;
}

__attribute__((noinline)) void end_with_values(Lane* lane, const xsp_span* span, uint64_t end) {
  uint32_t slots = 0;
  for (uint32_t at = 0; at < lane->pending_used;) {
    PendingHead head;
    memcpy(&head, &lane->pending[at], sizeof head);
    if (head.start == span->start) slots += head.slots;
    at += 1 + head.slots;
  }
  if (span->site_id == 0 || !trace::has_room(lane, 1 + slots)) {
    take_pending(lane, span->start, [](uint32_t, const Record*) {});
    trace::add_one(span->site_id == 0 ? &lane->block->dropped_site : &lane->block->dropped_ring);
    pop(lane, span->start, 0);
    return;
  }
  const uint64_t head = lane->head.load(std::memory_order_relaxed);
  fill(slot(lane, head), span, end, slots);
  uint64_t position = head + 1;
  take_pending(lane, span->start, [&](uint32_t count, const Record* from) {
    for (uint32_t i = 0; i < count; ++i) *slot(lane, position++) = from[i];
  });
  lane->head.store(position, std::memory_order_release);
  pop(lane, span->start, 1);
}

void drop_value() { session.dropped_value.fetch_add(1, std::memory_order_relaxed); }

// Keeps a value until its span ends. `text`: NULL, or extra.text_bytes bytes.
void add_pending(const xsp_span* span, Extra extra, const char* text) {
  Lane* lane = current_lane();
  if (lane == nullptr || span->start == 0) return;
  const uint32_t slots = text != nullptr ? trace::slots_of_text(extra.text_bytes) : 1;
  if (!is_key(extra.key) || lane->pending_used + 1 + slots > trace::kPendingSlots) {
    drop_value();
    return;
  }
  const PendingHead head = {span->start, slots, {}};
  Record* at = &lane->pending[lane->pending_used];
  memcpy(at, &head, sizeof head);
  memcpy(at + 1, &extra, sizeof extra);
  if (text != nullptr) {
    memcpy(reinterpret_cast<char*>(at + 1) + offsetof(Extra, text), text, extra.text_bytes);
  }
  lane->pending_used += 1 + slots;
}

void add_number(xsp_span* span, uint32_t key, uint8_t kind, uint64_t bits) {
  if (span->start == 0) return;
  if (!is_key(key)) {
    drop_value();
  } else if (span->key == 0) {
    span->key = key | uint32_t{Record::kind_bits(kind)} << kKeyKindShift;
    span->value = bits;
  } else {
    Extra extra = {};
    extra.key = static_cast<uint16_t>(key);
    extra.kind = kind;
    extra.number = bits;
    add_pending(span, extra, nullptr);
  }
}

uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

// The size of a text of a span, cut at a whole character of UTF-8 if it is too long.
uint32_t text_size(const char* text) {
  size_t size = strnlen(text, kSpanTextBytesMax + 1);
  if (size > kSpanTextBytesMax) {
    size = kSpanTextBytesMax;
    while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) --size;
  }
  return static_cast<uint32_t>(size);
}

// ---- Spans with given times
// ----------------------------------------------------------------------

bool is_valid(const xsp_value& value) {
  return is_key(value.key) && value.kind >= XSP_VALUE_INT && value.kind <= XSP_VALUE_COUNTER &&
         (value.kind != XSP_VALUE_TEXT || value.value.as_text != nullptr);
}

// Writes the values of a span after its record, from `position` on, the first `begin` of them left
// out.
uint64_t put_values(Lane* lane, uint64_t position, const xsp_complete_span& span, size_t begin) {
  for (size_t i = begin; i < span.value_count; ++i) {
    const xsp_value& value = span.values[i];
    if (!is_valid(value)) {
      drop_value();
      continue;
    }
    Extra extra = {};
    extra.key = static_cast<uint16_t>(value.key);
    extra.kind = static_cast<uint8_t>(value.kind);
    if (value.kind != XSP_VALUE_TEXT) {
      extra.number = bits_of(value.value.as_double);
      memcpy(slot(lane, position++), &extra, sizeof extra);
      continue;
    }
    const char* text = value.value.as_text;
    uint32_t left = extra.text_bytes = text_size(text);
    const uint32_t first = left < sizeof extra.text ? left : sizeof extra.text;
    memcpy(extra.text, text, first);
    memcpy(slot(lane, position++), &extra, sizeof extra);
    text += first;
    for (left -= first; left > 0;) {
      const uint32_t here = left < sizeof(Record) ? left : static_cast<uint32_t>(sizeof(Record));
      memcpy(slot(lane, position++), text, here);
      text += here;
      left -= here;
    }
  }
  return position;
}

// Slots for the values but the first `begin`; the count of them that fit into a group is left in
// *span.
uint32_t slots_of_values(xsp_complete_span* span, size_t begin) {
  uint32_t slots = 0;
  for (size_t i = begin; i < span->value_count; ++i) {
    const xsp_value& value = span->values[i];
    uint32_t here = is_valid(value) ? 1 : 0;
    if (here != 0 && value.kind == XSP_VALUE_TEXT) {
      here = trace::slots_of_text(text_size(value.value.as_text));
    }
    if (slots + here > trace::kExtraSlotsMax - 1) {
      session.dropped_value += span->value_count - i;
      span->value_count = i;
      break;
    }
    slots += here;
  }
  return slots;
}

void emit(Lane* lane, xsp_complete_span span) {
  const uint64_t duration = span.duration_ns > 0 ? static_cast<uint64_t>(span.duration_ns) : 0;
  Record record = {static_cast<uint64_t>(span.start_ns),
                   duration,
                   span.correlation_id,
                   span.site_id,
                   0,
                   Record::kGiven};
  // The first number goes into the record itself, if the correlation id leaves it free.
  size_t begin = 0;
  if (span.correlation_id == 0 && span.value_count > 0 && is_valid(span.values[0]) &&
      span.values[0].kind != XSP_VALUE_TEXT) {
    const uint32_t kind = span.values[0].kind;
    record.key = static_cast<uint16_t>(span.values[0].key);
    record.bits |= Record::kind_bits(kind);
    record.payload = bits_of(span.values[0].value.as_double);
    begin = 1;
  }
  const bool has_place = span.thread != 0 || span.device != 0 || span.stream != 0;
  const uint32_t slots = slots_of_values(&span, begin) + (has_place ? 1 : 0);
  if (!trace::has_room(lane, 1 + slots)) {
    trace::add_one(&lane->block->dropped_ring);
    return;
  }
  record.bits |= static_cast<uint16_t>(slots << Record::kExtraShift);
  const uint64_t head = lane->head.load(std::memory_order_relaxed);
  *slot(lane, head) = record;
  uint64_t position = head + 1;
  if (has_place) {
    Extra extra = {};
    extra.kind = Extra::kPlace;
    extra.place[0] = span.thread != 0 ? span.thread : lane->thread;
    extra.place[1] = span.device;
    extra.place[2] = span.stream;
    memcpy(slot(lane, position++), &extra, sizeof extra);
  }
  position = put_values(lane, position, span, begin);
  lane->head.store(position, std::memory_order_release);
  trace::add_one(&lane->block->accepted_given);
}

bool is_lower_hex(const char* text, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    if (!((text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f'))) return false;
  }
  return true;
}

bool is_zero(const char* text, size_t size) { return strspn(text, "0") >= size; }

// As the W3C recommendation has it: later versions may append fields.
bool is_traceparent(const char* text) {
  constexpr size_t kSize = 55;
  if (strnlen(text, kSize) < kSize) return false;
  if (text[2] != '-' || text[35] != '-' || text[52] != '-') return false;
  if (!is_lower_hex(text, 2) || !is_lower_hex(text + 3, 32) || !is_lower_hex(text + 36, 16) ||
      !is_lower_hex(text + 53, 2)) {
    return false;
  }
  if (strncmp(text, "ff", 2) == 0 || is_zero(text + 3, 32) || is_zero(text + 36, 16)) return false;
  const bool is_first_version = strncmp(text, "00", 2) == 0;
  return text[kSize] == '\0' || (!is_first_version && text[kSize] == '-');
}

}  // namespace
}  // namespace xsp::capture

namespace c = xsp::capture;
namespace t = xsp::trace;

extern "C" {

xsp_span xsp_begin_recorded(xsp_site* site) {
  t::Lane* lane = c::current_lane();
  if (!c::is_likely(lane != nullptr)) {
    lane = c::attach_thread();
    if (lane == nullptr) {
      c::drop_without_lane(1);
      return {0, 0, 0, 0};
    }
  }
  uint32_t id = __atomic_load_n(&site->id, __ATOMIC_RELAXED);
  if (!c::is_likely(id != 0)) id = c::make_site(site);
  if (!c::is_likely(id != c::kNoSite)) id = 0;
  t::LaneBlock* block = lane->block;
  const uint64_t live = t::load(block->accepted_and_depth);
  const uint64_t depth = live & t::LaneBlock::kDepthMask;
  const uint64_t start = c::now_ticks();
  if (c::is_likely(depth < t::kOpenMax)) {
    t::OpenEntry* entry = &block->open[depth];
    __atomic_store_n(&entry->site_id, id, __ATOMIC_RELAXED);
    __atomic_store_n(&entry->start, start, __ATOMIC_RELAXED);
    t::store(&block->accepted_and_depth, live + 1);
  } else {
    c::push_deep(block);
  }
  return {start, 0, id, 0};
}

void xsp_end_recorded(const xsp_span* span) {
  const uint64_t end = c::now_ticks();
  t::Lane* lane = c::current_lane();
  if (!c::is_likely(lane != nullptr)) {
    // Begun in a recording before this one, or before a fork: it was written as open there.
    if (span->start < c::session.first_ticks.load(std::memory_order_relaxed)) return;
    lane = c::attach_thread();
    if (lane == nullptr) {
      c::drop_without_lane(1);
      return;
    }
  }
  if (!c::is_likely(lane->pending_used == 0)) {
    c::end_with_values(lane, span, end);
    return;
  }
  if (!c::is_likely(span->site_id != 0)) {
    t::add_one(&lane->block->dropped_site);
    c::pop(lane, span->start, 0);
    return;
  }
  if (!c::is_likely(t::has_room(lane, 1))) {
    t::add_one(&lane->block->dropped_ring);
    c::pop(lane, span->start, 0);
    return;
  }
  const uint64_t head = lane->head.load(std::memory_order_relaxed);
  c::fill(c::slot(lane, head), span, end, 0);
  lane->head.store(head + 1, std::memory_order_release);
  c::pop(lane, span->start, 1);
}

void xsp_span_int(xsp_span* span, uint32_t key, int64_t value) {
  c::add_number(span, key, XSP_VALUE_INT, static_cast<uint64_t>(value));
}
void xsp_span_double(xsp_span* span, uint32_t key, double value) {
  c::add_number(span, key, XSP_VALUE_DOUBLE, c::bits_of(value));
}
void xsp_span_counter(xsp_span* span, uint32_t key, double value) {
  c::add_number(span, key, XSP_VALUE_COUNTER, c::bits_of(value));
}
void xsp_span_text(xsp_span* span, uint32_t key, const char* value) {
  if (span->start == 0 || value == nullptr) return;
  t::Extra extra = {};
  extra.key = static_cast<uint16_t>(key);
  extra.kind = XSP_VALUE_TEXT;
  extra.text_bytes = c::text_size(value);
  c::add_pending(span, extra, value);
}

int xsp_span_traceparent(xsp_span* span, const char* traceparent) {
  if (traceparent == nullptr || !c::is_traceparent(traceparent)) return EINVAL;
  if (span->start != 0) xsp_span_text(span, c::intern_key("traceparent"), traceparent);
  return 0;
}

void xsp_emit(const xsp_complete_span* given) {
  xsp_complete_span span = {};
  memcpy(&span, given, given->struct_size < sizeof span ? given->struct_size : sizeof span);
  const uint32_t level = c::site_level(span.site_id);
  if (level != 0 && !xsp_is_recorded(level)) return;
  if (xsp_recorded_levels == 0) return;
  t::Lane* lane = c::current_lane();
  if (lane == nullptr) lane = c::attach_thread();
  if (lane == nullptr) {
    c::drop_without_lane(1);
  } else if (level == 0) {
    t::add_one(&lane->block->dropped_site);
  } else {
    c::emit(lane, span);
  }
}

int64_t xsp_now_ns(void) {
  if ((c::session.generation.load(std::memory_order_relaxed) & 1) != 0) {
    return xsp::clock_ns(CLOCK_REALTIME);
  }
  return xsp::clock_ns(CLOCK_MONOTONIC) + c::session.unix_offset_ns.load(std::memory_order_relaxed);
}

int xsp_start(const xsp_options* options) {
  xsp_options complete = {};
  if (options != nullptr) {
    const size_t size = options->struct_size;
    memcpy(&complete, options, size < sizeof complete ? size : sizeof complete);
  }
  return c::start(complete);
}
int xsp_stop(void) { return c::stop(); }
void xsp_flush(void) { c::flush(); }
void xsp_set_levels(uint32_t levels) { c::set_levels(levels); }

uint32_t xsp_intern_site(uint32_t level, const char* name, const char* type) {
  return c::intern_site(level, name, type);
}
void xsp_site_attribute(uint32_t site_id, const char* key, const char* value) {
  c::add_site_attribute(site_id, key, value);
}
void xsp_site_counter(uint32_t site_id, const char* key, double value) {
  c::add_site_counter(site_id, key, value);
}
uint32_t xsp_intern_key(const char* key) { return c::intern_key(key); }
void xsp_get_counts(xsp_counts* counts) { c::get_counts(counts); }
void xsp_count_loss(const char* source, const char* cause, uint64_t count) {
  c::count_loss(source, cause, count);
}

}  // extern "C"
