// max_rate(): the highest rate of a Poisson server within a bound of the latency.
//
// The search halves the range between a rate that keeps the bound and one that does not, until they
// differ by 1 %. One load near the border is luck, so five further searches, each with other
// arrival times, begin in a range around the first result. Their mean is the answer. Its 95 %
// interval is Student's over the five, widened by that 1 %.
//
// A search that the user interrupts keeps what it found.
#ifndef XSP_DESK_SCENARIO_MAX_RATE_H_
#define XSP_DESK_SCENARIO_MAX_RATE_H_

#include <functional>
#include <optional>
#include <vector>

#include "desk/scenario/scenario.h"
#include "shared/base/result.h"

namespace xsp::scenario {

// One load of the search.
struct Probe {
  double rate = 0;
  bool is_within = false;
  double latency_ns = 0;  // the bounded percentile
};
// Lets the model answer a load at a rate, with arrival times that the seed chooses.
using ProbeRate = std::function<Result<Probe>(double rate, uint64_t seed)>;

struct MaxRate {
  // If the search was interrupted: the mean of the searches that came to their end, or else the
  // highest rate that kept the bound; 0: none did.
  double rate = 0;
  std::optional<statistics::Interval> interval;
  std::vector<Probe> probes;  // in the order of the search: the curve of the latency
  int searches = 0;           // that came to their end
  std::optional<Error> interrupted;
};

// `capacity` is the rate at which the model answers as fast as it can.
Result<MaxRate> find_max_rate(double capacity, uint64_t seed, const ProbeRate& probe);

}  // namespace xsp::scenario

#endif  // XSP_DESK_SCENARIO_MAX_RATE_H_
