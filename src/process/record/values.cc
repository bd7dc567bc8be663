// Values of open spans. They wait in the lane, outside the ring, until their span ends, and then go
// into the ring together with it: a span is recorded with all its values, or not at all.
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "process/record/emit.h"
#include "process/record/tables.h"

namespace xsp::process {

using trace::Extra;
using trace::Lane;
using trace::PendingHead;
using trace::Record;

namespace {

// Calls visit(slots, at) for each pending value of the span, and removes these values.
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

// Keeps a value until its span ends. `text` is NULL or has extra.text_bytes bytes.
void add_pending(xsp_span* span, Extra extra, const char* text) {
  Lane* lane = current_lane();
  if (lane == nullptr || span->start == 0 || span->site_id == kStepAlone) return;
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
  span->key |= kHasPending;
}

void add_number(xsp_span* span, uint32_t key, uint8_t kind, uint64_t bits) {
  if (span->start == 0) return;
  if (!is_key(key)) {
    drop_value();
  } else if ((span->key & ~kHasPending) == 0) {
    span->key |= key | uint32_t{Record::kind_bits(kind)} << kKeyKindShift;
    span->value = bits;
  } else {
    Extra extra = {};
    extra.key = static_cast<uint16_t>(key);
    extra.kind = kind;
    extra.number = bits;
    add_pending(span, extra, nullptr);
  }
}

bool is_lower_hex(const char* text, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    if (!((text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f'))) return false;
  }
  return true;
}

bool is_zero(const char* text, size_t size) { return strspn(text, "0") >= size; }

// Follows the W3C recommendation: later versions may append fields.
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

void end_with_values(Lane* lane, const xsp_span* span, uint64_t end) {
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

uint32_t text_size(const char* text) {
  size_t size = strnlen(text, kSpanTextBytesMax + 1);
  if (size > kSpanTextBytesMax) {
    size = kSpanTextBytesMax;
    while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) --size;
  }
  return static_cast<uint32_t>(size);
}

}  // namespace xsp::process

namespace c = xsp::process;
namespace t = xsp::trace;

extern "C" {

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

void xsp_span_batch(xsp_span* span, int64_t inputs) {
  static uint32_t key = 0;
  if (span->start == 0 || inputs <= 0) return;
  if (__atomic_load_n(&key, __ATOMIC_RELAXED) == 0) {
    __atomic_store_n(&key, xsp_intern_key("batch"), __ATOMIC_RELAXED);
  }
  xsp_span_int(span, key, inputs);
}

int xsp_span_traceparent(xsp_span* span, const char* traceparent) {
  if (traceparent == nullptr || !c::is_traceparent(traceparent)) return EINVAL;
  if (span->start != 0) xsp_span_text(span, c::intern_key("traceparent"), traceparent);
  return 0;
}

}  // extern "C"
