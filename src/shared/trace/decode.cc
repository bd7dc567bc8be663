#include "shared/trace/decode.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "shared/base/limits.h"
#include "shared/trace/record.h"
#include "shared/trace/varint.h"
#include "xsp/xsp.h"

namespace xsp::trace {
namespace {

Error malformed(const char* why) {
  return corrupt(std::string("spans of a chunk: ") + why + ": record the trace again");
}

// Reads one column of a chunk, value by value.
class ColumnReader {
 public:
  ColumnReader() = default;
  ColumnReader(std::span<const uint8_t> bytes, bool is_constant)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()), is_constant_(is_constant) {
    if (is_constant_) at_ = get_varint(at_, end_, &value_);
  }
  uint64_t next() {
    if (is_constant_ || at_ == nullptr) return value_;
    at_ = static_cast<size_t>(end_ - at_) >= kVarintBytesMax ? get_varint_unbounded(at_, &value_)
                                                             : get_varint(at_, end_, &value_);
    return value_;
  }
  bool is_constant() const { return is_constant_; }
  // Returns whether every value so far was there; at the end of a chunk, is_at_end() tells whether
  // bytes are left.
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

// Converts ticks to UNIX time. Successive ticks are mostly on the same stretch.
class TickConverter {
 public:
  TickConverter(const Timeline& timeline, size_t epoch) : timeline_(timeline), epoch_(epoch) {}
  int64_t unix_ns(uint64_t ticks) {
    if (!stretch_.holds(ticks)) stretch_ = timeline_.stretch(ticks, epoch_);
    return stretch_.unix_ns(ticks);
  }

 private:
  const Timeline& timeline_;
  const size_t epoch_;
  Timeline::Stretch stretch_;
};

// Decodes the start and the end of every span.
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
    TickConverter starts(timeline, epoch);
    TickConverter ends(timeline, epoch);
    for (uint32_t i = 0; i < count; ++i) {
      now += time.next();
      const uint64_t begun = now - std::min(duration.next(), now);
      const int64_t end_ns = ends.unix_ns(now);
      batch->end_ns[i] = end_ns;
      batch->start_ns[i] = std::min(starts.unix_ns(begun), end_ns);
    }
  }
  columns->of[kTime] = time;
  columns->of[kDuration] = duration;
}

bool decode_numbers(ColumnReader* column, uint32_t count, std::vector<uint32_t>* out) {
  ColumnReader reader = *column;
  if (reader.is_constant()) {
    const uint64_t value = reader.next();
    out->assign(count, static_cast<uint32_t>(value));
    return value <= std::numeric_limits<uint32_t>::max();
  }
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

// Decodes the values inside the records, or their correlation ids.
bool decode_payloads(uint32_t count, Columns* columns, SpanBatch* batch) {
  ColumnReader& keys = columns->of[kKey];
  ColumnReader& payloads = columns->of[kPayload];
  uint64_t correlation = 0;
  uint64_t integer = 0;
  batch->correlation_id.assign(count, 0);
  // Most chunks have spans with neither a value nor a correlation id.
  if (keys.is_constant() && keys.next() == 0 && payloads.is_constant() && payloads.next() == 0) {
    return true;
  }
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
  // The values inside records come first, then the further ones, each in the order of spans.
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

void append_block_times(const SpanBatch& batch, size_t block_spans,
                        std::vector<BlockTimes>* blocks) {
  for (size_t begin = 0; begin < batch.size(); begin += block_spans) {
    const size_t end = std::min(begin + block_spans, batch.size());
    BlockTimes block;
    block.span_count = static_cast<uint32_t>(end - begin);
    block.first_end_ns = block.last_end_ns = batch.end_ns[begin];
    block.earliest_start_ns = batch.start_ns[begin];
    for (size_t i = begin + 1; i < end; ++i) {
      block.is_ordered &= batch.end_ns[i - 1] <= batch.end_ns[i];
      block.last_end_ns = std::max(block.last_end_ns, batch.end_ns[i]);
      block.earliest_start_ns = std::min(block.earliest_start_ns, batch.start_ns[i]);
    }
    blocks->push_back(block);
  }
}

namespace {

// Scans spans in ticks: only the ends of a block are converted.
void scan_ticks(const SpansHeader& header, const Timeline& timeline, size_t epoch,
                size_t block_spans, Columns* columns, std::vector<BlockTimes>* blocks) {
  ColumnReader time = columns->of[kTime];
  ColumnReader duration = columns->of[kDuration];
  TickConverter converter(timeline, epoch);
  uint64_t now = header.base;
  for (size_t begin = 0; begin < header.span_count; begin += block_spans) {
    const size_t count = std::min<size_t>(block_spans, header.span_count - begin);
    uint64_t first_end = 0;
    uint64_t earliest_start = UINT64_MAX;
    for (size_t i = 0; i < count; ++i) {
      now += time.next();
      if (i == 0) first_end = now;
      earliest_start = std::min(earliest_start, now - std::min(duration.next(), now));
    }
    BlockTimes block;
    block.first_end_ns = converter.unix_ns(first_end);
    block.last_end_ns = converter.unix_ns(now);
    block.earliest_start_ns = std::min(converter.unix_ns(earliest_start), block.first_end_ns);
    block.is_ordered = block.first_end_ns <= block.last_end_ns;
    block.span_count = static_cast<uint32_t>(count);
    blocks->push_back(block);
  }
  columns->of[kTime] = time;
  columns->of[kDuration] = duration;
}

}  // namespace

Status decode_block_times(std::span<const uint8_t> payload, const Timeline& timeline, size_t epoch,
                          size_t block_spans, std::vector<BlockTimes>* blocks) {
  XSP_TRY(const SpansHeader header, read_spans_header(payload));
  Columns columns = open_columns(header, payload);
  const size_t first = blocks->size();
  if (header.is_given != 0) {
    SpanBatch batch;
    decode_times(header, timeline, epoch, &columns, &batch);
    append_block_times(batch, block_spans, blocks);
  } else {
    scan_ticks(header, timeline, epoch, block_spans, &columns, blocks);
  }
  if (columns.of[kTime].is_good() && columns.of[kDuration].is_good()) return Ok{};
  blocks->resize(first);
  return malformed("a column is damaged");
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

void SpanBatch::keep(const std::vector<bool>& is_kept) {
  if (std::find(is_kept.begin(), is_kept.end(), false) == is_kept.end()) return;
  std::vector<uint32_t> new_index(size(), UINT32_MAX);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < size(); ++i) {
    if (!is_kept[i]) continue;
    new_index[i] = kept;
    start_ns[kept] = start_ns[i];
    end_ns[kept] = end_ns[i];
    site[kept] = site[i];
    thread[kept] = thread[i];
    correlation_id[kept] = correlation_id[i];
    device[kept] = device[i];
    stream[kept] = stream[i];
    ++kept;
  }
  start_ns.resize(kept);
  end_ns.resize(kept);
  site.resize(kept);
  thread.resize(kept);
  correlation_id.resize(kept);
  device.resize(kept);
  stream.resize(kept);
  std::erase_if(values, [&](SpanValue& value) {
    value.span = new_index[value.span];
    return value.span == UINT32_MAX;
  });
}

}  // namespace xsp::trace
