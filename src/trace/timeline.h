// Timeline: ticks of a trace's clock to nanoseconds of UNIX time, piecewise between its anchors.
//
// UNIX time is CLOCK_MONOTONIC shifted once, by the first anchor: a step of the system's clock
// during the trace moves no span. Where ticks go backwards (a machine was moved or suspended) a new
// epoch begins, in which ticks have another meaning.
#ifndef XSP_TRACE_TIMELINE_H_
#define XSP_TRACE_TIMELINE_H_

#include <algorithm>
#include <cmath>
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

  // The ticks between two anchors, or beyond the first or the last, which go at one rate.
  struct Stretch {
    uint64_t first_ticks = 1;
    uint64_t last_ticks = 0;  // the last that it has; none is in an empty one
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
  // The stretch of an epoch, or of the one before it, if that is where a span must have been
  // emitted whose ticks are these and whose chunk is of this epoch.
  Stretch stretch(uint64_t ticks, size_t epoch) const;
  int64_t unix_ns(uint64_t ticks, size_t epoch) const {
    return stretch(ticks, epoch).unix_ns(ticks);
  }
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
