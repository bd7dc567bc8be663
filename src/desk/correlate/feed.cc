#include "desk/correlate/feed.h"

#include <algorithm>
#include <numeric>

namespace xsp::correlate {

namespace {

class StreamFeed final : public Feed {
 public:
  StreamFeed(const Source& source, size_t stream) : source_(source), stream_(stream) {}

  size_t batch_count() const override { return source_.streams()[stream_].chunk_count; }
  Result<bool> read(size_t index, trace::SpanBatch* batch) const override {
    if (!source_.read(stream_, index, batch).ok()) {
      batch->clear();
      return false;
    }
    auto before = [](const trace::SpanValue& a, const trace::SpanValue& b) {
      return a.span < b.span;
    };
    if (!std::is_sorted(batch->values.begin(), batch->values.end(), before)) {
      std::stable_sort(batch->values.begin(), batch->values.end(), before);
    }
    return true;
  }
  Status scan(size_t index, size_t block_spans,
              std::vector<trace::BlockTimes>* blocks) const override {
    const size_t before = blocks->size();
    if (!source_.scan(stream_, index, block_spans, blocks).ok()) blocks->resize(before);
    return Ok{};
  }
  bool given_times() const override { return source_.streams()[stream_].given_times; }

 private:
  const Source& source_;
  size_t stream_;
};

class OpenFeed final : public Feed {
 public:
  OpenFeed(const Source& source, int64_t end_ns) : source_(source), end_ns_(end_ns) {}

  size_t batch_count() const override { return source_.open_spans().empty() ? 0 : 1; }
  Result<bool> read(size_t, trace::SpanBatch* batch) const override {
    batch->clear();
    // They are stored outermost first, but the order of ends needs the innermost first.
    for (size_t i = source_.open_spans().size(); i-- > 0;) {
      const trace::OpenSpan& span = source_.open_spans()[i];
      batch->start_ns.push_back(std::min(span.start_ns, end_ns_));
      batch->end_ns.push_back(end_ns_);
      batch->site.push_back(span.site);
      batch->thread.push_back(span.thread);
      batch->correlation_id.push_back(0);
      batch->device.push_back(0);
      batch->stream.push_back(0);
    }
    return true;
  }
  Status scan(size_t index, size_t block_spans,
              std::vector<trace::BlockTimes>* blocks) const override {
    trace::SpanBatch batch;
    XSP_TRY([[maybe_unused]] const bool is_read, read(index, &batch));
    trace::append_block_times(batch, block_spans, blocks);
    return Ok{};
  }
  bool given_times() const override { return false; }
  bool is_open() const override { return true; }

 private:
  const Source& source_;
  int64_t end_ns_;
};

}  // namespace

std::shared_ptr<const Feed> feed_stream(const Source& source, size_t stream) {
  return std::make_shared<StreamFeed>(source, stream);
}

std::shared_ptr<const Feed> feed_open_spans(const Source& source, int64_t end_ns) {
  return std::make_shared<OpenFeed>(source, end_ns);
}

std::vector<uint32_t> index_values(const trace::SpanBatch& batch) {
  std::vector<uint32_t> first(batch.size() + 1, 0);
  for (const trace::SpanValue& value : batch.values) ++first[value.span + size_t{1}];
  std::partial_sum(first.begin(), first.end(), first.begin());
  return first;
}

}  // namespace xsp::correlate
