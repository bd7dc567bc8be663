// Feeds: where the merge takes batches of spans from, one after the other.
//
// A stream whose spans are in the order of their ends is read chunk by chunk. Any other (spans with
// given times may come in any order) is first sorted externally: pieces of bounded length are
// sorted in memory and written to a temporary file, which has no name and goes with its last user;
// each piece then is a feed of its own. So memory is bounded whatever the order.
#ifndef XSP_CORRELATE_FEED_H_
#define XSP_CORRELATE_FEED_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "correlate/rules.h"
#include "correlate/source.h"

namespace xsp::correlate {

class Feed {
 public:
  virtual ~Feed() = default;
  // The next batch, cleared first; false at the end. A damaged chunk is passed over and counted.
  virtual Result<bool> next(trace::SpanBatch* batch) = 0;
  virtual bool given_times() const = 0;
  virtual bool is_open() const { return false; }
  uint64_t damaged_chunks() const { return damaged_chunks_; }

 protected:
  uint64_t damaged_chunks_ = 0;
};

// The chunks of one stream. `source` must outlive it.
std::unique_ptr<Feed> feed_stream(const Source& source, size_t stream);
// The spans that never ended, as if they ended when the trace did (`end_ns`).
std::unique_ptr<Feed> feed_open_spans(const Source& source, int64_t end_ns);

// A stream, sorted.
class SortedStream {
 public:
  // At most `piece_spans` spans are in memory at once. Fails if the temporary file cannot be
  // written.
  static Result<SortedStream> sort(const Source& source, size_t stream, size_t piece_spans);

  size_t piece_count() const { return pieces_.size(); }
  std::unique_ptr<Feed> feed_piece(size_t piece) const;
  uint64_t damaged_chunks() const { return damaged_chunks_; }

 private:
  class File;
  class PieceFeed;
  struct Piece {
    uint64_t begin = 0;  // bytes of the file
    uint64_t end = 0;
  };
  Status write_piece(const trace::SpanBatch& batch, const std::vector<uint8_t>& levels);

  std::shared_ptr<File> file_;
  std::vector<Piece> pieces_;
  uint64_t damaged_chunks_ = 0;
  bool given_times_ = true;
};

// The level of a site: 0 if there is no such site.
inline uint8_t level_of(const std::vector<uint8_t>& levels, uint32_t site) {
  return site < levels.size() ? levels[site] : uint8_t{0};
}

inline Extent extent_at(const trace::SpanBatch& batch, size_t i, const std::vector<uint8_t>& levels,
                        bool given_times) {
  return {batch.start_ns[i], batch.end_ns[i], level_of(levels, batch.site[i]), given_times,
          batch.device[i] != 0};
}

}  // namespace xsp::correlate

#endif  // XSP_CORRELATE_FEED_H_
