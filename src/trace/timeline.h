// Timeline: ticks of a trace's clock to nanoseconds of UNIX time, piecewise between its anchors.
//
// UNIX time is CLOCK_MONOTONIC shifted once, by the first anchor: a step of the system's clock
// during the trace moves no span. Where ticks go backwards (a machine was moved or suspended) a new
// epoch begins, in which ticks have another meaning.
#ifndef XSP_TRACE_TIMELINE_H_
#define XSP_TRACE_TIMELINE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"

namespace xsp::trace {

class Timeline {
 public:
  Timeline(const Anchor& first, uint64_t ticks_per_s);

  // In the order of the file. False if the anchor contradicts the ones before, and is not used.
  bool add(const Anchor& anchor);
  // The epoch that the last anchor is of, from 0.
  size_t epoch() const { return epochs_.size() - 1; }

  // A span may have been emitted in the epoch before the one whose chunk it is in. `cursor`
  // remembers between calls where the last conversion was; start it at 0.
  int64_t unix_ns(uint64_t ticks, size_t epoch, size_t* cursor) const;
  // Ticks for which the conversion is one straight line, and the line: for many conversions.
  struct Stretch {
    uint64_t begin = 0;
    uint64_t ticks = 0;  // how many; 0: none
    int64_t begin_ns = 0;
    double ns_per_tick = 0;

    bool holds(uint64_t at) const { return at - begin < ticks; }
    int64_t unix_ns(uint64_t at) const {
      return begin_ns + static_cast<int64_t>(static_cast<double>(at - begin) * ns_per_tick + 0.5);
    }
  };
  // The stretch that holds `ticks`; an empty one where it is not as simple as that.
  Stretch stretch(uint64_t ticks, size_t epoch) const;
  int64_t first_ns() const { return first_ns_; }
  // Of the last anchor.
  int64_t last_ns() const;

 private:
  struct Point {
    uint64_t ticks;
    int64_t monotonic_ns;
    double ns_per_tick;  // from here to the next point
  };
  struct Epoch {
    std::vector<Point> points;
  };

  void update_rate(Epoch* epoch);

  std::vector<Epoch> epochs_;
  int64_t first_ns_ = 0;
  int64_t offset_ns_ = 0;  // UNIX time - CLOCK_MONOTONIC
};

}  // namespace xsp::trace

#endif  // XSP_TRACE_TIMELINE_H_
