// WindowedSource: the spans of a source that begin in given windows of time.
//
// A process may switch levels on and off while it runs. The records of one set of levels become a
// run: the spans that began in the windows in which that set was recorded. A window may hold spans
// of other levels, if spans were open at a switch or a profiler noticed the switch late. These
// spans are left out.
//
// A device works later than the host, so a span that ran on a device belongs to the window of its
// launch, at whatever time it ran. Correlation ids grow with time, so the ids of a window's
// launches form a range.
//
// Thread rule: as Source, but one thread at a time while spans are read.
#ifndef XSP_DESK_CORRELATE_WINDOWED_SOURCE_H_
#define XSP_DESK_CORRELATE_WINDOWED_SOURCE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "desk/correlate/source.h"

namespace xsp::correlate {

struct TimeWindow {
  int64_t start_ns = INT64_MIN;
  int64_t end_ns = INT64_MAX;  // exclusive
};

class WindowedSource final : public Source {
 public:
  // `windows` are in the order of time and do not overlap. `levels` are the bits of those that are
  // kept; the level application always is. `source` must outlive it. Reads the source once.
  WindowedSource(const Source& source, std::vector<TimeWindow> windows, uint32_t levels);

  const std::vector<trace::Stream>& streams() const override { return source_.streams(); }
  Status read(size_t stream, size_t chunk, trace::SpanBatch* batch) const override;
  Status scan(size_t stream, size_t chunk, size_t block_spans,
              std::vector<trace::BlockTimes>* blocks) const override;
  const std::vector<trace::OpenSpan>& open_spans() const override { return open_spans_; }
  int64_t last_ns() const override { return source_.last_ns(); }
  const std::vector<uint8_t>& site_levels() const override { return source_.site_levels(); }

 private:
  struct Ids {
    uint64_t first = UINT64_MAX;
    uint64_t last = 0;
  };
  // Returns the window that contains the moment, or nothing.
  std::optional<size_t> window_of(int64_t ns) const;
  bool is_kept(int64_t start_ns, uint32_t site) const;
  bool is_kept(const trace::SpanBatch& batch, size_t i) const;
  void find_launches();

  const Source& source_;
  const std::vector<TimeWindow> windows_;
  const uint32_t levels_;
  std::vector<Ids> launches_;  // ids of each window that has launches, in order
  std::vector<trace::OpenSpan> open_spans_;
};

}  // namespace xsp::correlate

#endif  // XSP_DESK_CORRELATE_WINDOWED_SOURCE_H_
