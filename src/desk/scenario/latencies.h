// Latencies: what the answered requests of a load show.
//
// The p-th percentile of n values is the smallest one that at least p n of them do not exceed. Its
// 95 % interval is found among the values, too (R. S. Woodruff, "Confidence intervals for medians
// and other position measures", JASA 47, 1952): the share of values up to the percentile has a
// standard error, and the values at p minus and p plus that many errors are the ends. Requests that
// wait in one queue are not independent, so the error comes from the shares in twenty parts of
// consecutive requests. The error of independent requests, which is a binomial one, gives intervals
// that are too narrow; latencies_test.cc simulates both.
#ifndef XSP_DESK_SCENARIO_LATENCIES_H_
#define XSP_DESK_SCENARIO_LATENCIES_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "desk/statistics/typical.h"
#include "shared/base/result.h"

namespace xsp::scenario {

// An answered request; see process/load/serve.h.
struct Answer {
  int64_t id = 0;
  int64_t batch = 0;
  int64_t position = 0;
  int64_t batch_size = 0;
  int64_t arrival_ns = 0;
  int64_t free_ns = 0;
  int64_t formed_ns = 0;
  int64_t ready_ns = 0;
  int64_t computed_ns = 0;
  int64_t done_ns = 0;
  int64_t instance = 0;
};

// Reads the worker's file of answers.
Result<std::vector<Answer>> read_answers(const std::filesystem::path& path);

struct Percentile {
  double value = 0;
  std::optional<statistics::Interval> interval;  // nothing: too few values
};

// `values` are in the order of measurement, and not empty. `share` is in (0, 1).
Percentile percentile_of(std::span<const double> values, double share);
// Returns the mean of values that are never below 0, with an interval from twenty parts, which is
// not either.
Percentile mean_of(std::span<const double> values);

}  // namespace xsp::scenario

#endif  // XSP_DESK_SCENARIO_LATENCIES_H_
