// Timeline converts ticks of a trace's clock to nanoseconds of UNIX time, piecewise between the
// trace's anchors.
//
// UNIX time is CLOCK_MONOTONIC with one shift, which the first anchor gives: a step of the system's
// clock during the trace moves no span. If ticks go backwards (a machine was moved or suspended), a
// new epoch begins, in which ticks have another meaning.
#ifndef XSP_SHARED_TRACE_TIMELINE_H_
#define XSP_SHARED_TRACE_TIMELINE_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "shared/base/clock.h"

namespace xsp::trace {

class Timeline {
 public:
  Timeline(const Anchor& first, uint64_t ticks_per_s);

  // Anchors come in the order of the file. Returns false if the anchor contradicts the previous
  // ones; it is not used then.
  bool add(const Anchor& anchor);
  // Returns the epoch of the last anchor, from 0.
  size_t epoch() const { return epochs_.size() - 1; }

  // A stretch is a range of ticks with one rate: between two anchors, before the first, or after
  // the last.
  struct Stretch {
    uint64_t first_ticks = 1;
    uint64_t last_ticks = 0;  // the last tick of the stretch; an empty stretch has none
    uint64_t base_ticks = 0;
    int64_t base_ns = 0;
    double ns_per_tick = 0;

    bool holds(uint64_t ticks) const { return ticks >= first_ticks && ticks <= last_ticks; }
    int64_t unix_ns(uint64_t ticks) const {
      const double ns = static_cast<double>(static_cast<int64_t>(ticks - base_ticks)) * ns_per_tick;
      constexpr double kMax = static_cast<double>(int64_t{1} << 60);
      const double rounded = std::clamp(ns, -kMax, kMax) + std::copysign(0.5, ns);
      return base_ns + static_cast<int64_t>(rounded);
    }
  };
  // Returns the stretch of an epoch for these ticks of a span in a chunk of that epoch. If the span
  // must have been emitted in the epoch before, returns a stretch of that one.
  Stretch stretch(uint64_t ticks, size_t epoch) const;
  int64_t unix_ns(uint64_t ticks, size_t epoch) const {
    return stretch(ticks, epoch).unix_ns(ticks);
  }
  int64_t first_ns() const { return first_ns_; }
  // Returns the time of the last anchor.
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

#endif  // XSP_SHARED_TRACE_TIMELINE_H_
