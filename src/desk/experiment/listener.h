// Listener: receives reports on the progress of an experiment.
#ifndef XSP_DESK_EXPERIMENT_LISTENER_H_
#define XSP_DESK_EXPERIMENT_LISTENER_H_

#include <optional>
#include <string>
#include <vector>

#include "desk/statistics/typical.h"

namespace xsp::experiment {

// The progress of one run.
struct RunProgress {
  enum class State { kWaiting, kWarmingUp, kMeasuring, kSettled, kFailed };
  std::string levels;
  std::optional<int> batch;
  State state = State::kWaiting;
  bool is_current = false;          // its block is running now
  int iterations = 0;               // measured iterations so far
  statistics::Estimate latency_ns;  // of the measured iterations
};

struct Progress {
  std::vector<RunProgress> runs;  // the runs that take turns now
  double elapsed_s = 0;           // the part of the runs' time limit that is spent
  double bound_s = 0;
  double left_s = 0;  // estimated; at most the time until the limit
};

// The methods are called between blocks, on the thread that runs the experiment. Their time is not
// measured.
class Listener {
 public:
  virtual ~Listener() = default;
  // Reports the current action, e.g. "opening resnet50 (model,layer)".
  virtual void step(const std::string& text) = 0;
  virtual void progress(const Progress& progress) = 0;
  // note() reports something worth knowing. warn() reports something that makes the numbers
  // doubtful or costs a part of the experiment.
  virtual void note(const std::string& text) = 0;
  virtual void warn(const std::string& text) = 0;
};

}  // namespace xsp::experiment

#endif  // XSP_DESK_EXPERIMENT_LISTENER_H_
