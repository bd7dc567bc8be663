// Subject: what is measured, seen by the loop that measures it.
#ifndef XSP_EVALUATE_SUBJECT_H_
#define XSP_EVALUATE_SUBJECT_H_

#include <cstdint>
#include <vector>

#include "base/result.h"

namespace xsp::evaluate {

struct Block {
  int first_iteration = 0;  // counted from the subject's first
  std::vector<int64_t> durations_ns;
};

class Subject {
 public:
  virtual ~Subject() = default;
  // Runs that many iterations, which are expected to take this long (0: unknown). After an Error
  // the subject is gone: every later call gives an Error again.
  virtual Result<Block> run(int iterations, double expected_s) = 0;
  // The same, of inferences that are not measured: whoever counts single spans does not count
  // these, and what is recorded of a few inferences alone is not recorded of them.
  virtual Result<Block> warm(int iterations, double expected_s) {
    return run(iterations, expected_s);
  }
  // Returns when it has come to rest and been forgotten, so that it does not disturb what runs
  // next: frameworks let their threads spin for a while after a run.
  virtual void settle() {}
};

}  // namespace xsp::evaluate

#endif  // XSP_EVALUATE_SUBJECT_H_
