#include "trace/decode.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/limits.h"
#include "trace/record.h"
#include "trace/varint.h"
#include "xsp/xsp.h"

namespace xsp::trace {
namespace {

Error malformed(const char* why) {
  return corrupt(std::string("spans of a chunk: ") + why + ": record the trace again");
}

// One column of a chunk, read value by value.
class ColumnReader {
 public:
  ColumnReader() = default;
  ColumnReader(std::span<const uint8_t> bytes, bool is_constant)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()), is_constant_(is_constant) {
    if (is_constant_) at_ = get_varint(at_, end_, &value_);
  }
  uint64_t next() {
    if (!is_constant_ && at_ != nullptr) at_ = get_varint(at_, end_, &value_);
    return value_;
  }
  // Every value so far was there; at the end of a chunk: nothing is left over.
  bool is_good() const { return at_ != nullptr; }
  bool is_at_end() const { return at_ == end_; }

 private:
  const uint8_t* at_ = nullptr;
  const uint8_t* end_ = nullptr;
  uint64_t value_ = 0;
  bool is_constant_ = false;
};

struct Columns {
  ColumnReader of[kColumnCount];
  std::span<const uint8_t> values;
};

Columns open_columns(const SpansHeader& header, std::span<const uint8_t> payload) {
  Columns columns;
  size_t at = sizeof header;
  for (uint32_t c = 0; c < kColumnCount; ++c) {
    columns.of[c] = ColumnReader(payload.subspan(at, header.column_bytes[c]),
                                 (header.constant & (1u << c)) != 0);
    at += header.column_bytes[c];
  }
  columns.values = payload.subspan(at);
  return columns;
}

int64_t clamp_given(uint64_t ns) {
  constexpr int64_t kMax = int64_t{1} << 61;
  return std::clamp(static_cast<int64_t>(ns), -kMax, kMax);
}

// Start and end of every span.
void decode_times(const SpansHeader& header, const Timeline& timeline, size_t epoch,
                  Columns* columns, SpanBatch* batch) {
  ColumnReader time = columns->of[kTime];
  ColumnReader duration = columns->of[kDuration];
  uint64_t now = header.base;
  const uint32_t count = header.span_count;
  batch->start_ns.resize(count);
  batch->end_ns.resize(count);
  if (header.is_given != 0) {
    constexpr uint64_t kDurationMax = uint64_t{1} << 61;
    for (uint32_t i = 0; i < count; ++i) {
      now += unzigzag(time.next());
      batch->start_ns[i] = clamp_given(now);
      batch->end_ns[i] =
          batch->start_ns[i] + static_cast<int64_t>(std::min(duration.next(), kDurationMax));
    }
  } else {
    size_t start_cursor = 0;
    size_t end_cursor = 0;
    for (uint32_t i = 0; i < count; ++i) {
      now += time.next();
      const uint64_t begun = now - std::min(duration.next(), now);
      const int64_t end_ns = timeline.unix_ns(now, epoch, &end_cursor);
      batch->end_ns[i] = end_ns;
      batch->start_ns[i] = std::min(timeline.unix_ns(begun, epoch, &start_cursor), end_ns);
    }
  }
  columns->of[kTime] = time;
  columns->of[kDuration] = duration;
}

bool decode_numbers(ColumnReader* column, uint32_t count, std::vector<uint32_t>* out) {
  ColumnReader reader = *column;
  out->resize(count);
  uint64_t all = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t value = reader.next();
    all |= value;
    (*out)[i] = static_cast<uint32_t>(value);
  }
  *column = reader;
  return all <= std::numeric_limits<uint32_t>::max();
}

double double_of(uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// The value inside the records, or their correlation ids.
bool decode_payloads(uint32_t count, Columns* columns, SpanBatch* batch) {
  ColumnReader& keys = columns->of[kKey];
  ColumnReader& payloads = columns->of[kPayload];
  uint64_t correlation = 0;
  uint64_t integer = 0;
  batch->correlation_id.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t key = keys.next();
    const uint64_t payload = payloads.next();
    if (key >> 2 == 0) {
      correlation += unzigzag(payload);
      batch->correlation_id[i] = correlation;
      continue;
    }
    if (key >> 2 > kKeyMax || (key & 3) == 3) return false;
    SpanValue value;
    value.span = i;
    value.key = static_cast<uint32_t>(key >> 2);
    value.kind = Record::kind_of(key & 3);
    if (value.kind == XSP_VALUE_INT) {
      integer += unzigzag(payload);
      value.as_int = static_cast<int64_t>(integer);
    } else {
      value.as_double = double_of(reverse_bytes(payload));
    }
    batch->values.push_back(std::move(value));
  }
  return true;
}

bool decode_values(const SpansHeader& header, std::span<const uint8_t> bytes, SpanBatch* batch) {
  const uint8_t* at = bytes.data();
  const uint8_t* end = at + bytes.size();
  uint64_t index = 0;
  for (uint32_t i = 0; i < header.value_count; ++i) {
    uint64_t step = 0;
    uint64_t key = 0;
    uint64_t number = 0;
    if ((at = get_varint(at, end, &step)) == nullptr) return false;
    if ((at = get_varint(at, end, &key)) == nullptr || at == end) return false;
    if (step >= header.span_count || (index += step) >= header.span_count) return false;
    if (key == 0 || key > kKeyMax) return false;
    SpanValue value;
    value.span = static_cast<uint32_t>(index);
    value.key = static_cast<uint32_t>(key);
    value.kind = *at++;
    if ((at = get_varint(at, end, &number)) == nullptr) return false;
    if (value.kind == XSP_VALUE_TEXT) {
      if (number > kSpanTextBytesMax || number > static_cast<size_t>(end - at)) return false;
      value.as_text.assign(reinterpret_cast<const char*>(at), number);
      at += number;
    } else if (value.kind == XSP_VALUE_INT) {
      value.as_int = static_cast<int64_t>(unzigzag(number));
    } else if (value.kind == XSP_VALUE_DOUBLE || value.kind == XSP_VALUE_COUNTER) {
      value.as_double = double_of(reverse_bytes(number));
    } else {
      return false;
    }
    batch->values.push_back(std::move(value));
  }
  return at == end;
}

}  // namespace

Result<SpansHeader> read_spans_header(std::span<const uint8_t> payload) {
  SpansHeader header;
  if (payload.size() < sizeof header) return malformed("too short");
  std::memcpy(&header, payload.data(), sizeof header);
  if (header.span_count == 0 || header.span_count > kChunkSpansMax || header.is_given > 1) {
    return malformed("impossible count or kind");
  }
  if (header.ordinal > UINT64_MAX - header.span_count) return malformed("impossible ordinal");
  uint64_t bytes = sizeof header;
  for (uint32_t c = 0; c < kColumnCount; ++c) {
    const bool is_constant = (header.constant & (1u << c)) != 0;
    const uint64_t least = is_constant ? 1 : header.span_count;
    if (header.column_bytes[c] < least) return malformed("a column is too short");
    bytes += header.column_bytes[c];
  }
  if (bytes > payload.size()) return malformed("columns are longer than the chunk");
  return header;
}

Status decode_spans(std::span<const uint8_t> payload, const Timeline& timeline, size_t epoch,
                    SpanBatch* batch) {
  batch->clear();
  XSP_TRY(const SpansHeader header, read_spans_header(payload));
  const uint32_t count = header.span_count;
  Columns columns = open_columns(header, payload);
  decode_times(header, timeline, epoch, &columns, batch);
  const bool in_range = decode_numbers(&columns.of[kSite], count, &batch->site) &&
                        decode_payloads(count, &columns, batch) &&
                        decode_numbers(&columns.of[kPlaceThread], count, &batch->thread) &&
                        decode_numbers(&columns.of[kPlaceDevice], count, &batch->device) &&
                        decode_numbers(&columns.of[kPlaceStream], count, &batch->stream) &&
                        decode_values(header, columns.values, batch);
  // Values inside records came first, then the further ones, each in the order of spans.
  const auto further = std::find_if(batch->values.begin(), batch->values.end(),
                                    [last = uint32_t{0}](const SpanValue& value) mutable {
                                      return std::exchange(last, value.span) > value.span;
                                    });
  std::inplace_merge(batch->values.begin(), further, batch->values.end(),
                     [](const SpanValue& a, const SpanValue& b) { return a.span < b.span; });
  bool is_good = in_range;
  for (const ColumnReader& column : columns.of) {
    is_good = is_good && column.is_good() && column.is_at_end();
  }
  if (!is_good) {
    batch->clear();
    return malformed("a column is damaged");
  }
  return Ok{};
}

void SpanBatch::clear() {
  start_ns.clear();
  end_ns.clear();
  site.clear();
  thread.clear();
  correlation_id.clear();
  device.clear();
  stream.clear();
  values.clear();
}

}  // namespace xsp::trace
