// Shared helpers of the correlation's tests: hand-made traces, and the oracle.
#ifndef XSP_DESK_CORRELATE_TESTING_H_
#define XSP_DESK_CORRELATE_TESTING_H_

#include <cstdint>
#include <vector>

#include "desk/correlate/correlate.h"
#include "xsp/xsp.h"

namespace xsp::correlate {

// A span as a test defines it.
struct TestSpan {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint8_t level = 0;
  uint32_t thread = 1;
  size_t stream = 0;  // index of TestTrace::streams
  uint64_t correlation_id = 0;
  uint32_t device = 0;
  int64_t iteration = kNoIteration;  // a value of the key kIterationKey
  uint32_t device_stream = 0;
};

inline constexpr uint32_t kIterationKey = 7;
inline constexpr uint8_t kModel = XSP_LEVEL_MODEL;
inline constexpr uint8_t kLayer = XSP_LEVEL_LAYER;
inline constexpr uint8_t kApi = XSP_LEVEL_API;
inline constexpr uint8_t kKernel = XSP_LEVEL_KERNEL;

// Spans in the order in which each stream emitted them. Each has a site of its own.
class TestTrace final : public Source {
 public:
  // `given_times` has one entry per stream. A chunk has at most `chunk_spans` spans; spans with
  // equal ends stay in one chunk.
  TestTrace(std::vector<TestSpan> spans, const std::vector<bool>& given_times, size_t chunk_spans);

  const std::vector<TestSpan>& spans() const { return spans_; }
  const std::vector<trace::Stream>& streams() const override { return streams_; }
  Status read(size_t stream, size_t chunk, trace::SpanBatch* batch) const override;
  Status scan(size_t stream, size_t chunk, size_t block_spans,
              std::vector<trace::BlockTimes>* blocks) const override;
  const std::vector<trace::OpenSpan>& open_spans() const override { return open_spans_; }
  int64_t last_ns() const override { return last_ns_; }
  const std::vector<uint8_t>& site_levels() const override { return levels_; }

  void add_open_span(uint8_t level, uint32_t thread, int64_t start_ns);
  void damage(size_t stream, size_t chunk) { damaged_.push_back({stream, chunk}); }
  void set_last_ns(int64_t last_ns) { last_ns_ = last_ns; }

 private:
  std::vector<TestSpan> spans_;
  std::vector<trace::Stream> streams_;
  std::vector<std::vector<trace::SpanBatch>> chunks_;
  std::vector<trace::OpenSpan> open_spans_;
  std::vector<std::pair<size_t, size_t>> damaged_;
  std::vector<uint8_t> levels_ = {0};
  int64_t last_ns_ = 0;
};

// Returns a span's position in TestTrace::spans().
inline size_t index_of(const Span& span) { return span.site - 1; }

// The result of correlating a trace.
struct Correlated {
  Facts facts;
  std::vector<Span> spans;                           // in the order of ends
  std::vector<std::pair<uint64_t, int64_t>> values;  // span ids and integers
};
Result<Correlated> correlate(const TestTrace& trace, const Options& options);

// Applies the rules by comparing every span with every other. The result is in the order of ends,
// and its ids count in that order.
std::vector<Span> ask_oracle(const TestTrace& trace, int64_t tolerance_ns);
// Counts the spans in doubt: each overlaps one of a higher level on its thread, and neither
// contains the other.
uint64_t count_doubts(const TestTrace& trace, int64_t tolerance_ns);

}  // namespace xsp::correlate

#endif  // XSP_DESK_CORRELATE_TESTING_H_
