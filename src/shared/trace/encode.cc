#include "shared/trace/encode.h"

#include <cstring>

#include "xsp/xsp.h"

namespace xsp::trace {

void SpanEncoder::ColumnWriter::clear() {
  end = begin;
  count = 0;
  is_constant = true;
}

void SpanEncoder::ColumnWriter::put(uint64_t value) {
  if (is_constant) {
    if (count == 0) first = value;
    if (value == first) {
      ++count;
      return;
    }
    is_constant = false;
    for (uint32_t i = 0; i < count; ++i) end = put_varint(end, first);
  }
  end = put_varint(end, value);
}

SpanEncoder::SpanEncoder(uint8_t* memory) {
  for (ColumnWriter& column : columns_) {
    column.begin = memory;
    memory += kColumnBytes;
  }
  values_ = memory;
  begin(0, 0, false);
}

void SpanEncoder::begin(uint32_t lane, uint32_t thread, bool is_given) {
  for (ColumnWriter& column : columns_) column.clear();
  values_end_ = values_;
  header_ = {};
  header_.lane = lane;
  header_.thread = thread;
  header_.is_given = is_given ? 1 : 0;
  last_time_ = last_int_ = last_correlation_ = 0;
  last_value_span_ = 0;
}

bool SpanEncoder::add(Slots slots, uint64_t position) {
  const Record& record = slots[position];
  // Leave room for the largest possible group: two bytes for each byte of its slots are always
  // enough.
  const size_t values_free = kValuesBytes - static_cast<size_t>(values_end_ - values_);
  if (header_.span_count == kChunkSpansMax ||
      values_free < size_t{record.extra_slots()} * 2 * kSlotBytes) {
    return false;
  }
  const bool is_given = header_.is_given != 0;
  const uint64_t time = is_given ? record.start : record.start + record.duration;
  if (header_.span_count == 0) {
    header_.base = last_time_ = time;
  } else if (!is_given && time < last_time_) {
    return false;
  }
  columns_[kTime].put(is_given ? zigzag(time - last_time_) : time - last_time_);
  last_time_ = time;
  columns_[kDuration].put(record.duration);
  columns_[kSite].put(record.site_id);
  const uint32_t kind = record.bits & Record::kKindMask;
  columns_[kKey].put(uint64_t{record.key} << 2 | kind);
  if (record.key == 0) {
    columns_[kPayload].put(zigzag(record.payload - last_correlation_));
    last_correlation_ = record.payload;
  } else if (Record::kind_of(kind) == XSP_VALUE_INT) {
    columns_[kPayload].put(zigzag(record.payload - last_int_));
    last_int_ = record.payload;
  } else {
    columns_[kPayload].put(reverse_bytes(record.payload));
  }
  add_values(slots, position, record);
  ++header_.span_count;
  return true;
}

void SpanEncoder::add_values(Slots slots, uint64_t position, const Record& record) {
  uint32_t place[3] = {header_.thread, 0, 0};
  const uint64_t end = position + 1 + record.extra_slots();
  for (++position; position < end;) {
    Extra extra;
    std::memcpy(&extra, &slots[position], sizeof extra);
    const uint64_t next =
        position + slots_of_text(extra.kind == XSP_VALUE_TEXT ? extra.text_bytes : 0);
    if (extra.kind == Extra::kPlace) {
      std::memcpy(place, extra.place, sizeof place);
    } else {
      values_end_ = put_varint(values_end_, header_.span_count - last_value_span_);
      values_end_ = put_varint(values_end_, extra.key);
      *values_end_++ = extra.kind;
      if (extra.kind == XSP_VALUE_TEXT) {
        add_text(slots, position, extra.text_bytes);
      } else if (extra.kind == XSP_VALUE_INT) {
        values_end_ = put_varint(values_end_, zigzag(extra.number));
      } else {
        values_end_ = put_varint(values_end_, reverse_bytes(extra.number));
      }
      last_value_span_ = header_.span_count;
      ++header_.value_count;
    }
    position = next;
  }
  for (uint32_t i = 0; i < 3; ++i) columns_[kPlaceThread + i].put(place[i]);
}

// The text begins inside the slot at `position` and continues in the slots after it.
void SpanEncoder::add_text(Slots slots, uint64_t position, uint32_t bytes) {
  values_end_ = put_varint(values_end_, bytes);
  uint32_t offset = offsetof(Extra, text);
  while (bytes > 0) {
    const uint32_t here = bytes < kSlotBytes - offset ? bytes : kSlotBytes - offset;
    std::memcpy(values_end_, reinterpret_cast<const uint8_t*>(&slots[position]) + offset, here);
    values_end_ += here;
    bytes -= here;
    offset = 0;
    ++position;
  }
}

size_t SpanEncoder::finish(uint64_t ordinal, uint64_t dropped_ring, uint64_t dropped_site,
                           uint8_t* out) {
  header_.ordinal = ordinal;
  header_.dropped_ring = dropped_ring;
  header_.dropped_site = dropped_site;
  uint8_t* end = out + sizeof header_;
  for (uint32_t c = 0; c < kColumnCount; ++c) {
    ColumnWriter& column = columns_[c];
    if (column.is_constant) {
      header_.constant |= 1u << c;
      column.end = put_varint(column.begin, column.first);
    }
    const size_t bytes = static_cast<size_t>(column.end - column.begin);
    header_.column_bytes[c] = static_cast<uint32_t>(bytes);
    std::memcpy(end, column.begin, bytes);
    end += bytes;
  }
  const size_t value_bytes = static_cast<size_t>(values_end_ - values_);
  std::memcpy(end, values_, value_bytes);
  end += value_bytes;
  std::memcpy(out, &header_, sizeof header_);
  return static_cast<size_t>(end - out);
}

}  // namespace xsp::trace
