// Quantiles, and the start of the steady part of a series of measurements.
//
// Latencies are not normally distributed: they have a floor, a long tail and several modes. So
// everything here is free of a distribution: order statistics and truncation rules.
// statistics/typical.h defines the latency that is printed, and its interval.
//
// Functions take values in the order of measurement, unless they say otherwise, and copy the values
// that they sort. No function keeps state.
#ifndef XSP_DESK_STATISTICS_STEADY_H_
#define XSP_DESK_STATISTICS_STEADY_H_

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace xsp::statistics {

// Returns the quantile of sorted, non-empty values by linear interpolation between order statistics
// (type 7 of R. J. Hyndman and Y. Fan, "Sample quantiles in statistical packages", The American
// Statistician 50(4), 1996; the same as DuckDB's quantile_cont).
double quantile_of_sorted(std::span<const double> sorted, double q);
double median(std::span<const double> values);

// Returns how many of the first values to leave out so that the rest is the best estimate of the
// steady state: the truncation point d, at most half of the series, that minimises the marginal
// standard error
//     MSER(d) = sum over i > d of (x_i - mean of x_d+1..n)^2 / (n - d)^2
// on means of `group` consecutive values. K. P. White, "An effective truncation heuristic for bias
// reduction in simulation output", Simulation 69(6), 1997; with groups of five (MSER-5) K. P.
// White, M. J. Cobb and S. C. Spratt, "A comparison of five steady-state truncation heuristics for
// simulation", WSC 2000.
size_t mser_truncation(std::span<const double> values, size_t group);

// Returns the truncation point of a series that is steady at its end. The point is found with
// groups of five if the series is long enough, else with single values. Returns nothing if the
// point is the middle itself: then the series is too short to tell, or still warms up.
std::optional<size_t> steady_from(std::span<const double> values);

}  // namespace xsp::statistics

#endif  // XSP_DESK_STATISTICS_STEADY_H_
