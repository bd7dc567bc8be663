#include "correlate/feed.h"

#include <algorithm>

namespace xsp::correlate {

namespace {

class StreamFeed final : public Feed {
 public:
  StreamFeed(const Source& source, size_t stream) : source_(source), stream_(stream) {}

  Result<bool> next(trace::SpanBatch* batch) override {
    const size_t count = source_.streams()[stream_].chunk_count;
    while (chunk_ < count) {
      if (!source_.read(stream_, chunk_++, batch).ok()) {
        ++damaged_chunks_;
      } else if (batch->size() > 0) {
        return true;
      }
    }
    batch->clear();
    return false;
  }
  bool given_times() const override { return source_.streams()[stream_].given_times; }

 private:
  const Source& source_;
  size_t stream_;
  size_t chunk_ = 0;
};

class OpenFeed final : public Feed {
 public:
  OpenFeed(const Source& source, int64_t end_ns) : source_(source), end_ns_(end_ns) {}

  Result<bool> next(trace::SpanBatch* batch) override {
    batch->clear();
    if (done_ || source_.open_spans().empty()) return false;
    done_ = true;
    // They come outermost first; the order of ends wants the innermost first.
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
  bool given_times() const override { return false; }
  bool is_open() const override { return true; }

 private:
  const Source& source_;
  int64_t end_ns_;
  bool done_ = false;
};

}  // namespace

std::unique_ptr<Feed> feed_stream(const Source& source, size_t stream) {
  return std::make_unique<StreamFeed>(source, stream);
}

std::unique_ptr<Feed> feed_open_spans(const Source& source, int64_t end_ns) {
  return std::make_unique<OpenFeed>(source, end_ns);
}

}  // namespace xsp::correlate
