#include "trace/timeline.h"

#include <algorithm>

namespace xsp::trace {
namespace {

// Beyond any machine's uptime, and far enough from the ends of int64_t that sums do not overflow.
constexpr int64_t kTimeMax = int64_t{1} << 61;
// A span may have been emitted a little after the last anchor, and no more.
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
  // A stretch of less than a millisecond says little about what follows it.
  if (last.monotonic_ns - before.monotonic_ns >= 1'000'000) last.ns_per_tick = rate;
}

int64_t Timeline::unix_ns(uint64_t ticks, size_t epoch, size_t* cursor) const {
  const std::vector<Point>* points = &epochs_[epoch].points;
  if (epoch > 0) {
    const Point& last = points->back();
    const double beyond_ns = static_cast<double>(ticks) - static_cast<double>(last.ticks);
    if (beyond_ns * last.ns_per_tick > kSlackNs) points = &epochs_[epoch - 1].points;
  }
  size_t at = *cursor < points->size() ? *cursor : 0;
  const bool fits =
      (*points)[at].ticks <= ticks && (at + 1 == points->size() || ticks < (*points)[at + 1].ticks);
  if (!fits) {
    const auto after =
        std::upper_bound(points->begin(), points->end(), ticks,
                         [](uint64_t value, const Point& point) { return value < point.ticks; });
    at = after == points->begin() ? 0 : static_cast<size_t>(after - points->begin()) - 1;
    *cursor = at;
  }
  const Point& point = (*points)[at];
  const double elapsed = ticks >= point.ticks
                             ? static_cast<double>(ticks - point.ticks) * point.ns_per_tick
                             : -static_cast<double>(point.ticks - ticks) * point.ns_per_tick;
  const double bounded =
      std::clamp(elapsed, -static_cast<double>(kTimeMax / 2), static_cast<double>(kTimeMax / 2));
  return point.monotonic_ns + offset_ns_ +
         static_cast<int64_t>(bounded + (bounded < 0 ? -0.5 : 0.5));
}

Timeline::Stretch Timeline::stretch(uint64_t ticks, size_t epoch) const {
  const std::vector<Point>& points = epochs_[epoch].points;
  const auto after =
      std::upper_bound(points.begin(), points.end(), ticks,
                       [](uint64_t value, const Point& point) { return value < point.ticks; });
  if (epoch > 0 || after == points.begin()) return {};
  const Point& point = *(after - 1);
  // Beyond the last point as long as the product stays far from the bounds of unix_ns().
  const double ticks_max = std::min(static_cast<double>(kTimeMax / 4) / point.ns_per_tick, 0x1p60);
  uint64_t length = ticks_max >= 1 ? static_cast<uint64_t>(ticks_max) : 0;
  if (after != points.end()) length = std::min(length, after->ticks - point.ticks);
  return {point.ticks, length, point.monotonic_ns + offset_ns_, point.ns_per_tick};
}

int64_t Timeline::last_ns() const { return epochs_.back().points.back().monotonic_ns + offset_ns_; }

}  // namespace xsp::trace
