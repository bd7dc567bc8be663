#include "correlate/correlate.h"

#include <algorithm>
#include <map>

#include "correlate/long_spans.h"
#include "correlate/merge.h"
#include "correlate/window.h"

namespace xsp::correlate {

namespace {

// The streams of a trace, those in disorder sorted.
class Streams {
 public:
  Streams(const Source& source, size_t piece_spans)
      : source_(source), piece_spans_(piece_spans), last_end_ns_(source.last_ns()) {}

  Feeds feeds() {
    Feeds feeds;
    stream_of_feed_.clear();
    for (size_t i = 0; i < source_.streams().size(); ++i) {
      const auto sorted = sorted_.find(i);
      if (sorted == sorted_.end()) {
        feeds.push_back(feed_stream(source_, i));
      } else {
        feeds.insert(feeds.end(), sorted->second.pieces.begin(), sorted->second.pieces.end());
      }
      stream_of_feed_.resize(feeds.size(), i);
    }
    if (!source_.open_spans().empty()) feeds.push_back(feed_open_spans(source_, last_end_ns_));
    return feeds;
  }

  // Sorts the streams of these feeds. The open spans, which come last, are in order.
  Status sort(const std::vector<size_t>& feeds) {
    for (const size_t feed : feeds) {
      const size_t stream = stream_of_feed_[feed];
      XSP_TRY(SortedStream sorted, sort_stream(source_, stream, piece_spans_));
      damaged_chunks_ += sorted.damaged_chunks;
      sorted_.emplace(stream, std::move(sorted));
    }
    return Ok{};
  }

  uint64_t damaged_chunks() const { return damaged_chunks_; }
  // Open spans end when the trace does: with its last span, if that is later than the reader knew.
  int64_t last_end_ns() const { return last_end_ns_; }
  void set_last_end(int64_t end_ns) { last_end_ns_ = end_ns; }

 private:
  const Source& source_;
  const size_t piece_spans_;
  int64_t last_end_ns_;
  std::map<size_t, SortedStream> sorted_;
  std::vector<size_t> stream_of_feed_;
  uint64_t damaged_chunks_ = 0;
};

}  // namespace

Result<Facts> correlate(const Source& source, const Options& options, Sink* sink) {
  Streams streams(source, options.piece_spans);
  Feeds feeds;
  Options complete_options;
  FirstPass first_pass;
  for (;;) {
    feeds = streams.feeds();
    complete_options = complete(options, feeds.size());
    XSP_TRY(first_pass, find_long_spans(feeds, source.site_levels(), complete_options));
    XSP_CHECK_OK(streams.sort(first_pass.disordered));
    const bool is_last =
        source.open_spans().empty() || first_pass.last_end_ns <= streams.last_end_ns();
    if (first_pass.disordered.empty() && is_last) break;
    streams.set_last_end(std::max(streams.last_end_ns(), first_pass.last_end_ns));
  }
  Window window(complete_options, source.site_levels(), first_pass, sink);
  Merge merge(std::move(feeds), source.site_levels());
  for (Run run;;) {
    XSP_TRY(const bool more, merge.next(&run));
    if (!more) break;
    XSP_CHECK_OK(window.add(run));
  }
  XSP_CHECK_OK(window.finish());
  Facts facts = window.facts();
  facts.damaged_chunks = merge.damaged_chunks() + streams.damaged_chunks();
  return facts;
}

}  // namespace xsp::correlate
