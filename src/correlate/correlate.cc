#include "correlate/correlate.h"

#include <algorithm>
#include <map>

#include "correlate/long_spans.h"
#include "correlate/merge.h"
#include "correlate/window.h"

namespace xsp::correlate {

namespace {

// The streams of a trace, those in disorder sorted.
class Feeds {
 public:
  Feeds(const Source& source, size_t piece_spans) : source_(source), piece_spans_(piece_spans) {}

  std::vector<std::unique_ptr<Feed>> make() {
    std::vector<std::unique_ptr<Feed>> feeds;
    stream_of_feed_.clear();
    for (size_t i = 0; i < source_.streams().size(); ++i) {
      const auto sorted = sorted_.find(i);
      if (sorted == sorted_.end()) {
        feeds.push_back(feed_stream(source_, i));
      } else {
        for (size_t k = 0; k < sorted->second.piece_count(); ++k) {
          feeds.push_back(sorted->second.feed_piece(k));
        }
      }
      stream_of_feed_.resize(feeds.size(), i);
    }
    feeds.push_back(feed_open_spans(source_, last_end()));
    return feeds;
  }

  // Sorts the streams of these feeds.
  Status sort(const std::vector<size_t>& feeds) {
    for (size_t feed : feeds) {
      const size_t stream = stream_of_feed_[feed];
      XSP_TRY(SortedStream sorted, SortedStream::sort(source_, stream, piece_spans_));
      damaged_chunks_ += sorted.damaged_chunks();
      sorted_.emplace(stream, std::move(sorted));
    }
    return Ok{};
  }

  uint64_t damaged_chunks() const { return damaged_chunks_; }
  // Open spans end here.
  int64_t last_end() const { return std::max(source_.last_ns(), last_end_ns_); }
  void set_last_end(int64_t end_ns) { last_end_ns_ = end_ns; }

 private:
  const Source& source_;
  const size_t piece_spans_;
  std::map<size_t, SortedStream> sorted_;
  std::vector<size_t> stream_of_feed_;
  uint64_t damaged_chunks_ = 0;
  int64_t last_end_ns_ = INT64_MIN;
};

// The first pass. Returns false if streams were in disorder: they have been sorted, begin anew.
Result<bool> find_long_spans(const Source& source, Feeds* feeds, LongSpans* long_spans) {
  Merge merge(feeds->make(), source.site_levels());
  uint64_t id = 0;
  int64_t last_end_ns = INT64_MIN;
  XSP_CHECK_OK(merge.for_each([&](const MergedSpan& span) -> Status {
    if (span.extent.level != 0) long_spans->add(span, ++id);
    last_end_ns = std::max(last_end_ns, span.extent.end_ns);
    return Ok{};
  }));
  // Open spans last until the trace's end, which the reader may not know to the last span.
  const bool is_last = source.open_spans().empty() || last_end_ns <= feeds->last_end();
  feeds->set_last_end(last_end_ns);
  XSP_CHECK_OK(feeds->sort(merge.disordered()));
  return merge.disordered().empty() && is_last;
}

}  // namespace

Result<Facts> correlate(const Source& source, const Options& options, Sink* sink) {
  Feeds feeds(source, options.piece_spans);
  LongSpans long_spans(options);
  for (;;) {
    XSP_TRY(const bool done, find_long_spans(source, &feeds, &long_spans));
    if (done) break;
    long_spans = LongSpans(options);
  }
  Window window(options, long_spans, sink);
  Merge merge(feeds.make(), source.site_levels());
  uint64_t unknown_site = 0;
  XSP_CHECK_OK(merge.for_each([&](const MergedSpan& span) -> Status {
    if (span.extent.level != 0) return window.add(span);
    ++unknown_site;
    return Ok{};
  }));
  XSP_CHECK_OK(window.finish());
  Facts facts = window.facts();
  facts.unknown_site = unknown_site;
  facts.damaged_chunks = merge.damaged_chunks() + feeds.damaged_chunks();
  return facts;
}

}  // namespace xsp::correlate
