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

// The first pass. Returns false if it was in vain, and must begin anew: streams were in disorder,
// and have been sorted; or spans end later than the trace was thought to.
Result<bool> find_long_spans(const Source& source, Feeds* feeds, LongSpans* long_spans) {
  Merge merge(feeds->make(), source.site_levels());
  XSP_CHECK_OK(merge.for_each_run([&](const Run& run) -> Status {
    long_spans->add(run);
    return Ok{};
  }));
  const int64_t last_end_ns = long_spans->last_end_ns();
  const bool is_last = source.open_spans().empty() || last_end_ns <= feeds->last_end();
  feeds->set_last_end(last_end_ns);
  XSP_CHECK_OK(feeds->sort(merge.disordered()));
  return merge.disordered().empty() && is_last;
}

}  // namespace

Result<Facts> correlate(const Source& source, const Options& options, Sink* sink) {
  Feeds feeds(source, options.piece_spans);
  LongSpans long_spans(options, source.site_levels());
  for (;;) {
    XSP_TRY(const bool done, find_long_spans(source, &feeds, &long_spans));
    if (done) break;
    long_spans = LongSpans(options, source.site_levels());
  }
  Window window(options, source.site_levels(), long_spans, sink);
  Merge merge(feeds.make(), source.site_levels());
  XSP_CHECK_OK(merge.for_each_run([&](const Run& run) { return window.add(run); }));
  XSP_CHECK_OK(window.finish());
  Facts facts = window.facts();
  facts.damaged_chunks = merge.damaged_chunks() + feeds.damaged_chunks();
  return facts;
}

}  // namespace xsp::correlate
