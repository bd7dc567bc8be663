#include "shared/trace/timeline.h"

#include <algorithm>

namespace xsp::trace {
namespace {

// Exceeds any machine's uptime, and is far enough from the ends of int64_t that sums do not
// overflow.
constexpr int64_t kTimeMax = int64_t{1} << 61;
// A span may have been emitted up to this time after the last anchor.
constexpr double kSlackNs = 60e9;

int64_t clamp_time(int64_t ns) { return std::clamp(ns, -kTimeMax, kTimeMax); }

}  // namespace

Timeline::Timeline(const Anchor& first, uint64_t ticks_per_s) {
  const double per_s = static_cast<double>(std::max<uint64_t>(ticks_per_s, 1));
  const int64_t monotonic_ns = clamp_time(first.monotonic_ns);
  first_ns_ = clamp_time(first.realtime_ns);
  offset_ns_ = first_ns_ - monotonic_ns;
  epochs_.push_back({{{first.ticks, monotonic_ns, 1e9 / per_s}}});
}

bool Timeline::add(const Anchor& anchor) {
  Epoch& epoch = epochs_.back();
  const Point last = epoch.points.back();
  if (anchor.monotonic_ns < last.monotonic_ns || anchor.monotonic_ns > kTimeMax) return false;
  if (anchor.ticks < last.ticks) {
    epochs_.push_back({{{anchor.ticks, anchor.monotonic_ns, last.ns_per_tick}}});
    return true;
  }
  if (anchor.ticks == last.ticks) return anchor.monotonic_ns == last.monotonic_ns;
  epoch.points.push_back({anchor.ticks, anchor.monotonic_ns, last.ns_per_tick});
  update_rate(&epoch);
  return true;
}

void Timeline::update_rate(Epoch* epoch) {
  Point& before = epoch->points[epoch->points.size() - 2];
  Point& last = epoch->points.back();
  const double rate = static_cast<double>(last.monotonic_ns - before.monotonic_ns) /
                      static_cast<double>(last.ticks - before.ticks);
  before.ns_per_tick = rate;
  // A stretch of less than a millisecond says little about the rate after it.
  if (last.monotonic_ns - before.monotonic_ns >= 1'000'000) last.ns_per_tick = rate;
}

Timeline::Stretch Timeline::stretch(uint64_t ticks, size_t epoch) const {
  const std::vector<Point>* points = &epochs_[epoch].points;
  uint64_t end_ticks = UINT64_MAX;
  if (epoch > 0) {
    const Point& last = points->back();
    const double slack = std::min(kSlackNs / last.ns_per_tick, 1e18);
    end_ticks = last.ticks + std::min(UINT64_MAX - last.ticks, static_cast<uint64_t>(slack));
    if (ticks > end_ticks) {
      points = &epochs_[epoch - 1].points;
      end_ticks = UINT64_MAX;
    }
  }
  const auto after =
      std::upper_bound(points->begin(), points->end(), ticks,
                       [](uint64_t value, const Point& point) { return value < point.ticks; });
  const Point& base = after == points->begin() ? *after : *(after - 1);
  Stretch stretch;
  stretch.first_ticks = after == points->begin() ? 0 : base.ticks;
  stretch.last_ticks = after == points->end() ? std::max(end_ticks, ticks) : after->ticks - 1;
  if (points != &epochs_[epoch].points) stretch.first_ticks = stretch.last_ticks = ticks;
  stretch.base_ticks = base.ticks;
  stretch.base_ns = base.monotonic_ns + offset_ns_;
  stretch.ns_per_tick = base.ns_per_tick;
  return stretch;
}

int64_t Timeline::last_ns() const { return epochs_.back().points.back().monotonic_ns + offset_ns_; }

}  // namespace xsp::trace
