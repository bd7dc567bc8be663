#include "pipelines/shared/quads.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <utility>

namespace xsp::pipelines {
namespace {

double cross(const Point& from, const Point& a, const Point& b) {
  return (a.x - from.x) * (b.y - from.y) - (a.y - from.y) * (b.x - from.x);
}

// Returns the rectangle with a side along (x, y), which has the length 1.
Rectangle along(const std::vector<Point>& points, double x, double y) {
  constexpr double kFar = std::numeric_limits<double>::infinity();
  double left = kFar, right = -kFar, low = kFar, high = -kFar;
  for (const Point& point : points) {
    const double u = point.x * x + point.y * y, v = point.y * x - point.x * y;
    left = std::min(left, u);
    right = std::max(right, u);
    low = std::min(low, v);
    high = std::max(high, v);
  }
  const auto corner = [x, y](double u, double v) { return Point{u * x - v * y, u * y + v * x}; };
  return {{corner(left, low), corner(right, low), corner(right, high), corner(left, high)},
          std::min(right - left, high - low)};
}

double area_of(const Rectangle& rectangle) {
  const Quad& q = rectangle.corners;
  return std::abs(cross(q[0], q[1], q[3]));
}

}  // namespace

// The chain of A. M. Andrew (Information Processing Letters 9, 1979).
std::vector<Point> hull_of(std::vector<Point> points) {
  const auto is_before = [](const Point& a, const Point& b) {
    return a.x != b.x ? a.x < b.x : a.y < b.y;
  };
  const auto is_same = [](const Point& a, const Point& b) { return a.x == b.x && a.y == b.y; };
  std::sort(points.begin(), points.end(), is_before);
  points.erase(std::unique(points.begin(), points.end(), is_same), points.end());
  if (points.size() < 3) return points;
  std::vector<Point> hull;
  for (const bool is_upper : {false, true}) {
    const size_t begin = hull.size();
    for (const Point& point : points) {
      while (hull.size() >= begin + 2 && cross(hull[hull.size() - 2], hull.back(), point) <= 0) {
        hull.pop_back();
      }
      hull.push_back(point);
    }
    hull.pop_back();
    if (!is_upper) std::reverse(points.begin(), points.end());
  }
  return hull;
}

Rectangle smallest_rectangle(const std::vector<Point>& points) {
  const std::vector<Point> hull = hull_of(points);
  Rectangle best = along(hull, 1, 0);
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < hull.size(); ++i) {
    const Point& next = hull[(i + 1) % hull.size()];
    const double x = next.x - hull[i].x, y = next.y - hull[i].y;
    const double length = std::hypot(x, y);
    if (length == 0) continue;
    const Rectangle rectangle = along(hull, x / length, y / length);
    if (area_of(rectangle) >= least) continue;
    least = area_of(rectangle);
    best = rectangle;
  }
  return best;
}

Quad whole(const Quad& quad) {
  Quad result = quad;
  for (Point& corner : result) corner = {std::trunc(corner.x), std::trunc(corner.y)};
  return result;
}

std::vector<Point> grown(const Quad& quad, double ratio) {
  double area = 0, perimeter = 0;
  for (size_t i = 0; i < 4; ++i) {
    const Point &from = quad[i], &to = quad[(i + 1) % 4];
    area += (from.x * to.y - to.x * from.y) / 2;
    perimeter += std::hypot(to.x - from.x, to.y - from.y);
  }
  const double distance = perimeter > 0 ? std::abs(area) * ratio / perimeter : 0;
  const Quad corners = whole(quad);
  if (distance <= 0) return {corners.begin(), corners.end()};
  // An arc differs from its chords by a quarter of a pixel at most.
  constexpr double kFlatness = 0.25;
  const double flat = std::min(kFlatness, distance * kFlatness);
  const double steps =
      std::min(std::numbers::pi / std::acos(1 - flat / distance), distance * std::numbers::pi);
  std::vector<Point> result;
  const double sign = area < 0 ? -1 : 1;
  for (size_t i = 0; i < 4; ++i) {
    const Point &before = corners[(i + 3) % 4], &at = corners[i], &after = corners[(i + 1) % 4];
    const double first = std::atan2(-(at.x - before.x) * sign, (at.y - before.y) * sign);
    const double last = std::atan2(-(after.x - at.x) * sign, (after.y - at.y) * sign);
    const double turn = std::remainder(last - first, 2 * std::numbers::pi);
    const auto count = std::max(1.0, std::round(steps / (2 * std::numbers::pi) * std::abs(turn)));
    for (double step = 0; step < count; ++step) {
      const double angle = first + sign * step * 2 * std::numbers::pi / steps;
      result.push_back({std::round(at.x + distance * std::cos(angle)),
                        std::round(at.y + distance * std::sin(angle))});
    }
    result.push_back({std::round(at.x + distance * std::cos(last)),
                      std::round(at.y + distance * std::sin(last))});
  }
  return result;
}

// The edges are those of J. E. Bresenham (IBM Systems Journal 4, 1965), from left to right, as
// OpenCV draws them: the longer side is walked in whole steps, and half a pixel of the other one is
// none yet.
std::vector<Run> rows_of(const Quad& quad, int64_t height, int64_t width) {
  std::map<int64_t, Run> rows;
  for (size_t i = 0; i < 4; ++i) {
    Point from = quad[i], to = quad[(i + 1) % 4];
    if (from.x > to.x) std::swap(from, to);
    const auto across = static_cast<int64_t>(to.x - from.x);
    const auto down = static_cast<int64_t>(std::abs(to.y - from.y));
    const int64_t sign = to.y < from.y ? -1 : 1;
    const int64_t steps = std::max<int64_t>({across, down, 1});
    const auto moved = [steps](int64_t step, int64_t side) {
      return (2 * step * side + steps - 1) / (2 * steps);
    };
    for (int64_t step = 0; step <= steps; ++step) {
      const int64_t x = static_cast<int64_t>(from.x) + moved(step, across);
      const int64_t y = static_cast<int64_t>(from.y) + sign * moved(step, down);
      if (y < 0 || y >= height) continue;
      const auto row = rows.try_emplace(y, Run{y, x, x}).first;
      row->second.first = std::min(row->second.first, x);
      row->second.last = std::max(row->second.last, x);
    }
  }
  std::vector<Run> result;
  for (auto& [y, run] : rows) {
    run.first = std::max<int64_t>(run.first, 0);
    run.last = std::min(run.last, width - 1);
    if (run.first <= run.last) result.push_back(run);
  }
  return result;
}

}  // namespace xsp::pipelines
