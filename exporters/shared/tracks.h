// Tracks divides spans into tracks as trace viewers need them: on one track, two spans either do
// not overlap, or one contains the other.
//
// Spans on one thread, or on one stream of a device, share a track. A span that overlaps another
// one there, of which neither contains the other (two profilers' clocks, or concurrent work), goes
// to a further track of that thread or stream.
#ifndef XSP_EXPORTERS_SHARED_TRACKS_H_
#define XSP_EXPORTERS_SHARED_TRACKS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "exporters/shared/spans.h"
#include "shared/base/result.h"

namespace xsp::exporters {

struct Track {
  int64_t process = 0;            // 0: not known
  std::optional<int64_t> thread;  // nothing if it is a stream's, or not known
  std::optional<int64_t> device;
  std::optional<int64_t> stream;
  size_t row = 0;  // 0: the first of its thread or stream

  // Returns "device 0 · stream 7", "thread 4711"; of a further row, "thread 4711 (2)".
  std::string title() const;
};

class Tracks {
 public:
  // Is called for each span that has ended when a later one begins on its track, innermost first.
  using OnEnd = std::function<Status(size_t track, int64_t end_ns)>;
  explicit Tracks(OnEnd on_end = nullptr) : on_end_(std::move(on_end)) {}

  // Returns the span's track. Spans come in the order of their starts, the longer first.
  Result<size_t> place(const Span& span);
  // Ends the spans that are still open.
  Status finish();
  // Returns the tracks so far; a new track has the largest index.
  const std::vector<Track>& all() const { return tracks_; }

 private:
  using Place =
      std::tuple<int64_t, std::optional<int64_t>, std::optional<int64_t>, std::optional<int64_t>>;
  // Ends the spans of the track that end at or before the moment.
  Status end_until(size_t track, int64_t time_ns);

  OnEnd on_end_;
  std::vector<Track> tracks_;
  std::vector<std::vector<int64_t>> open_;  // the ends of the open spans of each track
  std::map<Place, std::vector<size_t>> rows_;
};

}  // namespace xsp::exporters

#endif  // XSP_EXPORTERS_SHARED_TRACKS_H_
