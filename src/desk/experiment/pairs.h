// Pairs: measures two subjects, A and B, in one experiment that tells how much slower B is.
//
// The latency of a model differs from one process to the next: it depends on where its memory
// happens to lie and on what else the machine does meanwhile. Repetition within one process does
// not show how much. So the independent unit is the process. The experiment opens pair after pair
// of fresh processes, one of A and one of B, which take turns in short blocks, in a new random
// order, so that the machine's drift affects both alike. A pair is one round of the experiment, and
// a process is one block of its run. So the interval of paired_ratio (statistics/typical.h)
// includes the spread between processes, and disturbances that last longer than a pair cancel.
// (Several invocations as the unit of repetition: A. Georges, D. Buytaert and L. Eeckhout,
// "Statistically rigorous Java performance evaluation", OOPSLA 2007; T. Kalibera and R. Jones,
// "Rigorous benchmarking in reasonable time", ISMM 2013.)
//
// More pairs run until the ratio is known well enough, or until the time is over.
//
// Only the level model is recorded. A side that fails costs the batch size; its measurements until
// then are kept. If memory is too small for both processes of a pair, they run one after the other,
// in random order.
//
// Thread rule: everything happens on the calling thread.
#ifndef XSP_DESK_EXPERIMENT_PAIRS_H_
#define XSP_DESK_EXPERIMENT_PAIRS_H_

#include <array>
#include <atomic>

#include "desk/experiment/experiment.h"
#include "shared/base/result.h"

namespace xsp::experiment {

inline constexpr int kPairsMin = statistics::kBlocksMin;
inline constexpr int kPairs = 8;

struct PairsRequest {
  // Plans with one run for each batch size, of the level model, in the same order on both sides.
  // Limits and seed are those of A: time_s limits the measuring of all pairs of all batch sizes,
  // and width is the wanted half interval of the ratio, relative to the ratio.
  std::array<Request, 2> sides;
  int pairs = kPairs;  // the fewest pairs
};

// Returns whether the ratio of two runs is known well enough. With width 0 it never is.
bool is_settled(const statistics::Estimate& a, const statistics::Estimate& b, double width);
// Returns the runs of a plan that pairs can measure: those of the level model alone.
Plan plan_of_pairs(const Plan& plan);
// Adds the measurements of one process to a run, as one block of this round.
void add_process(const Series& of_process, int round, Series* run);

struct PairsOutcome {
  std::array<Outcome, 2> sides;
  bool interrupted = false;
};

// Writes two files, one for each side, with the same `experiment.id`. Fails if neither side could
// be measured.
Result<PairsOutcome> run_pairs(const PairsRequest& request, Listener& listener,
                               const std::atomic<int>& stop);

}  // namespace xsp::experiment

#endif  // XSP_DESK_EXPERIMENT_PAIRS_H_
