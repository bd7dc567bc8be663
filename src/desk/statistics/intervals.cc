#include "desk/statistics/intervals.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "desk/statistics/steady.h"

namespace xsp::statistics {
namespace {

constexpr double kNormal975 = 1.959963984540054;  // the 97.5 % quantile of the normal distribution

}  // namespace

std::optional<Interval> wilson(size_t successes, size_t count) {
  if (count == 0) return std::nullopt;
  const double n = static_cast<double>(count);
  const double p = static_cast<double>(successes) / n;
  const double z2 = kNormal975 * kNormal975;
  const double centre = (p + z2 / (2 * n)) / (1 + z2 / n);
  const double half = kNormal975 / (1 + z2 / n) * std::sqrt(p * (1 - p) / n + z2 / (4 * n * n));
  // The ends are 0 and 1 there, but for the rounding of the terms.
  return Interval{successes == 0 ? 0 : centre - half, successes == count ? 1 : centre + half};
}

std::optional<Interval> bootstrap(size_t items, uint64_t seed, const Statistic& statistic) {
  if (items < 2) return std::nullopt;
  // The standard's distributions differ between libraries; its generators do not. The remainder is
  // uneven by less than the number of items over 2^64.
  std::mt19937_64 random(seed);
  std::vector<uint32_t> weights(items);
  std::vector<double> values;
  for (int resample = 0; resample < kResamples; ++resample) {
    std::fill(weights.begin(), weights.end(), 0);
    for (size_t i = 0; i < items; ++i) ++weights[random() % items];
    const std::optional<double> value = statistic(weights);
    if (value && std::isfinite(*value)) values.push_back(*value);
  }
  if (values.size() * 2 <= kResamples) return std::nullopt;
  std::sort(values.begin(), values.end());
  if (values.front() == values.back()) return std::nullopt;
  return Interval{quantile_of_sorted(values, 0.025), quantile_of_sorted(values, 0.975)};
}

}  // namespace xsp::statistics
