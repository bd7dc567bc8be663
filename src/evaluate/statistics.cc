#include "evaluate/statistics.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace xsp::evaluate {
namespace {

std::vector<double> sorted_copy(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

double trimmed_mean_of_sorted(std::span<const double> sorted) {
  const size_t drop = static_cast<size_t>(kTrim * static_cast<double>(sorted.size()));
  double sum = 0;
  for (size_t i = drop; i < sorted.size() - drop; ++i) sum += sorted[i];
  return sum / static_cast<double>(sorted.size() - 2 * drop);
}

std::optional<Interval> interval_of_sorted(std::span<const double> sorted, double confidence) {
  const auto ranks = median_ranks(sorted.size(), confidence);
  if (!ranks) return std::nullopt;
  return Interval{sorted[ranks->low - 1], sorted[ranks->high - 1]};
}

// Below this many values, means of five leave too few points to compare.
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

double trimmed_mean(std::span<const double> values) {
  return trimmed_mean_of_sorted(sorted_copy(values));
}

std::optional<Ranks> median_ranks(size_t n, double confidence) {
  const double tail = (1 - confidence) / 2;
  // log of the binomial probability of k out of n; 2^-n itself underflows from n = 1075 on.
  double log_probability = -static_cast<double>(n) * std::log(2.0);
  double cumulative = 0;
  size_t low = 0;
  for (size_t k = 0; 2 * k < n; ++k) {
    cumulative += std::exp(log_probability);
    if (cumulative > tail) break;
    low = k + 1;
    log_probability += std::log(static_cast<double>(n - k) / static_cast<double>(k + 1));
  }
  if (low == 0) return std::nullopt;
  return Ranks{low, n + 1 - low};
}

std::optional<Interval> median_interval(std::span<const double> values, double confidence) {
  return interval_of_sorted(sorted_copy(values), confidence);
}

Summary summarize(std::span<const double> values) {
  Summary summary;
  if (values.empty()) return summary;
  const std::vector<double> sorted = sorted_copy(values);
  summary.count = sorted.size();
  summary.median = quantile_of_sorted(sorted, 0.5);
  summary.trimmed_mean = trimmed_mean_of_sorted(sorted);
  summary.p90 = quantile_of_sorted(sorted, 0.9);
  summary.p99 = quantile_of_sorted(sorted, 0.99);
  summary.minimum = sorted.front();
  summary.maximum = sorted.back();
  summary.median_interval = interval_of_sorted(sorted, kConfidence);
  return summary;
}

std::optional<double> relative_half_width(const Summary& summary) {
  if (!summary.median_interval || summary.median <= 0) return std::nullopt;
  return (summary.median_interval->high - summary.median_interval->low) / 2 / summary.median;
}

size_t mser_truncation(std::span<const double> values, size_t group) {
  assert(group > 0);
  const size_t groups = values.size() / group;
  // From the back, so that each step adds one point to the running mean and sum of squares.
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
  // On the edge of the search, the minimum lies beyond it.
  if (start >= values.size() / group / 2 * group) return std::nullopt;
  return start;
}

Difference paired_difference(std::span<const double> a, std::span<const double> b) {
  Difference result;
  result.pairs = std::min(a.size(), b.size());
  if (result.pairs == 0) return result;
  std::vector<double> differences(result.pairs);
  for (size_t i = 0; i < result.pairs; ++i) differences[i] = b[i] - a[i];
  std::sort(differences.begin(), differences.end());
  result.median = quantile_of_sorted(differences, 0.5);
  result.interval = interval_of_sorted(differences, kConfidence);
  return result;
}

}  // namespace xsp::evaluate
