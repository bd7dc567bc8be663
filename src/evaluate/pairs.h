// Pairs: two subjects, A and B, in one experiment that tells how much slower B is.
//
// The latency of a model differs from one process to the next, by where its memory happens to lie
// and by what else the machine does meanwhile, and no amount of repetition in one process shows by
// how much. So the process is what is independent: pair after pair of fresh processes is opened,
// one of A and one of B, and the two take turns in short blocks, in an order drawn anew, so that
// the machine's drift meets both alike. A pair is one round of the experiment, and a process one
// block of its run: the interval of paired_ratio (statistics/typical.h) then holds the spread
// between processes, and what lasts longer than a pair cancels. (Several invocations as the unit of
// repetition: A. Georges, D. Buytaert and L. Eeckhout, "Statistically rigorous Java performance
// evaluation", OOPSLA 2007; T. Kalibera and R. Jones, "Rigorous benchmarking in reasonable time",
// ISMM 2013.)
//
// There are more pairs until the ratio is known well enough, or the time is over.
//
// Only the level model is recorded. A side that fails costs the batch size; what was measured of it
// until then is kept. Where the memory has no room for both processes of a pair, they run one after
// the other, in an order drawn anew.
//
// Thread rule: everything happens on the calling thread.
#ifndef XSP_EVALUATE_PAIRS_H_
#define XSP_EVALUATE_PAIRS_H_

#include <array>
#include <atomic>

#include "base/result.h"
#include "evaluate/experiment.h"

namespace xsp::evaluate {

inline constexpr int kPairsMin = statistics::kBlocksMin;
inline constexpr int kPairs = 8;

struct PairsRequest {
  // Plans of one run for each batch size, of the level model, in the same order on both sides.
  // Limits and seed are those of A: time_s is what all pairs of all batch sizes may measure, width
  // how well the ratio is to be known: half its interval, relative to it.
  std::array<Request, 2> sides;
  int pairs = kPairs;  // at least
};

// Is the ratio of two runs known well enough? 0: never.
bool is_settled(const statistics::Estimate& a, const statistics::Estimate& b, double width);
// The runs of a plan that pairs can measure: those of the level model alone.
Plan plan_of_pairs(const Plan& plan);
// What one process of a run measured becomes one block of it, of that round.
void add_process(const Series& of_process, int round, Series* run);

struct PairsOutcome {
  std::array<Outcome, 2> sides;
  bool interrupted = false;
};

// Writes two files, one for each side, with the same `experiment.id`. Fails if nothing could be
// measured on either side.
Result<PairsOutcome> run_pairs(const PairsRequest& request, Listener& listener,
                               const std::atomic<int>& stop);

}  // namespace xsp::evaluate

#endif  // XSP_EVALUATE_PAIRS_H_
