#include "desk/cli/shares.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace xsp::cli {
namespace {

constexpr double kAll = 100;       // per cent
constexpr double kRounding = 1.5;  // per cent; a sum that differs by more is another sum

double sum_of(const std::vector<double>& parts) {
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

// Returns the place of the part that is larger than all others; nothing if several are.
std::optional<size_t> largest_of(const std::vector<double>& parts) {
  const auto largest = std::max_element(parts.begin(), parts.end());
  if (std::count(parts.begin(), parts.end(), *largest) > 1) return std::nullopt;
  return static_cast<size_t>(largest - parts.begin());
}

std::vector<Share> written(const std::vector<double>& parts, int64_t total) {
  const std::vector<int64_t> percents = apportioned(parts, total);
  std::vector<Share> shares;
  for (size_t i = 0; i < parts.size(); ++i) shares.push_back({parts[i], percents[i]});
  return shares;
}

}  // namespace

std::vector<int64_t> apportioned(const std::vector<double>& parts, int64_t total) {
  std::vector<int64_t> numbers(parts.size(), 0);
  const double sum = sum_of(parts);
  if (!(sum > 0)) return numbers;
  std::vector<double> lost(parts.size());
  int64_t left = total;
  for (size_t i = 0; i < parts.size(); ++i) {
    const double exact = static_cast<double>(total) * parts[i] / sum;
    numbers[i] = static_cast<int64_t>(std::floor(exact));
    lost[i] = exact - std::floor(exact);
    left -= numbers[i];
  }
  std::vector<size_t> order(parts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const std::optional<size_t> largest = largest_of(parts);
  if (largest) lost[*largest] = lost[*largest] < 0.5 ? -1 : 1;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return lost[a] > lost[b]; });
  for (size_t i = 0; i < order.size() && left > 0; ++i, --left) ++numbers[order[i]];
  return numbers;
}

std::vector<Share> shares_of(const std::vector<double>& parts) {
  return written(parts, std::llround(kAll * sum_of(parts)));
}

std::vector<Share> shares_within(const Share& sum, const std::vector<double>& parts) {
  const double own = kAll * sum_of(parts);
  const bool is_same = std::abs(own - static_cast<double>(sum.percent)) < kRounding;
  return written(parts, is_same ? sum.percent : std::llround(own));
}

}  // namespace xsp::cli
