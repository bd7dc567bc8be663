#include "store/span_writer.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "xsp/xsp.h"

namespace xsp::store {

namespace {

int32_t to_int32(int64_t value) {
  return static_cast<int32_t>(std::clamp<int64_t>(value, std::numeric_limits<int32_t>::min(),
                                                  std::numeric_limits<int32_t>::max()));
}

template <typename T>
std::string number_text(T value) {
  char text[40];
  return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

// Bits of a validity mask, gathered until they are a word.
class Nulls {
 public:
  explicit Nulls(uint64_t* mask) : mask_(mask) {}
  void set(size_t row, bool is_null) {
    if (is_null) mask_[row / 64] &= ~(uint64_t{1} << (row % 64));
  }

 private:
  uint64_t* mask_;
};

// The columns of the table span, in the order of schema.sql.
enum SpanColumn : size_t {
  kRunId,
  kSpanId,
  kParentId,
  kLevel,
  kName,
  kType,
  kIteration,
  kOrdinal,
  kStartNs,
  kDurationNs,
  kProcess,
  kThread,
  kDevice,
  kStream,
  kCorrelationId,
  kModelId,
  kLayerId,
  kSiteId,
  kDepth,
  kSelfNs,
  kIsOpen,
};

}  // namespace

Result<SpanWriter> SpanWriter::open(Database::State& database, const RunInfo& run,
                                    const trace::Reader& reader) {
  XSP_TRY(TableAppender spans, TableAppender::open(database, "span"));
  XSP_TRY(FactAppender attributes, FactAppender::open(database, "span_attribute"));
  XSP_TRY(FactAppender counters, FactAppender::open(database, "span_counter"));
  SpanWriter writer(std::move(spans), std::move(attributes), std::move(counters));
  writer.run_id_ = run.run_id;
  writer.warmup_iterations_ = run.warmup_iterations;
  writer.process_ = to_int32(reader.process_id());
  for (const trace::Site& site : reader.sites()) {
    if (site.id >= writer.sites_.size()) writer.sites_.resize(site.id + size_t{1});
    writer.sites_[site.id].name.text = make_utf8(site.name);
    writer.sites_[site.id].type.text = make_utf8(site.type);
  }
  for (const std::string& key : reader.keys()) writer.keys_.push_back({make_utf8(key), {}});
  // Only now that the texts have their places.
  for (SiteTexts& site : writer.sites_) {
    site.name.borrowed = borrow_text(site.name.text);
    site.type.borrowed = borrow_text(site.type.text);
  }
  for (Text& key : writer.keys_) key.borrowed = borrow_text(key.text);
  return writer;
}

Status SpanWriter::spans(std::span<const correlate::Span> spans) {
  while (!spans.empty()) {
    const size_t count = std::min(spans.size(), spans_.capacity());
    write_ids(spans.first(count));
    write_places(spans.first(count));
    write_times(spans.first(count));
    XSP_CHECK_OK(spans_.append(count));
    spans = spans.subspan(count);
  }
  return Ok{};
}

Status SpanWriter::value(uint64_t span_id, const trace::SpanValue& value) {
  const auto id = static_cast<int64_t>(span_id);
  if (value.key >= keys_.size()) return Ok{};
  const duckdb_string_t key = keys_[value.key].borrowed;
  switch (value.kind) {
    case XSP_VALUE_COUNTER:
      return counters_.add(run_id_, id, key, value.as_double);
    case XSP_VALUE_INT:
      return attributes_.add(run_id_, id, key, number_text(value.as_int));
    case XSP_VALUE_DOUBLE:
      return attributes_.add(run_id_, id, key, number_text(value.as_double));
    default:
      return attributes_.add(run_id_, id, key, make_utf8(value.as_text));
  }
}

Status SpanWriter::close() {
  XSP_CHECK_OK(spans_.close());
  XSP_CHECK_OK(attributes_.close());
  return counters_.close();
}

void SpanWriter::write_ids(std::span<const correlate::Span> spans) {
  auto* run = spans_.column<int32_t>(kRunId);
  auto* id = spans_.column<int64_t>(kSpanId);
  auto* parent = spans_.column<int64_t>(kParentId);
  auto* model = spans_.column<int64_t>(kModelId);
  auto* layer = spans_.column<int64_t>(kLayerId);
  auto* correlation = spans_.column<int64_t>(kCorrelationId);
  auto* iteration = spans_.column<int32_t>(kIteration);
  auto* ordinal = spans_.column<int32_t>(kOrdinal);
  Nulls no_parent(spans_.validity(kParentId)), no_model(spans_.validity(kModelId));
  Nulls no_layer(spans_.validity(kLayerId)), no_correlation(spans_.validity(kCorrelationId));
  Nulls no_iteration(spans_.validity(kIteration)), no_ordinal(spans_.validity(kOrdinal));
  for (size_t i = 0; i < spans.size(); ++i) {
    const correlate::Span& span = spans[i];
    run[i] = run_id_;
    id[i] = static_cast<int64_t>(span.id);
    parent[i] = static_cast<int64_t>(span.parent_id);
    no_parent.set(i, span.parent_id == 0);
    model[i] = static_cast<int64_t>(span.model_id);
    no_model.set(i, span.model_id == 0);
    layer[i] = static_cast<int64_t>(span.layer_id);
    no_layer.set(i, span.layer_id == 0);
    correlation[i] = static_cast<int64_t>(span.correlation_id);
    no_correlation.set(i, span.correlation_id == 0);
    const bool outside = span.iteration == correlate::kNoIteration;
    iteration[i] = outside ? 0 : to_int32(span.iteration - warmup_iterations_);
    no_iteration.set(i, outside);
    ordinal[i] = span.ordinal;
    no_ordinal.set(i, span.ordinal < 0);
  }
}

void SpanWriter::write_places(std::span<const correlate::Span> spans) {
  auto* level = spans_.column<int8_t>(kLevel);
  auto* name = spans_.column<duckdb_string_t>(kName);
  auto* type = spans_.column<duckdb_string_t>(kType);
  auto* process = spans_.column<int32_t>(kProcess);
  auto* thread = spans_.column<int32_t>(kThread);
  auto* device = spans_.column<int32_t>(kDevice);
  auto* stream = spans_.column<int32_t>(kStream);
  auto* site = spans_.column<int32_t>(kSiteId);
  Nulls no_type(spans_.validity(kType)), no_device(spans_.validity(kDevice));
  Nulls no_stream(spans_.validity(kStream));
  for (size_t i = 0; i < spans.size(); ++i) {
    const correlate::Span& span = spans[i];
    const SiteTexts& texts = sites_[span.site];  // a span's site exists: it has a level
    level[i] = static_cast<int8_t>(span.level);
    name[i] = texts.name.borrowed;
    type[i] = texts.type.borrowed;
    no_type.set(i, texts.type.text.empty());
    process[i] = process_;
    thread[i] = static_cast<int32_t>(span.thread);
    device[i] = static_cast<int32_t>(span.device) - 1;
    no_device.set(i, span.device == 0);
    stream[i] = static_cast<int32_t>(span.stream) - 1;
    no_stream.set(i, span.stream == 0);
    site[i] = static_cast<int32_t>(span.site);
  }
}

void SpanWriter::write_times(std::span<const correlate::Span> spans) {
  auto* start = spans_.column<int64_t>(kStartNs);
  auto* duration = spans_.column<int64_t>(kDurationNs);
  auto* self = spans_.column<int64_t>(kSelfNs);
  auto* depth = spans_.column<int16_t>(kDepth);
  auto* is_open = spans_.column<bool>(kIsOpen);
  for (size_t i = 0; i < spans.size(); ++i) {
    const correlate::Span& span = spans[i];
    start[i] = span.start_ns;
    duration[i] = span.end_ns - span.start_ns;
    self[i] = span.self_ns;
    depth[i] = static_cast<int16_t>(std::min<uint32_t>(span.depth, 32767));
    is_open[i] = span.is_open;
  }
}

}  // namespace xsp::store
