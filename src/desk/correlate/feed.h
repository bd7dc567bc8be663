// Feeds: the inputs of the merge.
//
// A stream whose spans are in the order of their ends is one feed, which is read chunk by chunk.
// Any other stream (spans with given times may come in any order) is first sorted externally:
// pieces of bounded length are sorted in memory and written to a temporary file. The file has no
// name and disappears with its last user. Each piece is then a feed of its own. So memory is
// bounded for any order.
#ifndef XSP_DESK_CORRELATE_FEED_H_
#define XSP_DESK_CORRELATE_FEED_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "desk/correlate/rules.h"
#include "desk/correlate/source.h"
#include "shared/base/result.h"
#include "xsp/xsp.h"

namespace xsp::correlate {

// Spans of one stream, in batches that can be read in any order and more than once.
class Feed {
 public:
  virtual ~Feed() = default;
  virtual size_t batch_count() const = 0;
  // Clears `batch` and fills it; values are in the order of spans. Returns false, and an empty
  // batch, for a damaged chunk of the trace. An Error is about this machine.
  virtual Result<bool> read(size_t index, trace::SpanBatch* batch) const = 0;
  // Appends the times of a batch, in blocks.
  virtual Status scan(size_t index, size_t block_spans,
                      std::vector<trace::BlockTimes>* blocks) const = 0;
  virtual bool given_times() const = 0;
  virtual bool is_open() const { return false; }
};

using Feeds = std::vector<std::shared_ptr<const Feed>>;

// Returns a feed of the chunks of one stream. `source` must outlive it.
std::shared_ptr<const Feed> feed_stream(const Source& source, size_t stream);
// Returns a feed of the spans that never ended. They end at `end_ns`, the end of the trace.
std::shared_ptr<const Feed> feed_open_spans(const Source& source, int64_t end_ns);

// Returns where the values of each span begin: span i has values[first[i]] to
// values[first[i + 1] - 1].
std::vector<uint32_t> index_values(const trace::SpanBatch& batch);

struct SortedStream {
  Feeds pieces;
  uint64_t damaged_chunks = 0;
};
// Sorts a stream, with at most `piece_spans` spans in memory at once. Fails if the temporary file
// cannot be written.
Result<SortedStream> sort_stream(const Source& source, size_t stream, size_t piece_spans);

// Returns the level of a site, or 0 if there is no such site.
inline uint8_t level_of(const std::vector<uint8_t>& levels, uint32_t site) {
  return site < levels.size() ? levels[site] : uint8_t{0};
}

// Returns whether a span ran on a device. A call on the host, such as an allocation, may also name
// a device, but does not run there.
inline bool is_on_device(uint8_t level, uint32_t device) {
  return device != 0 && (level == XSP_LEVEL_KERNEL || level == XSP_LEVEL_LAYER);
}

inline Extent extent_at(const trace::SpanBatch& batch, size_t i, const std::vector<uint8_t>& levels,
                        bool given_times) {
  const uint8_t level = level_of(levels, batch.site[i]);
  return {batch.start_ns[i], batch.end_ns[i], level, given_times,
          is_on_device(level, batch.device[i])};
}

}  // namespace xsp::correlate

#endif  // XSP_DESK_CORRELATE_FEED_H_
