// Runs whose counters set the pace: a few inferences, or one long stretch of them. They take no
// turns with other runs: see Pace in plan.h.
//
// Thread rule: everything happens on the calling thread.
#ifndef XSP_EVALUATE_COUNTED_H_
#define XSP_EVALUATE_COUNTED_H_

#include <atomic>

#include "evaluate/measure.h"

namespace xsp::evaluate {

struct FewLimits {
  int warmup = 3;      // inferences that are not counted
  int times = 3;       // that everything is counted
  double time_s = 60;  // beyond which nothing is counted once more; the first time takes what it
                       // takes
};
// Counts everything `times` times, which each takes `needed` inferences in a row: a block each.
Series measure_few(Subject& subject, int iterations_before, int needed, const FewLimits& limits,
                   const Environment& environment, const std::atomic<int>& stop);

// Inferences without a pause for about that long, in one block, after some of warm-up that take a
// sixth of it, and more than a second: until clocks and what is said of the power are steady.
Series measure_stretch(Subject& subject, int iterations_before, double seconds,
                       const Environment& environment, const std::atomic<int>& stop);

}  // namespace xsp::evaluate

#endif  // XSP_EVALUATE_COUNTED_H_
