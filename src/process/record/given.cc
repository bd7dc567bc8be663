// Spans whose times are given: another profiler measured them.
#include <string.h>

#include "process/record/emit.h"
#include "process/record/tables.h"

namespace xsp::process {
namespace {

using trace::Extra;
using trace::Lane;
using trace::Record;

bool is_valid(const xsp_value& value) {
  return is_key(value.key) && value.kind >= XSP_VALUE_INT && value.kind <= XSP_VALUE_COUNTER &&
         (value.kind != XSP_VALUE_TEXT || value.value.as_text != nullptr);
}

// Writes the values of a span after its record, from `position` on, except the first `begin`
// values.
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

// Returns the number of slots for the values after the first `begin`. Cuts span->value_count to the
// values that fit into a group.
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

// Returns whether the level was recorded at any time of this recording. For a site without a level
// (0), any recorded level counts.
bool is_given(uint32_t level) {
  const uint32_t levels = session.given_levels.load(std::memory_order_relaxed);
  return level == 0 ? levels != 0 : (levels >> level & 1) != 0;
}

void emit(Lane* lane, xsp_complete_span span) {
  const uint64_t duration = span.duration_ns > 0 ? static_cast<uint64_t>(span.duration_ns) : 0;
  Record record = {static_cast<uint64_t>(span.start_ns),
                   duration,
                   span.correlation_id,
                   span.site_id,
                   0,
                   Record::kGiven};
  // The first number is stored in the record itself if there is no correlation id in its place.
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

}  // namespace
}  // namespace xsp::process

namespace c = xsp::process;
namespace t = xsp::trace;

extern "C" {

void xsp_emit(const xsp_complete_span* given) {
  xsp_complete_span span = {};
  memcpy(&span, given, given->struct_size < sizeof span ? given->struct_size : sizeof span);
  const uint32_t level = c::site_level(span.site_id);
  if (!c::is_given(level)) return;
  t::Lane* lane = c::joined_lane();
  if (lane == nullptr) return;
  if (!c::is_given(level)) return;  // joining may have made a child's file, for later
  if (level == 0) {
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

}  // extern "C"
