#include "desk/correlate/long_spans.h"

#include <algorithm>
#include <bit>

#include "xsp/xsp.h"

namespace xsp::correlate {

namespace {

// The limit on long spans, each of which takes some 200 bytes in memory. A trace with more (each
// contains a quarter of a window of spans) is possible but has not been met. Children of spans
// beyond the limit have no parent.
constexpr size_t kLongMax = size_t{1} << 20;

struct Batch {
  size_t feed = 0;
  size_t index = 0;
  size_t first_block = 0;
};

// Counts the spans that ended until a moment, to the accuracy of a block.
class EndCounts {
 public:
  explicit EndCounts(const std::vector<trace::BlockTimes>& blocks) {
    for (const trace::BlockTimes& block : blocks) {
      by_last_.push_back({block.last_end_ns, block.span_count});
      by_first_.push_back({block.first_end_ns, block.span_count});
    }
    add_up(&by_last_);
    add_up(&by_first_);
  }

  // Returns a start time: at most `limit` spans end within a span that begins later and ends by
  // `end_ns`.
  int64_t latest_long_start(int64_t end_ns, uint64_t limit) const {
    const auto after =
        std::upper_bound(by_first_.begin(), by_first_.end(), end_ns,
                         [](int64_t time, const Sum& sum) { return time < sum.end_ns; });
    const uint64_t ended = after == by_first_.begin() ? 0 : (after - 1)->count;
    if (ended <= limit) return INT64_MIN;
    return std::lower_bound(by_last_.begin(), by_last_.end(), ended - limit,
                            [](const Sum& sum, uint64_t count) { return sum.count < count; })
        ->end_ns;
  }

 private:
  struct Sum {
    int64_t end_ns = 0;
    uint64_t count = 0;  // spans of this block and all before it
  };
  static void add_up(std::vector<Sum>* sums) {
    std::sort(sums->begin(), sums->end(),
              [](const Sum& a, const Sum& b) { return a.end_ns < b.end_ns; });
    uint64_t count = 0;
    for (Sum& sum : *sums) sum.count = count += sum.count;
  }

  std::vector<Sum> by_last_;   // a block counts once all its spans have ended
  std::vector<Sum> by_first_;  // a block counts once one of its spans has ended
};

class LongSpanFinder {
 public:
  LongSpanFinder(const Feeds& feeds, const std::vector<uint8_t>& levels, const Options& options)
      : feeds_(feeds), levels_(levels), options_(options) {}

  Result<FirstPass> run() {
    for (size_t i = 0; i < feeds_.size(); ++i) XSP_CHECK_OK(scan(i));
    if (!result_.disordered.empty()) return std::move(result_);
    const EndCounts counts(blocks_);
    for (size_t i = 0; i < batches_.size(); ++i) {
      const size_t end = i + 1 < batches_.size() ? batches_[i + 1].first_block : blocks_.size();
      bool in_doubt = false;
      for (size_t b = batches_[i].first_block; b < end; ++b) {
        in_doubt |= is_long(counts, blocks_[b].earliest_start_ns, blocks_[b].last_end_ns);
      }
      if (in_doubt) XSP_CHECK_OK(take_long_spans(counts, batches_[i]));
    }
    std::stable_sort(
        result_.long_spans.begin(), result_.long_spans.end(),
        [](const LongSpan& a, const LongSpan& b) { return compare_ends(a.extent, b.extent) < 0; });
    return std::move(result_);
  }

 private:
  Status scan(size_t feed) {
    int64_t last_end_ns = INT64_MIN;
    bool is_ordered = true;
    const size_t count = feeds_[feed]->batch_count();
    for (size_t i = 0; i < count; ++i) {
      size_t block = blocks_.size();
      batches_.push_back({feed, i, block});
      XSP_CHECK_OK(feeds_[feed]->scan(i, options_.block_spans, &blocks_));
      for (; block < blocks_.size(); ++block) {
        is_ordered &= blocks_[block].is_ordered && last_end_ns <= blocks_[block].first_end_ns;
        last_end_ns = std::max(last_end_ns, blocks_[block].last_end_ns);
      }
    }
    if (!is_ordered) result_.disordered.push_back(feed);
    result_.last_end_ns = std::max(result_.last_end_ns, last_end_ns);
    result_.has_given_times |= count > 0 && feeds_[feed]->given_times();
    return Ok{};
  }

  bool is_long(const EndCounts& counts, int64_t start_ns, int64_t end_ns) const {
    return start_ns - options_.tolerance_ns <=
           counts.latest_long_start(end_ns, options_.window / 4);
  }

  Status take_long_spans(const EndCounts& counts, const Batch& place) {
    const Feed& feed = *feeds_[place.feed];
    XSP_TRY([[maybe_unused]] const bool is_read, feed.read(place.index, &batch_));
    auto value = batch_.values.begin();
    int64_t latest_start_ns = INT64_MIN;
    for (size_t i = 0; i < batch_.size(); ++i) {
      if (i % options_.block_spans == 0) {
        const size_t last = std::min(i + options_.block_spans, batch_.size()) - 1;
        latest_start_ns = counts.latest_long_start(batch_.end_ns[last], options_.window / 4);
      }
      if (batch_.start_ns[i] - options_.tolerance_ns > latest_start_ns) continue;
      LongSpan span;
      span.extent = extent_at(batch_, i, levels_, feed.given_times());
      if (span.extent.level == 0 || span.extent.on_device) continue;
      if (result_.long_spans.size() == kLongMax) return Ok{};
      span.site = batch_.site[i];
      span.thread = batch_.thread[i];
      while (value != batch_.values.end() && value->span < i) ++value;
      auto end = value;
      while (end != batch_.values.end() && end->span == i) ++end;
      if (span.extent.level == XSP_LEVEL_MODEL) {
        span.iteration = iteration_of(options_, span.thread, span.extent.start_ns,
                                      span.extent.end_ns, {value, end});
      }
      result_.long_spans.push_back(span);
    }
    return Ok{};
  }

  const Feeds& feeds_;
  const std::vector<uint8_t>& levels_;
  const Options& options_;
  std::vector<Batch> batches_;
  std::vector<trace::BlockTimes> blocks_;
  trace::SpanBatch batch_;
  FirstPass result_;
};

}  // namespace

// Fills in the window. Each feed may have one block at either end of a span that is counted in
// full; the limit on spans is twice the error from all these blocks.
Options complete(const Options& options, size_t feed_count) {
  Options result = options;
  if (result.block_spans == 0)
    result.block_spans = feed_count <= 8 ? 128 : feed_count <= 64 ? 64 : 32;
  if (result.window == 0) {
    const size_t error = (2 * feed_count + 2) * result.block_spans;
    result.window = std::bit_ceil(4 * std::max<size_t>(2048, 2 * error));
  }
  return result;
}

Result<FirstPass> find_long_spans(const Feeds& feeds, const std::vector<uint8_t>& levels,
                                  const Options& options) {
  return LongSpanFinder(feeds, levels, options).run();
}

int64_t iteration_of(const Options& options, uint32_t thread, int64_t start_ns, int64_t end_ns,
                     std::span<const trace::SpanValue> values) {
  if (options.calls != nullptr) {
    return options.calls->find(thread, start_ns, end_ns, kNoIteration);
  }
  const uint32_t key = options.iteration_key;
  for (const trace::SpanValue& value : values) {
    if (key != 0 && value.key == key && value.kind == XSP_VALUE_INT) return value.as_int;
  }
  return kNoIteration;
}

}  // namespace xsp::correlate
