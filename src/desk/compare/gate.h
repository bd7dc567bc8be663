// Gate: decides whether a comparison of latencies shows a regression, and whether it can tell.
//
// The gate trips if the shown ratio says that B is slower than A by more than a limit, and B is
// certainly slower: the lower end of the ratio's interval is above 1. A model that did not change
// trips it in at most 2.5 % of comparisons, whatever the limit. It also trips if B failed at a
// batch size that A measured: a model that does not run is the worst regression. It does not pass
// for lack of evidence: a batch size that B never tried, or with too few measurements, cannot be
// judged.
//
// Thread rule: pure functions.
#ifndef XSP_DESK_COMPARE_GATE_H_
#define XSP_DESK_COMPARE_GATE_H_

#include <string>

#include "desk/compare/compare.h"

namespace xsp::compare {

struct Gate {
  enum class State {
    kPassed,
    kTripped,  // at one or more batch sizes, whatever the others show
    kUnjudged  // not tripped, and some or all batch sizes of A cannot be judged
  };
  State state = State::kPassed;
  std::string text;  // one line for a person
};

// `model` is the table `model` of a comparison of A and B.
Gate judge(const Comparison& model, double limit_pct);

}  // namespace xsp::compare

#endif  // XSP_DESK_COMPARE_GATE_H_
