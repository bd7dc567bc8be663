// Statistics of repeated measurements.
//
// Latencies are not normal: they have a floor, a long tail and several modes. So everything here is
// free of a distribution: order statistics, ranks, and truncation rules.
//
// Functions take values in the order of measurement, unless they say otherwise, and copy what they
// sort. No function keeps state.
#ifndef XSP_EVALUATE_STATISTICS_H_
#define XSP_EVALUATE_STATISTICS_H_

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace xsp::evaluate {

struct Interval {
  double low = 0;
  double high = 0;
};

// 1-based ranks of the order statistics that enclose the median.
struct Ranks {
  size_t low = 0;
  size_t high = 0;
};

inline constexpr double kConfidence = 0.95;
inline constexpr double kTrim = 0.2;  // of the values, at each end

// The quantile of sorted, non-empty values by linear interpolation between order statistics (type 7
// of R. J. Hyndman and Y. Fan, "Sample quantiles in statistical packages", The American
// Statistician 50(4), 1996; what DuckDB's quantile_cont gives).
double quantile_of_sorted(std::span<const double> sorted, double q);
double median(std::span<const double> values);
// The mean of what is left when floor(kTrim * n) values are dropped at each end.
double trimmed_mean(std::span<const double> values);

// The narrowest symmetric pair of ranks whose order statistics enclose the median with at least the
// confidence: P(Binomial(n, 1/2) < low) <= (1 - confidence) / 2. Nothing if no pair does (fewer
// than 6 values at 95 %). H. A. David and H. N. Nagaraja, "Order Statistics", 3rd ed., section 7.1;
// recommended for benchmarks by T. Hoefler and R. Belli, "Scientific Benchmarking of Parallel
// Computing Systems", SC 2015, section 3.1.3.
std::optional<Ranks> median_ranks(size_t n, double confidence = kConfidence);
std::optional<Interval> median_interval(std::span<const double> values,
                                        double confidence = kConfidence);

struct Summary {
  size_t count = 0;
  double median = 0;
  double trimmed_mean = 0;
  double p90 = 0;
  double p99 = 0;
  double minimum = 0;
  double maximum = 0;
  std::optional<Interval> median_interval;  // 95 %; nothing: too few values
};
// Of no values: all zero, count 0.
Summary summarize(std::span<const double> values);

// Half the interval's width relative to the median; nothing if there is no interval.
std::optional<double> relative_half_width(const Summary& summary);

// How many of the first values to leave out so that the rest is the best estimate of the steady
// state: the truncation point d, at most half of the series, that minimises the marginal standard
// error
//     MSER(d) = sum over i > d of (x_i - mean of x_d+1..n)^2 / (n - d)^2
// on means of `group` consecutive values. K. P. White, "An effective truncation heuristic for bias
// reduction in simulation output", Simulation 69(6), 1997; with groups of five (MSER-5) K. P.
// White, M. J. Cobb and S. C. Spratt, "A comparison of five steady-state truncation heuristics for
// simulation", WSC 2000.
size_t mser_truncation(std::span<const double> values, size_t group);

// Is the series steady at its end? Its truncation point, found with groups of five if it is long
// enough, else of one; nothing if that is the middle itself: the series is too short to tell, or
// warm-up goes on.
std::optional<size_t> steady_from(std::span<const double> values);

// The difference b - a of two measurements whose blocks were interleaved: a[i] and b[i] are medians
// of blocks of the same round, so drift slower than a round cancels. The estimate is the median of
// the differences, its interval that of their median.
struct Difference {
  size_t pairs = 0;
  double median = 0;
  std::optional<Interval> interval;
};
Difference paired_difference(std::span<const double> a, std::span<const double> b);

}  // namespace xsp::evaluate

#endif  // XSP_EVALUATE_STATISTICS_H_
