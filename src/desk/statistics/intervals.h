// Intervals of a proportion, and of any statistic of a set of items.
//
// These are pure functions: any thread may call them.
#ifndef XSP_DESK_STATISTICS_INTERVALS_H_
#define XSP_DESK_STATISTICS_INTERVALS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "desk/statistics/typical.h"

namespace xsp::statistics {

// Returns the 95 % interval of a proportion of which `successes` of `count` were seen: the score
// interval of E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
// Journal of the American Statistical Association 22(158), 1927. It stays within 0 and 1, and has a
// width even if all or none succeeded. Returns nothing if `count` is 0.
std::optional<Interval> wilson(size_t successes, size_t count);

// Computes a statistic of items of which the i-th was drawn weights[i] times. Returns nothing if
// the draw has no such statistic.
using Statistic = std::function<std::optional<double>(std::span<const uint32_t> weights)>;

inline constexpr int kResamples = 1000;

// Returns the 95 % interval of a statistic of `items` items: the percentile bootstrap of B. Efron,
// "Bootstrap methods: another look at the jackknife", The Annals of Statistics 7(1), 1979. Equal
// seeds draw the same. Returns nothing for fewer than two items, if half of the draws have no
// statistic, or if all draws have the same: then the items do not tell how far it varies.
std::optional<Interval> bootstrap(size_t items, uint64_t seed, const Statistic& statistic);

}  // namespace xsp::statistics

#endif  // XSP_DESK_STATISTICS_INTERVALS_H_
