#include "desk/statistics/typical.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace xsp::statistics {
namespace {

// Makes blocks for values without blocks: consecutive parts of nearly equal length.
std::vector<Block> parts_of(size_t count) {
  const size_t parts = std::min(count, kPartsMax);
  std::vector<Block> blocks;
  for (size_t part = 0; part < parts; ++part) {
    // Value i is in part i * parts / count, rounded down.
    const size_t from = (part * count + parts - 1) / parts;
    const size_t to = ((part + 1) * count + parts - 1) / parts;
    blocks.push_back({static_cast<int>(part), to - from});
  }
  return blocks;
}

double variance_of(const std::vector<Residual>& residuals) {
  const double blocks = static_cast<double>(residuals.size());
  double squares = 0;
  for (const Residual& one : residuals) squares += one.value * one.value;
  return blocks > 1 ? blocks / (blocks - 1) * squares : 0;
}

std::optional<Interval> interval_around(double middle, const std::vector<Residual>& residuals) {
  if (residuals.size() < kBlocksMin) return std::nullopt;
  const double half = student_t(residuals.size() - 1) * std::sqrt(variance_of(residuals));
  return Interval{middle - half, middle + half};
}

// Subtracts the residuals of a from those of b. If they are relative, each is first divided by its
// own mean.
std::vector<Residual> subtracted(const Estimate& a, const Estimate& b, bool relative) {
  std::map<int, double> by_round;
  for (const Residual& one : b.residuals) {
    by_round[one.round] += one.value / (relative ? b.mean : 1);
  }
  for (const Residual& one : a.residuals) {
    by_round[one.round] -= one.value / (relative ? a.mean : 1);
  }
  std::vector<Residual> residuals;
  for (const auto& [round, value] : by_round) residuals.push_back({round, value});
  return residuals;
}

bool have_intervals(const Estimate& a, const Estimate& b) {
  return a.residuals.size() >= kBlocksMin && b.residuals.size() >= kBlocksMin;
}

Interval exponential(double value, double half) {
  return {value * std::exp(-half), value * std::exp(half)};
}

}  // namespace

std::optional<double> Estimate::relative_half_width() const {
  if (!interval || mean <= 0) return std::nullopt;
  return (interval->high - interval->low) / 2 / mean;
}

double student_t(size_t degrees) {
  static constexpr std::array kTable = {
      12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004,
      2.262157,  2.228139, 2.200985, 2.178813, 2.160369, 2.144787, 2.131450, 2.119905,
      2.109816,  2.100922, 2.093024, 2.085963, 2.079614, 2.073873, 2.068658, 2.063899,
      2.059539,  2.055529, 2.051831, 2.048407, 2.045230, 2.042272};
  if (degrees <= kTable.size()) return kTable[std::max<size_t>(degrees, 1) - 1];
  // From here on G. W. Hill's expansion around the normal quantile z (Cornish-Fisher) has an error
  // below 1e-5.
  constexpr double z = 1.959963984540054;
  constexpr double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
  const double n = static_cast<double>(degrees);
  return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n);
}

Estimate estimate(std::span<const double> values, std::span<const Block> blocks) {
  Estimate result;
  result.count = values.size();
  if (values.empty()) return result;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const size_t drop = trimmed_count(sorted.size());
  result.typical = sorted.size() - 2 * drop;
  result.least = sorted[drop];
  result.greatest = sorted[sorted.size() - 1 - drop];
  double kept = 0, all = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (i >= drop && i < sorted.size() - drop) kept += sorted[i];
    all += std::clamp(sorted[i], result.least, result.greatest);
  }
  result.mean = kept / static_cast<double>(result.typical);
  const double winsorised = all / static_cast<double>(sorted.size());

  const std::vector<Block> parts =
      blocks.empty() ? parts_of(values.size()) : std::vector<Block>(blocks.begin(), blocks.end());
  size_t at = 0;
  for (const Block& block : parts) {
    double sum = 0;
    const size_t end = std::min(values.size(), at + block.count);
    const double count = static_cast<double>(end - at);
    for (; at < end; ++at) sum += std::clamp(values[at], result.least, result.greatest);
    if (count == 0) continue;
    const double residual = (sum - winsorised * count) / static_cast<double>(result.typical);
    result.residuals.push_back({block.round, residual});
  }
  result.interval = interval_around(result.mean, result.residuals);
  return result;
}

Difference paired_difference(const Estimate& a, const Estimate& b) {
  Difference difference;
  difference.value = b.mean - a.mean;
  if (have_intervals(a, b)) {
    difference.interval = interval_around(difference.value, subtracted(a, b, false));
  }
  return difference;
}

std::optional<Ratio> paired_ratio(const Estimate& a, const Estimate& b) {
  if (!(a.mean > 0) || !(b.mean > 0)) return std::nullopt;
  Ratio ratio;
  ratio.value = b.mean / a.mean;
  if (!have_intervals(a, b)) return ratio;
  const auto residuals = subtracted(a, b, true);
  const double half = student_t(residuals.size() - 1) * std::sqrt(variance_of(residuals));
  ratio.interval = exponential(ratio.value, half);
  return ratio;
}

std::optional<Ratio> unpaired_ratio(const Estimate& a, const Estimate& b, double spread) {
  if (!(a.mean > 0) || !(b.mean > 0)) return std::nullopt;
  Ratio ratio;
  ratio.value = b.mean / a.mean;
  if (!have_intervals(a, b)) return ratio;
  const double of_a = variance_of(a.residuals) / (a.mean * a.mean);
  const double of_b = variance_of(b.residuals) / (b.mean * b.mean);
  const double below_a = static_cast<double>(a.residuals.size() - 1);
  const double below_b = static_cast<double>(b.residuals.size() - 1);
  const double bottom = of_a * of_a / below_a + of_b * of_b / below_b;
  // The spread is known exactly, so it does not reduce the degrees of freedom.
  const double variance = of_a + of_b + 2 * spread * spread;
  const double degrees =
      bottom > 0 ? std::min(variance * variance / bottom, 1e6) : std::min(below_a, below_b);
  const double half = student_t(static_cast<size_t>(degrees)) * std::sqrt(variance);
  ratio.interval = exponential(ratio.value, half);
  return ratio;
}

}  // namespace xsp::statistics
