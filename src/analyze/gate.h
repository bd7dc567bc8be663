// Gate: whether a comparison of latencies shows a regression, and whether it can tell at all.
//
// The gate trips where B is slower than A by more than a limit, as the ratio shown says, and is
// certainly slower: the near edge of the ratio's interval is above 1. A model that did not change
// trips it in at most 2.5 % of comparisons, whatever the limit. It trips as well where B failed at
// a batch size that A measured: a model that does not run is the worst regression. It does not
// pass for want of evidence: a batch size that B never tried, or of which there is too little to
// tell, cannot be judged.
//
// Thread rule: pure functions.
#ifndef XSP_ANALYZE_GATE_H_
#define XSP_ANALYZE_GATE_H_

#include <string>

#include "analyze/compare.h"

namespace xsp::analyze {

struct Gate {
  enum class State {
    kPassed,
    kTripped,  // at one batch size at least, whatever is known of the others
    kUnjudged  // nowhere tripped, and some batch size of A, or all, cannot be judged
  };
  State state = State::kPassed;
  std::string text;  // one line for a person
};

// `model`: the table `model` of a comparison of A and B.
Gate judge(const Comparison& model, double limit_pct);

}  // namespace xsp::analyze

#endif  // XSP_ANALYZE_GATE_H_
