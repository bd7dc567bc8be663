#include "desk/statistics/steady.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace xsp::statistics {
namespace {

std::vector<double> sorted_copy(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

// With fewer values, means of five leave too few points to compare.
constexpr size_t kGroupedFrom = 50;

}  // namespace

double quantile_of_sorted(std::span<const double> sorted, double q) {
  assert(!sorted.empty() && q >= 0 && q <= 1);
  const double position = q * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double share = position - static_cast<double>(below);
  return sorted[below] + share * (sorted[above] - sorted[below]);
}

double median(std::span<const double> values) {
  return quantile_of_sorted(sorted_copy(values), 0.5);
}

size_t mser_truncation(std::span<const double> values, size_t group) {
  assert(group > 0);
  const size_t groups = values.size() / group;
  // The loop runs from the back, so that each step adds one point to the running mean and the sum
  // of squares.
  double mean = 0;
  double squares = 0;
  double best = std::numeric_limits<double>::infinity();
  size_t best_start = groups;
  for (size_t count = 1; count <= groups; ++count) {
    const size_t start = groups - count;
    double x = 0;
    for (size_t i = 0; i < group; ++i) x += values[start * group + i];
    x /= static_cast<double>(group);
    const double n = static_cast<double>(count);
    const double delta = x - mean;
    mean += delta / n;
    squares += delta * (x - mean);
    if (start > groups / 2) continue;  // a few points alone often look steady
    const double error = squares / (n * n);
    if (error <= best) {
      best = error;
      best_start = start;
    }
  }
  return best_start * group;
}

std::optional<size_t> steady_from(std::span<const double> values) {
  const size_t group = values.size() >= kGroupedFrom ? 5 : 1;
  const size_t start = mser_truncation(values, group);
  // If the minimum is at the edge of the search range, the true minimum lies beyond it.
  if (start >= values.size() / group / 2 * group) return std::nullopt;
  return start;
}

}  // namespace xsp::statistics
