// Is one measured latency another than a second one, and by how much?
//
// Neighbouring inferences resemble each other: they share the state of the clock, the caches, the
// scheduler. Treated as independent they would make any difference significant, if only there were
// enough of them. So the unit of observation is the block: consecutive inferences, with other work
// in between; of each, its median. (Blocks as units: B. Schmeiser, "Batch size effects in the
// analysis of simulation output", Operations Research 30(3), 1982.)
//
// The ratio of two latencies is the median of the ratios between all pairs of their blocks (J. L.
// Hodges and E. L. Lehmann, "Estimates of location based on rank tests", Annals of Mathematical
// Statistics 34(2), 1963, on logarithms); its 95 % interval holds every ratio that the rank-sum
// test would not reject at 5 % (L. E. Moses; in M. Hollander, D. A. Wolfe and E. Chicken,
// "Nonparametric Statistical Methods", 3rd ed., section 4.3). It assumes no distribution, resists
// outliers, is exact for the smallest samples, and gives the same answer every time: nothing is
// drawn at random. It does assume that the two differ by a factor, and not in shape.
//
// What it cannot know: how much the same program differs from one process, or one day, to the next.
// A significant difference is one between these two runs.
//
// Thread rule: pure functions.
#ifndef XSP_ANALYZE_COMPARE_STATISTICS_H_
#define XSP_ANALYZE_COMPARE_STATISTICS_H_

#include <cstddef>
#include <optional>
#include <span>

namespace xsp::analyze {

// With three blocks on one side no interval is worth its name; with four on either, the interval
// from the least to the greatest ratio has 97 %.
inline constexpr size_t kBlocksMin = 4;
// Of more blocks, neighbours are joined: 160 000 pairs.
inline constexpr size_t kBlocksMax = 400;

struct Ratio {
  double estimate = 1;  // second / first
  double low = 1;
  double high = 1;

  bool is_significant() const { return low > 1 || high < 1; }
};

// Of two series of positive values, in the order of measurement, each the median of a block.
// Nothing: one of them has fewer than kBlocksMin, or a value that is not above zero.
std::optional<Ratio> ratio_of(std::span<const double> first, std::span<const double> second);

// The largest rank r so that P(U < r) <= 2.5 %, where U is the rank-sum statistic of two samples of
// m and n values of one distribution: the r-th least and the r-th greatest of the m n differences
// bound their 95 % interval. 0: there is none. Exact up to m n = 1024, beyond by the normal
// approximation.
size_t rank_sum_rank(size_t m, size_t n);

}  // namespace xsp::analyze

#endif  // XSP_ANALYZE_COMPARE_STATISTICS_H_
