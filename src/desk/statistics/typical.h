// This file defines an inference's typical duration, and the interval that holds it. There is no
// other definition.
//
// Typical inferences. The measured inferences of a run are ranked by the model's latency, and
// floor(20 %) are dropped at each end. The others are the run's typical inferences. Every figure of
// that run is the plain mean over these: of the latency, and of the sum that a layer, a call or a
// kernel has in an inference. Means over one set are additive, so parts add up to the whole by
// construction, and one pass over the spans is enough. (A trimmed mean of each layer by itself is
// not additive, and is wrong for a layer that runs several times in an inference.)
//
// The interval. Inferences are not independent, but blocks are: neighbouring inferences share the
// state of the clock, the caches and the scheduler (blocks as units: B. Schmeiser, "Batch size
// effects in the analysis of simulation output", Operations Research 30(3), 1982). The variance of
// a trimmed mean is that of the winsorised values (J. W. Tukey and D. H. McLaughlin, "Less
// vulnerable confidence and significance procedures for location based on a single sample", Sankhya
// A 25, 1963), here summed by block, as a cluster-robust variance does (K.-Y. Liang and S. L.
// Zeger, "Longitudinal data analysis using generalized linear models", Biometrika 73(1), 1986). Let
// lo and hi be the fences of the trimming, w_i = min(max(x_i, lo), hi), W_b and n_b the sum and the
// count of block b, w' the mean of all w, h the count of the typical inferences and k that of the
// blocks:
//
//     r_b  = (W_b - w' n_b) / h                  the block's residual; they sum to zero
//     SE^2 = k / (k - 1) * sum of r_b^2
//     interval = mean of the typical inferences ± t(0.975, k - 1) SE
//
// The estimate lies in the middle of its interval. A difference of two estimates subtracts their
// residuals, round by round, before it squares them: drift that is slower than a round cancels, and
// the difference is exactly that of the two numbers that are shown.
//
// These alternatives were rejected: the median with its ranks over inferences (57 % instead of 95 %
// of such intervals hold the truth if blocks differ by 0.5 %); the same with ranks over blocks (not
// additive); the variance of the kept inferences alone (50 to 80 %); a bootstrap over blocks
// (random, and no better with six of them). The simulated coverage is in typical_test.cc.
//
// analyses/prelude_1_runs.sql computes the same in SQL; a test compares the two on random data.
//
// These are pure functions: any thread may call them.
#ifndef XSP_DESK_STATISTICS_TYPICAL_H_
#define XSP_DESK_STATISTICS_TYPICAL_H_

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace xsp::statistics {

// The smallest number of blocks for an interval: below, Student's factor dominates the result.
inline constexpr size_t kBlocksMin = 6;
// Inferences that were not measured in blocks are cut into this many consecutive parts.
inline constexpr size_t kPartsMax = 20;

struct Interval {
  double low = 0;
  double high = 0;
};

// Consecutive inferences of one run. Blocks of several runs that were measured in turns share the
// same `round`.
struct Block {
  int round = 0;
  size_t count = 0;
};

struct Residual {
  int round = 0;
  double value = 0;
};

struct Estimate {
  size_t count = 0;    // number of all values
  size_t typical = 0;  // number of typical values
  double mean = 0;     // over the typical values
  double least = 0;    // the fences: the smallest and the greatest typical value
  double greatest = 0;
  std::vector<Residual> residuals;   // one for each block that has values
  std::optional<Interval> interval;  // 95 %; nothing below kBlocksMin blocks

  // Returns half the interval's width over the mean; nothing without an interval.
  std::optional<double> relative_half_width() const;
};

// Returns the number of values that are dropped at each end.
constexpr size_t trimmed_count(size_t count) { return count / 5; }

// Returns the 97.5 % quantile of Student's t, for a two-sided interval of 95 %. `degrees` is at
// least 1.
double student_t(size_t degrees);

// Estimates from `values` in the order of measurement, cut into `blocks` in the same order. If
// there are no blocks, the values are cut into kPartsMax parts, or one for each value if there are
// fewer. Without values the count is 0.
Estimate estimate(std::span<const double> values, std::span<const Block> blocks);

struct Difference {
  double value = 0;
  std::optional<Interval> interval;
};
// Returns b - a of two runs of one experiment: blocks of the same round are subtracted from each
// other.
Difference paired_difference(const Estimate& a, const Estimate& b);

struct Ratio {
  double value = 1;
  std::optional<Interval> interval;
};
// Returns b / a; the interval comes from the difference of the logarithms. Returns nothing if a
// mean is not above 0.
std::optional<Ratio> paired_ratio(const Estimate& a, const Estimate& b);
// Returns b / a of two separate experiments, whose blocks are unrelated. The degrees of freedom are
// those of B. L. Welch, "The generalization of 'Student's' problem when several different
// population variances are involved", Biometrika 34, 1947. `spread` is the standard deviation
// between processes, relative to the latency, if the two estimates have one process each: its
// square is added for both.
std::optional<Ratio> unpaired_ratio(const Estimate& a, const Estimate& b, double spread = 0);

}  // namespace xsp::statistics

#endif  // XSP_DESK_STATISTICS_TYPICAL_H_
