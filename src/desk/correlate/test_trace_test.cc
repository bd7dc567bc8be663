// TestTrace: a hand-made trace. Its correlation is kept in memory as a whole.
#include <gtest/gtest.h>

#include <algorithm>

#include "desk/correlate/testing.h"
#include "xsp/xsp.h"

namespace xsp::correlate {

TestTrace::TestTrace(std::vector<TestSpan> spans, const std::vector<bool>& given_times,
                     size_t chunk_spans)
    : spans_(std::move(spans)) {
  streams_.resize(given_times.size());
  chunks_.resize(given_times.size());
  for (size_t i = 0; i < streams_.size(); ++i) {
    streams_[i].given_times = given_times[i];
    streams_[i].thread = static_cast<uint32_t>(i);
  }
  for (size_t i = 0; i < spans_.size(); ++i) {
    const TestSpan& span = spans_[i];
    auto& chunks = chunks_[span.stream];
    if (chunks.empty() ||
        (chunks.back().size() >= chunk_spans && chunks.back().end_ns.back() != span.end_ns)) {
      chunks.emplace_back();
    }
    trace::SpanBatch& batch = chunks.back();
    if (span.iteration != kNoIteration) {
      trace::SpanValue value;
      value.span = static_cast<uint32_t>(batch.size());
      value.key = kIterationKey;
      value.kind = XSP_VALUE_INT;
      value.as_int = span.iteration;
      batch.values.push_back(value);
    }
    batch.start_ns.push_back(span.start_ns);
    batch.end_ns.push_back(span.end_ns);
    batch.site.push_back(static_cast<uint32_t>(levels_.size()));
    levels_.push_back(span.level);
    batch.thread.push_back(span.thread);
    batch.correlation_id.push_back(span.correlation_id);
    batch.device.push_back(span.device);
    batch.stream.push_back(span.device_stream);
    ++streams_[span.stream].span_count;
    last_ns_ = std::max(last_ns_, span.end_ns);
  }
  for (size_t i = 0; i < streams_.size(); ++i) streams_[i].chunk_count = chunks_[i].size();
}

Status TestTrace::read(size_t stream, size_t chunk, trace::SpanBatch* batch) const {
  for (const auto& [s, c] : damaged_) {
    if (s == stream && c == chunk) return corrupt("damaged chunk");
  }
  *batch = chunks_[stream][chunk];
  return Ok{};
}

Status TestTrace::scan(size_t stream, size_t chunk, size_t block_spans,
                       std::vector<trace::BlockTimes>* blocks) const {
  trace::SpanBatch batch;
  XSP_CHECK_OK(read(stream, chunk, &batch));
  trace::append_block_times(batch, block_spans, blocks);
  return Ok{};
}

namespace {

class KeepValues final : public ValueSink {
 public:
  explicit KeepValues(Correlated* result) : result_(result) {}
  Status value(uint64_t span_id, const trace::SpanValue& value) override {
    result_->values.push_back({span_id, value.as_int});
    return Ok{};
  }

 private:
  Correlated* result_;
};

}  // namespace

Result<Correlated> correlate(const TestTrace& trace, const Options& options) {
  Correlated result;
  KeepValues values(&result);
  XSP_TRY(Correlation correlation, Correlation::begin(trace, options, &values));
  for (;;) {
    XSP_TRY(const std::span<const Span> spans, correlation.next());
    if (spans.empty()) break;
    result.spans.insert(result.spans.end(), spans.begin(), spans.end());
  }
  result.facts = correlation.facts();
  return result;
}

void TestTrace::add_open_span(uint8_t level, uint32_t thread, int64_t start_ns) {
  open_spans_.push_back({static_cast<uint32_t>(levels_.size()), thread, start_ns});
  levels_.push_back(level);
}

}  // namespace xsp::correlate
