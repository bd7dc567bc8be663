#include "analyze/compare_statistics.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace xsp::analyze {
namespace {

constexpr double kTail = 0.025;  // at each end
constexpr double kNormalQuantile = 1.959963984540054;
constexpr size_t kExactPairs = 1024;

double median_of(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// The logarithms of the blocks, joined where there are too many; nothing if one is not positive.
std::optional<std::vector<double>> logarithms(std::span<const double> blocks) {
  std::vector<double> logs;
  const size_t parts = std::min(blocks.size(), kBlocksMax);
  for (size_t part = 0; part < parts; ++part) {
    const size_t from = part * blocks.size() / parts;
    const size_t to = (part + 1) * blocks.size() / parts;
    std::vector<double> joined(blocks.begin() + static_cast<ptrdiff_t>(from),
                               blocks.begin() + static_cast<ptrdiff_t>(to));
    const double value = median_of(joined);
    if (!(value > 0)) return std::nullopt;
    logs.push_back(std::log(value));
  }
  return logs;
}

// P(U = u) for u = 0..m n. The largest of all values is of the first sample with m / (m + n); it
// then exceeds all n of the second.
std::vector<double> rank_sum_distribution(size_t m, size_t n) {
  // by[j]: the distribution for i and j values, for the i of the outer loop
  std::vector<std::vector<double>> by(n + 1, {1.0});
  for (size_t i = 1; i <= m; ++i) {
    std::vector<std::vector<double>> next(n + 1);
    next[0] = {1.0};
    for (size_t j = 1; j <= n; ++j) {
      std::vector<double>& sum = next[j];
      sum.assign(i * j + 1, 0);
      const double first = static_cast<double>(i) / static_cast<double>(i + j);
      for (size_t u = 0; u < by[j].size(); ++u) sum[u + j] += first * by[j][u];
      for (size_t u = 0; u < next[j - 1].size(); ++u) sum[u] += (1 - first) * next[j - 1][u];
    }
    by = std::move(next);
  }
  return by[n];
}

}  // namespace

size_t rank_sum_rank(size_t m, size_t n) {
  if (m * n > kExactPairs) {
    const double pairs = static_cast<double>(m) * static_cast<double>(n);
    const double deviation = std::sqrt(pairs * static_cast<double>(m + n + 1) / 12);
    const double rank = std::floor(pairs / 2 - kNormalQuantile * deviation);
    return rank < 1 ? 0 : static_cast<size_t>(rank);
  }
  const std::vector<double> probability = rank_sum_distribution(m, n);
  double below = 0;
  size_t rank = 0;
  while (rank < probability.size() && below + probability[rank] <= kTail) {
    below += probability[rank++];
  }
  return rank;
}

std::optional<Ratio> ratio_of(std::span<const double> first, std::span<const double> second) {
  if (first.size() < kBlocksMin || second.size() < kBlocksMin) return std::nullopt;
  const auto a = logarithms(first);
  const auto b = logarithms(second);
  if (!a || !b) return std::nullopt;
  const size_t rank = rank_sum_rank(a->size(), b->size());
  if (rank == 0) return std::nullopt;
  std::vector<double> differences;
  differences.reserve(a->size() * b->size());
  for (const double y : *b) {
    for (const double x : *a) differences.push_back(y - x);
  }
  Ratio ratio;
  ratio.estimate = std::exp(median_of(differences));  // which sorts them
  ratio.low = std::exp(differences[rank - 1]);
  ratio.high = std::exp(differences[differences.size() - rank]);
  return ratio;
}

}  // namespace xsp::analyze
