// SpanWriter: spans and their values, as they leave the correlation, into the tables span,
// span_attribute and span_counter. For src/store alone.
#ifndef XSP_STORE_SPAN_WRITER_H_
#define XSP_STORE_SPAN_WRITER_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "correlate/correlate.h"
#include "store/appender.h"
#include "store/ingest.h"
#include "trace/reader.h"

namespace xsp::store {

class SpanWriter final : public correlate::Sink {
 public:
  static Result<SpanWriter> open(Database::State& database, const RunInfo& run,
                                 const trace::Reader& reader);

  Status spans(std::span<const correlate::Span> spans) override;
  Status value(uint64_t span_id, const trace::SpanValue& value) override;
  // Nothing can be written after it.
  Status close();

 private:
  // A text of the trace, and the same as the vectors take it.
  struct Text {
    std::string text;
    duckdb_string_t borrowed{};
  };
  struct SiteTexts {
    Text name;
    Text type;
  };

  SpanWriter(TableAppender spans, FactAppender attributes, FactAppender counters)
      : spans_(std::move(spans)),
        attributes_(std::move(attributes)),
        counters_(std::move(counters)) {}
  void write_ids(std::span<const correlate::Span> spans);
  void write_places(std::span<const correlate::Span> spans);
  void write_times(std::span<const correlate::Span> spans);

  int32_t run_id_ = 0;
  int32_t warmup_iterations_ = 0;
  int32_t process_ = 0;
  std::vector<SiteTexts> sites_;  // by id
  std::vector<Text> keys_;        // by index of Reader::keys()
  TableAppender spans_;
  FactAppender attributes_;
  FactAppender counters_;
};

}  // namespace xsp::store

#endif  // XSP_STORE_SPAN_WRITER_H_
