#include "desk/correlate/correlate.h"

#include <algorithm>
#include <map>

#include "desk/correlate/long_spans.h"
#include "desk/correlate/merge.h"
#include "desk/correlate/window.h"

namespace xsp::correlate {

namespace {

// The streams of a trace. Streams in disorder are sorted first.
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

  // Sorts the streams of these feeds. The open spans, whose feed comes last, are in order already.
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
  // Open spans end when the trace ends: with its last span, if that is later than the reader knew.
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

struct Correlation::State {
  State(const Options& options, const Source& source, const FirstPass& first_pass, Feeds feeds,
        uint64_t damaged_before, ValueSink* values)
      : merge(std::move(feeds), source.site_levels()),
        window(options, source.site_levels(), first_pass, values),
        damaged_chunks(damaged_before),
        run_max(options.window / 4) {}

  Merge merge;
  Window window;
  uint64_t damaged_chunks;  // found while sorting
  const size_t run_max;
  bool is_at_end = false;
};

Result<Correlation> Correlation::begin(const Source& source, const Options& options,
                                       ValueSink* values) {
  Streams streams(source, options.piece_spans);
  for (;;) {
    Feeds feeds = streams.feeds();
    const Options complete_options = complete(options, feeds.size());
    XSP_TRY(const FirstPass first_pass,
            find_long_spans(feeds, source.site_levels(), complete_options));
    XSP_CHECK_OK(streams.sort(first_pass.disordered));
    const bool is_last =
        source.open_spans().empty() || first_pass.last_end_ns <= streams.last_end_ns();
    if (first_pass.disordered.empty() && is_last) {
      return Correlation(std::make_unique<State>(complete_options, source, first_pass,
                                                 std::move(feeds), streams.damaged_chunks(),
                                                 values));
    }
    streams.set_last_end(std::max(streams.last_end_ns(), first_pass.last_end_ns));
  }
}

Correlation::Correlation(std::unique_ptr<State> state) : state_(std::move(state)) {}
Correlation::Correlation(Correlation&&) noexcept = default;
Correlation& Correlation::operator=(Correlation&&) noexcept = default;
Correlation::~Correlation() = default;

Result<std::span<const Span>> Correlation::next() {
  for (;;) {
    const std::span<const Span> spans = state_->window.take();
    if (!spans.empty() || state_->is_at_end) return spans;
    Run run;
    XSP_TRY(const bool more, state_->merge.next(state_->run_max, &run));
    if (more) {
      XSP_CHECK_OK(state_->window.add(run));
    } else {
      state_->window.finish();
      state_->is_at_end = true;
    }
  }
}

Facts Correlation::facts() const {
  Facts facts = state_->window.facts();
  facts.damaged_chunks = state_->merge.damaged_chunks() + state_->damaged_chunks;
  return facts;
}

}  // namespace xsp::correlate
