// Subject: the interface through which the measuring loop runs a model.
#ifndef XSP_DESK_EXPERIMENT_SUBJECT_H_
#define XSP_DESK_EXPERIMENT_SUBJECT_H_

#include <cstdint>
#include <vector>

#include "shared/base/result.h"

namespace xsp::experiment {

struct Block {
  int first_iteration = 0;  // counted from the subject's first iteration
  std::vector<int64_t> durations_ns;
};

class Subject {
 public:
  virtual ~Subject() = default;
  // Runs that many iterations, which are expected to take `expected_s` seconds (0: unknown). After
  // an Error the subject is gone: every later call returns an Error again.
  virtual Result<Block> run(int iterations, double expected_s) = 0;
  // Runs inferences that are not measured. Collectors that count each span leave them out, and so
  // do those that record only a few inferences.
  virtual Result<Block> warm(int iterations, double expected_s) {
    return run(iterations, expected_s);
  }
  // The subject's threads begin the next run on the processor of this number and those after it, so
  // that subjects with equally many threads begin on the same ones.
  virtual void place([[maybe_unused]] unsigned first_processor) {}
  // Returns when the subject is idle and no longer affects the scheduler, so that it does not
  // disturb the next one: frameworks let their threads spin for a while after a run.
  virtual void settle() {}
};

}  // namespace xsp::experiment

#endif  // XSP_DESK_EXPERIMENT_SUBJECT_H_
