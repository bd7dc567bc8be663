// Runs whose counters set the pace: a few inferences, or one long stretch of them. They do not take
// turns with other runs: see Pace in plan.h.
//
// Thread rule: everything happens on the calling thread.
#ifndef XSP_DESK_EXPERIMENT_COUNTED_H_
#define XSP_DESK_EXPERIMENT_COUNTED_H_

#include <atomic>

#include "desk/experiment/measure.h"

namespace xsp::experiment {

struct FewLimits {
  int warmup = 3;      // inferences before counting starts
  int times = 3;       // how often everything is counted
  double time_s = 60;  // time after which no further pass starts; the first pass is never cut short
};
// Counts everything `times` times. Each time takes `needed` inferences in a row, which form a
// block.
Series measure_few(Subject& subject, int iterations_before, int needed, const FewLimits& limits,
                   const Environment& environment, const std::atomic<int>& stop);

// Runs inferences without a pause for about `seconds`, in one block. The warm-up before it takes a
// sixth of that time, and more than a second, until the clocks and the reported power are steady.
Series measure_stretch(Subject& subject, int iterations_before, double seconds,
                       const Environment& environment, const std::atomic<int>& stop);

}  // namespace xsp::experiment

#endif  // XSP_DESK_EXPERIMENT_COUNTED_H_
