// SpanSource: gives DuckDB the spans of a trace, as they leave the correlation, as a table:
//
//   INSERT INTO span_row SELECT * FROM xsp_spans()
//
// This spares DuckDB's appender a copy of every row, and lets several DuckDB threads compress. Each
// thread takes as many spans as a row group holds, so that spans of the same time are stored
// together. Attributes and counters of the spans are appended meanwhile, on a separate connection.
// For src/desk/store alone.
//
// A row group holds 122,880 spans, and a smaller run keeps its order. Refused: DuckDB's appender, a
// tenth slower and a fifth more memory; threads that take single chunks, which would mix the times;
// more than two threads, at some 150 MB each.
#ifndef XSP_DESK_STORE_SPAN_SOURCE_H_
#define XSP_DESK_STORE_SPAN_SOURCE_H_

#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "desk/correlate/correlate.h"
#include "desk/store/appender.h"
#include "desk/store/ingest.h"
#include "shared/base/result.h"
#include "shared/trace/reader.h"

namespace xsp::store {

// The place of one trace's numbers within its run.
struct Part {
  int64_t first_span = 0;      // added to the ids of spans
  std::vector<int32_t> sites;  // the run's ids of the trace's sites
  int64_t first_correlation = 0;
  int warmup_iterations = 0;  // number of warm-up iterations of this trace
  int iterations_before = 0;  // sums over the traces before: measured iterations, and warm-up
  int warmup_before = 0;

  // Converts an iteration that the trace counts from its first into the numbering of
  // span.iteration.
  int64_t iteration_of(int64_t counted) const {
    const int64_t one = counted - warmup_iterations;
    return one < 0 ? one - warmup_before : one + iterations_before;
  }
};

// Writes the attributes and counters of spans.
class ValueWriter final : public correlate::ValueSink {
 public:
  static Result<ValueWriter> open(duckdb_connection connection, Database::State* database,
                                  int run_id, const trace::Reader& reader, const Part& part);

  Status value(uint64_t span_id, const trace::SpanValue& value) override;
  // Ends the writing.
  Status close();

 private:
  ValueWriter(FactAppender attributes, FactAppender counters)
      : attributes_(std::move(attributes)), counters_(std::move(counters)) {}

  Database::State* database_ = nullptr;
  int32_t run_id_ = 0;
  int64_t first_span_ = 0;
  std::vector<BorrowedText> keys_;  // by index of Reader::keys()
  FactAppender attributes_;
  FactAppender counters_;
};

class SpanSource {
 public:
  SpanSource(const RunInfo& run, const trace::Reader& reader, const Part& part,
             correlate::Correlation* correlation);

  // Adds xsp_spans() to the database connection; it returns the spans of `source`. The function is
  // not part of the file.
  static Status attach(Database::State* database, SpanSource* source);
  // Returns the useful number of threads.
  static int threads();
  static void detach(Database::State* database) { database->span_source = nullptr; }

  // Returns the largest id of a span that was given, including the part's first_span.
  int64_t last_span() const { return last_span_; }
  // Returns why reading the spans failed, if it did.
  const std::optional<Error>& error() const { return error_; }

 private:
  using Spans = std::span<const correlate::Span>;
  // The spans that one DuckDB thread has taken.
  struct Taken {
    std::vector<correlate::Span> spans;
    size_t given = 0;
  };

  static void bind(duckdb_bind_info info);
  static void init(duckdb_init_info info);
  static void init_thread(duckdb_init_info info);
  static void give(duckdb_function_info info, duckdb_data_chunk chunk);
  Status take(Taken* taken);
  void write(Spans spans, duckdb_data_chunk chunk) const;
  void write_ids(Spans spans, duckdb_data_chunk chunk) const;
  void write_order(Spans spans, duckdb_data_chunk chunk) const;
  void write_places(Spans spans, duckdb_data_chunk chunk) const;
  void write_times(Spans spans, duckdb_data_chunk chunk) const;

  const int32_t run_id_;
  const int32_t process_;
  const Part part_;
  std::mutex mutex_;  // protects the members below
  correlate::Correlation* const correlation_;
  Spans pending_;
  int64_t last_span_ = 0;
  std::optional<Error> error_;
};

}  // namespace xsp::store

#endif  // XSP_DESK_STORE_SPAN_SOURCE_H_
