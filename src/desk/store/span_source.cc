#include "desk/store/span_source.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <thread>

#include "xsp/xsp.h"

namespace xsp::store {

namespace {

// The number of rows that DuckDB compresses together.
constexpr size_t kRowsOfGroup = 122880;

int32_t to_int32(int64_t value) {
  return static_cast<int32_t>(std::clamp<int64_t>(value, std::numeric_limits<int32_t>::min(),
                                                  std::numeric_limits<int32_t>::max()));
}

template <typename T>
std::string number_text(T value) {
  char text[40];
  return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

// The columns of the table span_row, in the order of spans.sql.
enum SpanColumn : size_t {
  kRunId,
  kSpanId,
  kParentId,
  kLevel,
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
  kColumnCount,
};

duckdb_type type_of(size_t column) {
  switch (column) {
    case kLevel:
      return DUCKDB_TYPE_TINYINT;
    case kDepth:
      return DUCKDB_TYPE_SMALLINT;
    case kIsOpen:
      return DUCKDB_TYPE_BOOLEAN;
    case kSpanId:
    case kParentId:
    case kStartNs:
    case kDurationNs:
    case kCorrelationId:
    case kModelId:
    case kLayerId:
    case kSelfNs:
      return DUCKDB_TYPE_BIGINT;
    default:
      return DUCKDB_TYPE_INTEGER;
  }
}

// Writes one column of a chunk.
template <typename T>
class ColumnWriter {
 public:
  ColumnWriter(duckdb_data_chunk chunk, size_t column)
      : vector_(duckdb_data_chunk_get_vector(chunk, column)),
        data_(static_cast<T*>(duckdb_vector_get_data(vector_))) {}

  void set(size_t i, T value) { data_[i] = value; }
  void set(size_t i, T value, bool is_null) {
    data_[i] = value;
    if (is_null) set_null(i);
  }

 private:
  void set_null(size_t row) {
    if (mask_ == nullptr) {
      duckdb_vector_ensure_validity_writable(vector_);
      mask_ = duckdb_vector_get_validity(vector_);
    }
    mask_[row / 64] &= ~(uint64_t{1} << (row % 64));
  }

  duckdb_vector vector_;
  T* data_;
  uint64_t* mask_ = nullptr;
};

}  // namespace

// ---- Values
// ---------------------------------------------------------------------------------------

Result<ValueWriter> ValueWriter::open(duckdb_connection connection, Database::State* database,
                                      int run_id, const trace::Reader& reader, const Part& part) {
  XSP_TRY(FactAppender attributes,
          FactAppender::open(connection, database->name, "span_attribute"));
  XSP_TRY(FactAppender counters, FactAppender::open(connection, database->name, "span_counter"));
  ValueWriter writer(std::move(attributes), std::move(counters));
  writer.database_ = database;
  writer.run_id_ = run_id;
  writer.first_span_ = part.first_span;
  for (const std::string& key : reader.keys()) {
    writer.keys_.emplace_back(key, database->replaced_texts);
  }
  return writer;
}

Status ValueWriter::value(uint64_t span_id, const trace::SpanValue& value) {
  const int64_t id = first_span_ + static_cast<int64_t>(span_id);
  if (value.key >= keys_.size()) return Ok{};
  const duckdb_string_t key = keys_[value.key].get();
  switch (value.kind) {
    case XSP_VALUE_COUNTER:
      return counters_.add(run_id_, id, key, value.as_double);
    case XSP_VALUE_INT:
      return attributes_.add(run_id_, id, key, number_text(value.as_int));
    case XSP_VALUE_DOUBLE:
      return attributes_.add(run_id_, id, key, number_text(value.as_double));
    default:
      return attributes_.add(run_id_, id, key, keep_text(value.as_text, database_->replaced_texts));
  }
}

Status ValueWriter::close() {
  XSP_CHECK_OK(attributes_.close());
  return counters_.close();
}

// ---- Spans
// ----------------------------------------------------------------------------------------

SpanSource::SpanSource(const RunInfo& run, const trace::Reader& reader, const Part& part,
                       correlate::Correlation* correlation)
    : run_id_(run.run_id),
      process_(to_int32(reader.process_id())),
      part_(part),
      correlation_(correlation) {}

// Each thread takes some 150 MB, and only one at a time can take spans from the correlation.
int SpanSource::threads() {
  return static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 2u));
}

Status SpanSource::attach(Database::State* database, SpanSource* source) {
  database->span_source = source;
  if (database->has_span_function) return Ok{};
  TableFunction function(duckdb_create_table_function());
  duckdb_table_function_set_name(function.get(), "xsp_spans");
  duckdb_table_function_set_extra_info(function.get(), database, nullptr);
  duckdb_table_function_set_bind(function.get(), bind);
  duckdb_table_function_set_init(function.get(), init);
  duckdb_table_function_set_local_init(function.get(), init_thread);
  duckdb_table_function_set_function(function.get(), give);
  if (duckdb_register_table_function(database->connection.get(), function.get()) != DuckDBSuccess) {
    return failed(database->name +
                  ": cannot be written: DuckDB takes no table function: use the "
                  "version that tools/deps.sh installs");
  }
  database->has_span_function = true;
  return Ok{};
}

void SpanSource::bind(duckdb_bind_info info) {
  for (size_t i = 0; i < kColumnCount; ++i) {
    LogicalType type(duckdb_create_logical_type(type_of(i)));
    duckdb_bind_add_result_column(info, ("c" + std::to_string(i)).c_str(), type.get());
  }
}

void SpanSource::init(duckdb_init_info info) {
  duckdb_init_set_max_threads(info, static_cast<idx_t>(threads()));
}

void SpanSource::init_thread(duckdb_init_info info) {
  duckdb_init_set_init_data(info, new Taken,
                            [](void* taken) { delete static_cast<Taken*>(taken); });
}

void SpanSource::give(duckdb_function_info info, duckdb_data_chunk chunk) {
  auto* database = static_cast<Database::State*>(duckdb_function_get_extra_info(info));
  auto* taken = static_cast<Taken*>(duckdb_function_get_local_init_data(info));
  SpanSource* source = database->span_source;
  if (source == nullptr) {
    duckdb_function_set_error(info, "xsp_spans() is for xsp alone");
    return;
  }
  if (taken->given == taken->spans.size()) {
    const Status status = source->take(taken);
    if (!status.ok()) {
      duckdb_function_set_error(info, status.error().text.c_str());
      return;
    }
  }
  const Spans left = Spans(taken->spans).subspan(taken->given);
  const Spans spans = left.first(std::min<size_t>(left.size(), duckdb_vector_size()));
  source->write(spans, chunk);
  taken->given += spans.size();
}

Status SpanSource::take(Taken* taken) {
  const std::lock_guard lock(mutex_);
  taken->spans.clear();
  taken->spans.reserve(kRowsOfGroup);
  taken->given = 0;
  while (!error_ && taken->spans.size() < kRowsOfGroup) {
    if (pending_.empty()) {
      const Result<Spans> next = correlation_->next();
      if (!next.ok()) {
        error_ = next.error();
        break;
      }
      if (next->empty()) break;
      pending_ = *next;
    }
    const Spans some =
        pending_.first(std::min(pending_.size(), kRowsOfGroup - taken->spans.size()));
    for (const correlate::Span& span : some) {
      last_span_ = std::max(last_span_, part_.first_span + static_cast<int64_t>(span.id));
    }
    taken->spans.insert(taken->spans.end(), some.begin(), some.end());
    pending_ = pending_.subspan(some.size());
  }
  if (error_) return *error_;
  return Ok{};
}

void SpanSource::write(Spans spans, duckdb_data_chunk chunk) const {
  write_ids(spans, chunk);
  write_order(spans, chunk);
  write_places(spans, chunk);
  write_times(spans, chunk);
  duckdb_data_chunk_set_size(chunk, spans.size());
}

void SpanSource::write_ids(Spans spans, duckdb_data_chunk chunk) const {
  ColumnWriter<int32_t> run(chunk, kRunId);
  ColumnWriter<int64_t> id(chunk, kSpanId);
  ColumnWriter<int64_t> parent(chunk, kParentId);
  ColumnWriter<int64_t> model(chunk, kModelId);
  ColumnWriter<int64_t> layer(chunk, kLayerId);
  ColumnWriter<int64_t> correlation(chunk, kCorrelationId);
  for (size_t i = 0; i < spans.size(); ++i) {
    const correlate::Span& span = spans[i];
    run.set(i, run_id_);
    const auto in_run = [first = part_.first_span](uint64_t one) {
      return first + static_cast<int64_t>(one);
    };
    id.set(i, in_run(span.id));
    parent.set(i, in_run(span.parent_id), span.parent_id == 0);
    model.set(i, in_run(span.model_id), span.model_id == 0);
    layer.set(i, in_run(span.layer_id), span.layer_id == 0);
    correlation.set(i, part_.first_correlation + static_cast<int64_t>(span.correlation_id),
                    span.correlation_id == 0);
  }
}

void SpanSource::write_order(Spans spans, duckdb_data_chunk chunk) const {
  ColumnWriter<int8_t> level(chunk, kLevel);
  ColumnWriter<int16_t> depth(chunk, kDepth);
  ColumnWriter<int32_t> iteration(chunk, kIteration);
  ColumnWriter<int32_t> ordinal(chunk, kOrdinal);
  ColumnWriter<bool> is_open(chunk, kIsOpen);
  for (size_t i = 0; i < spans.size(); ++i) {
    const correlate::Span& span = spans[i];
    level.set(i, static_cast<int8_t>(span.level));
    depth.set(i, static_cast<int16_t>(std::min<uint32_t>(span.depth, 32767)));
    const bool outside = span.iteration == correlate::kNoIteration;
    iteration.set(i, outside ? 0 : to_int32(part_.iteration_of(span.iteration)), outside);
    ordinal.set(i, span.ordinal, span.ordinal < 0);
    is_open.set(i, span.is_open);
  }
}

void SpanSource::write_places(Spans spans, duckdb_data_chunk chunk) const {
  ColumnWriter<int32_t> process(chunk, kProcess);
  ColumnWriter<int32_t> thread(chunk, kThread);
  ColumnWriter<int32_t> device(chunk, kDevice);
  ColumnWriter<int32_t> stream(chunk, kStream);
  ColumnWriter<int32_t> site(chunk, kSiteId);
  for (size_t i = 0; i < spans.size(); ++i) {
    const correlate::Span& span = spans[i];
    process.set(i, process_);
    thread.set(i, static_cast<int32_t>(span.thread));
    device.set(i, static_cast<int32_t>(span.device) - 1, span.device == 0);
    stream.set(i, static_cast<int32_t>(span.stream) - 1, span.stream == 0);
    site.set(i, part_.sites[span.site]);
  }
}

void SpanSource::write_times(Spans spans, duckdb_data_chunk chunk) const {
  ColumnWriter<int64_t> start(chunk, kStartNs);
  ColumnWriter<int64_t> duration(chunk, kDurationNs);
  ColumnWriter<int64_t> self(chunk, kSelfNs);
  for (size_t i = 0; i < spans.size(); ++i) {
    const correlate::Span& span = spans[i];
    start.set(i, span.start_ns);
    duration.set(i, span.end_ns - span.start_ns);
    self.set(i, span.self_ns);
  }
}

}  // namespace xsp::store
